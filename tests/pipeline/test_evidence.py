"""The bytes of small datasets do not change: SHA-256 of every file, and a folder that was built long ago.

Where a change is meant (it needs a new dataset version), `python tests/pipeline/test_evidence.py WORK DATA`
writes the hashes anew, in an empty folder WORK and with the test data DATA. Pages for people (index.html,
datasheets) and the sentences on them that the manifest repeats (`checked`) may say things in other words.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numpy.core._multiarray_umath import __cpu_dispatch__

import clevrhope
from clevrhope.__main__ import run_command

DATA = Path(__file__).parents[1] / "data"
HASHES = DATA / "evidence.json"
KEPT = DATA / "kept_folder"
"""What `build --hop rubber_cylinder --config small.toml --no-render --seed 3` wrote, version 1."""

COGENT_A = {
    "cube": ["gray", "blue", "brown", "yellow"],
    "cylinder": ["red", "green", "purple", "cyan"],
    "sphere": ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"],
}
COGENT_B = {**COGENT_A, "cube": COGENT_A["cylinder"], "cylinder": COGENT_A["cube"]}

BUILDS: dict[str, str] = {
    "pair": "--hop rubber_cylinder --no-render",
    "triple": "--hold-out color=red,shape=cube,material=metal --no-render",
    "diversity 4": "--hop cyan_cylinder --diversity 4 --no-render",
    "CoGenT": "--hop none --palette {T}/A.json --test-palette {T}/B.json --no-render",
    "preliminary": "--prelim cyan --no-render",
    "official": "--hop rubber_cylinder --design official --no-render",
    "implied": "--hop rubber_cylinder --strictness implied --no-render",
    "native": "--hop rubber_cylinder --renderer native --quality draft --passes mask,depth --images both",
    "CLEVR": "--hop rubber_cylinder --clevr {T}/clevr --no-render",
}

WITH_SUITES = "--hop rubber_cylinder --covr --renderer native --quality draft --passes mask"
SUITES = ("rad", "carets", "holdout", "visual")
EXPORTS = ("parquet", "webdataset", "clevr", "official", "coco", "covr")
BASELINES = ("majority", "coin", "symbolic")


AS_ON_ANOTHER_PROCESSOR = """
import sys
from clevrhope import _core
from clevrhope.__main__ import run_command
assert _core.vector_instructions() == "none"
sys.exit(run_command(sys.argv[1:]))
"""


def words_of(name: str, folder: Path) -> list[str]:
    """The command that builds one of `BUILDS`, which needs files in a folder, without --out."""
    words = ["build", "--preset", "demo", "--seed", "3", "--quiet", *BUILDS[name].split()]
    return [word.replace("{T}", str(folder)) for word in words]


def built(name: str, folder: Path, clevr: Callable[[], Path]) -> Path:
    """Builds one of `BUILDS` below a folder."""
    (folder / "A.json").write_text(json.dumps(COGENT_A))
    (folder / "B.json").write_text(json.dumps(COGENT_B))
    if name == "CLEVR":
        (folder / "clevr/scenes").mkdir(parents=True)
        shutil.copy(clevr() / "real_clevr/CLEVR_train_scenes.json", folder / "clevr/scenes")
    out = folder / "out"
    assert run_command([*words_of(name, folder), "--out", str(out)]) == 0
    return out


def is_page(name: str) -> bool:
    return name.endswith(("DATASHEET.md", "index.html"))


def hashes(root: Path) -> dict[str, str]:
    """Name -> SHA-256 of each file; of the manifest, without the lines of pages and the sentences on them."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not is_page(name):
            content = path.read_bytes()
            if name == "manifest.json":
                manifest = json.loads(content)
                files = manifest["files"].items()
                manifest["files"] = {file: each for file, each in files if not is_page(file)}
                del manifest["checked"]
                content = json.dumps(manifest).encode()
            found[name] = hashlib.sha256(content).hexdigest()
    return found


