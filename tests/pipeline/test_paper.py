"""All 29 pairs' text at the paper's sizes, its audit, and questions over several images at COVR's sizes.

`make test-paper` runs it: on request, since it takes minutes.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import h5py
import pytest

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.layout import Layout
from clevrhope.splits.covr.kinds import COVR_KINDS
from clevrhope.splits.hops import paper_hops

pytestmark = pytest.mark.skipif(
    os.environ.get("CLEVRHOPE_TEST_PAPER") != "1", reason="takes minutes and 2 GB: make test-paper"
)

MOST_MEMORY_KIB = 4 << 20
MOST_SECONDS = 300
# By diversity, questions of minimal_iid, those of minimal_ood, and images of minimal_iid.
MINIMAL = {
    4: (8_640, 3_840, 2_880),
    6: (10_880, 2_560, 3_200),
    16: (11_970, 840, 3_150),
    24: (9_968, 448, 2_576),
}
# Questions and least and most images: the paper gives 62k, 13k and 15k.
STREAMED = {
    "train": (560_000, 62_223, 62_300),
    "complex_iid": (120_000, 13_334, 13_360),
    "complex_ood": (15_000, 15_000, 15_000),
}
# What resource.getrusage says at the end, beside what the command line prints.
RUN = """
import resource, sys
from clevrhope.start import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def clevrhope(*arguments: str) -> tuple[Mapping[str, Any], int]:
    """What a command says as JSON, and its memory in KiB."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:] + done.stdout[-2_000:]
    return json.loads(done.stdout), int(done.stderr.splitlines()[-1])


def build(out: Path, *more: str) -> None:
    """Builds the text of all pairs, in the time and the memory that the page on performance promises."""
    options = ["--hops", "all", "--preset", "paper", "--no-render", "--no-json", "--seed", "1", "--json"]
    began = monotonic()
    made, memory_kib = clevrhope("build", *options, *more, "--out", str(out))
    seconds = monotonic() - began
    sys.stdout.write(f"\n{made['questions']:,} questions in {seconds:.0f} s, {memory_kib / 2**20:.2f} GiB\n")
    assert memory_kib < MOST_MEMORY_KIB
    assert seconds < MOST_SECONDS, "too slow, or another program ran beside it"


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("paper") / "all"
    build(out)
    return out


def test_every_pair_has_the_papers_sizes(paper: Path) -> None:
    assert len(paper_hops()) == 29
    for hop in paper_hops():
        iid, ood, iid_images = MINIMAL[hop.diversity]
        wanted = {**STREAMED, "minimal_iid": (iid, iid_images, iid_images), "minimal_ood": (ood, ood, ood)}
        for split, (questions, least, most) in wanted.items():
            with h5py.File(paper / "hops" / hop.name / f"{split}.h5") as file:
                images = file["image_idxs"][:]
                answers = file["answers"][:]
                assert len(images) == len(answers) == questions, (hop.name, split)
                assert least <= len(set(images.tolist())) <= most, (hop.name, split)
                if split == "train":
                    assert file.attrs["prefixes"].tolist() == [25_000, 200_000]
                if split == "minimal_ood":
                    no = json.loads((paper / "vocab.json").read_text())["answer_token_to_idx"]["no"]
                    assert 4 * int((answers == no).sum()) == 3 * questions


def test_the_audit_finds_nothing_wrong(paper: Path) -> None:
    began = monotonic()
    report, memory_kib = clevrhope("audit", str(paper), "--json", "--quiet")
    seconds = monotonic() - began
    sys.stdout.write(f"\nAudited in {seconds:.0f} s, {memory_kib / 2**20:.2f} GiB\n")
    assert report["ok"]
    assert report["hops"] == sorted(hop.name for hop in paper_hops())
    not_done = {check["name"] for check in report["checks"] if check["result"] == "not done"}
    # What such a folder does not have.
    without = {"palette", "scenes from CLEVR", "HDF5 and JSON", "passes"}
    without |= {"added questions"} | {
        name for name in not_done if name.startswith(("pair", "several images", "nonce words"))
    }
    assert not_done <= without | {"images"}
    streamed = sum(each for each, _, _ in STREAMED.values()) + PRESETS["paper"].sizes.val_iid
    n_questions = streamed * 29 + sum(sum(MINIMAL[hop.diversity][:2]) for hop in paper_hops())
    (texts,) = (check for check in report["checks"] if check["name"] == "text")
    assert texts["checked"] == n_questions
    assert memory_kib < MOST_MEMORY_KIB


def test_every_pair_has_covrs_sizes(tmp_path: Path) -> None:
    build(tmp_path / "covr", "--covr", "--splits", "minimal_ood")
    sizes = PRESETS["paper"].sizes
    for hop in paper_hops():
        for split, kind in COVR_KINDS.items():
            with h5py.File(Layout(tmp_path / "covr").questions_h5(hop.name, split)) as file:
                assert file["answers"].shape == (getattr(sizes, kind.size),), (hop.name, split)