@pytest.mark.parametrize("name", BUILDS)
def test_the_bytes_of_a_build_are_as_ever(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    out = built(name, tmp_path, lambda: request.getfixturevalue("test_data"))
    assert hashes(out) == json.loads(HASHES.read_text())[name]


def command_output(*words: object) -> str:
    """What a command that succeeds prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run_command([str(word) for word in words]) == 0, words
    return printed.getvalue()


def write_covr_predictions(data: Path, path: Path) -> None:
    """Answers to COVR's questions of which every third is the one before it."""
    lines = []
    for split in ("test", "test_ood"):
        rows = json.loads((data / f"covr/rubber_cylinder/{split}_questions.json").read_text())["questions"]
        for i, row in enumerate(rows):
            place = {
                "hop": "rubber_cylinder",
                "split": f"covr_{split}",
                "question_index": row["question_index"],
            }
            lines.append({**place, "answer": rows[i - (i % 3 == 0)]["answer"], "model": "mine"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def hashes_of_everything(work: Path) -> dict[str, str]:
    """Folder -> SHA-256 of the names and hashes of its files, of a build with suites and sets.

    The scores are those of `score --json`, and the numbers of the report those of its results.csv.
    """
    data, scores = work / "data", work / "scores"
    scores.mkdir()
    command_output("build", "--preset", "demo", "--seed", 3, "--quiet", *WITH_SUITES.split(), "--out", data)
    for suite in SUITES:
        command_output("suite", suite, data, "--quiet")
    command_output("suite", "carets", data, "--train", "--quiet")
    for name in EXPORTS:
        command_output("export", data, "--format", name, "--out", work / "exports" / name, "--quiet")
    files = []
    for kind in BASELINES:
        files.append(work / f"{kind}.jsonl")
        command_output("baseline", data, "--kind", kind, "--out", files[-1], "--quiet")
        score = command_output("score", data, files[-1], "--seed", 0, "--json")
        (scores / f"{kind}.json").write_text(score)
    for suite in SUITES:
        path = work / f"{suite}.jsonl"
        command_output("baseline", data, "--kind", "coin", "--suite", suite, "--out", path, "--quiet")
        score = command_output("score", data, path, "--suite", suite, "--seed", 0, "--json")
        (scores / f"{suite}.json").write_text(score)
    write_covr_predictions(data, work / "covr.jsonl")
    score = command_output("score", data, work / "covr.jsonl", "--covr", "--partial", "--seed", 0, "--json")
    (scores / "covr.json").write_text(score)
    command_output("report", *files, "--dataset", data, "--out", work / "report", "--quiet")
    found: dict[str, str] = {}
    by_folder: dict[str, list[str]] = {}
    for name, digest in hashes(data).items():
        by_folder.setdefault(f"data/{Path(name).parent.as_posix()}", []).append(f"{name} {digest}")
    for name in EXPORTS:
        lines = [" ".join(each) for each in hashes(work / "exports" / name).items()]
        by_folder[f"exports/{name}"] = [line for line in lines if not line.startswith("README.md")]
    for path in sorted(scores.iterdir()):
        numbers = json.loads(path.read_text().replace(str(work), "WORK"))
        found[f"scores/{path.name}"] = hashlib.sha256(json.dumps(numbers).encode()).hexdigest()
    found["report/results.csv"] = hashlib.sha256((work / "report/results.csv").read_bytes()).hexdigest()
    found |= {
        name: hashlib.sha256("\n".join(lines).encode()).hexdigest() for name, lines in by_folder.items()
    }
    return dict(sorted(found.items()))


@pytest.mark.slow
def test_suites_sets_exports_scores_and_a_report_are_as_ever(tmp_path: Path) -> None:
    assert hashes_of_everything(tmp_path) == json.loads(HASHES.read_text())["everything"]


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", ["1", "4"])
def test_older_processors_and_any_number_of_threads_give_the_same_bytes(
    n_threads: str, tmp_path: Path
) -> None:
    """Questions, images and annotations, without AVX2 in the engine and without AVX-512 in numpy."""
    newer = [name for name in __cpu_dispatch__ if name.startswith("AVX512")]
    environment = {
        **os.environ,
        "CLEVRHOPE_SIMD": "none",
        "NPY_DISABLE_CPU_FEATURES": " ".join(newer),
        "OMP_NUM_THREADS": n_threads,
        "OPENBLAS_CORETYPE": "Nehalem",
        "RAYON_NUM_THREADS": n_threads,
    }
    command = [sys.executable, "-c", AS_ON_ANOTHER_PROCESSOR, *words_of("native", tmp_path)]
    subprocess.run([*command, "--out", str(tmp_path / "out")], env=environment, check=True)
    assert hashes(tmp_path / "out") == json.loads(HASHES.read_text())["native"]


def test_a_folder_of_long_ago_is_read_audited_and_extended(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    shutil.copytree(KEPT, folder)
    before = hashes(folder)
    split = clevrhope.load(folder, "rubber_cylinder", "train", text=True)
    assert len(split) == 18
    assert split[0]["question_text"].endswith("?")
    assert run_command(["audit", str(folder), "--quiet"]) == 0
    assert run_command(["stats", str(folder)]) == 0
    extend = ["build", "--hop", "red_cube", "--no-render", "--quiet", "--out", str(folder)]
    assert run_command(extend) == 0
    after = hashes(folder)
    changed = {name for name, each in before.items() if after[name] != each}
    # Scenes that the new pair uses come into the files of those that were used already.
    numbers = {"measured.json", "hops/rubber_cylinder/measured.json"}
    assert {name for name in changed if not name.startswith("scenes/")} == {"manifest.json", *numbers}
    assert any(name.startswith("hops/red_cube/") for name in after)


def write_hashes(folder: Path, data: Path) -> None:
    """Builds everything and writes the hashes down."""
    found: dict[str, Any] = {}
    for name in BUILDS:
        (folder / name).mkdir(parents=True)
        found[name] = hashes(built(name, folder / name, lambda: data))
    (folder / "everything").mkdir()
    found["everything"] = hashes_of_everything(folder / "everything")
    HASHES.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write_hashes(Path(sys.argv[1]), Path(sys.argv[2]))
