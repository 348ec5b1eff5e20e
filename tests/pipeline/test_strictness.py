"""--strictness implied: train and IID questions ask for the pair by no likeness either."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from building import Make, request

from clevrhope.audit import audit
from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.audit.leaks.report import LeakReport
from clevrhope.dataset.layout import Layout
from clevrhope.errors import DatasetError
from clevrhope.pipeline import build
from clevrhope.pipeline.forecast import make_plan, plan_lines
from clevrhope.splits.hops import parse_hop
from wording import check_refused

LIKENESSES = Path(__file__).parents[1] / "data" / "likeness_templates"
"""Templates that name on both sides what two things have in common."""

HOP = "rubber_cylinder"
WIDE = "large_rubber_cylinder"
SIZES = {"train": 4_000, "complex_iid": 900, "complex_ood": 200}
HOPS = (HOP, "size=large,material=rubber,shape=cylinder")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two pairs, with those of the templates whose words the check for leaks can read: none that goes on from
    what another sentence named."""
    templates = json.loads((LIKENESSES / "likeness.json").read_text())
    readable = [each for each in templates if all(node["type"] != "union" for node in each["nodes"])]
    folder = tmp_path_factory.mktemp("templates")
    (folder / "likeness.json").write_text(json.dumps(readable))
    return {"hops": HOPS, "sizes": SIZES, "templates": folder, "render": False}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, asked: dict[str, Any]) -> Path:
    """A folder of likenesses, the pair held out of descriptions alone."""
    return built(tmp_path_factory.mktemp("strictness") / "described", asked)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, asked: dict[str, Any]) -> Path:
    """The same, the pair held out of likenesses too."""
    return built(tmp_path_factory.mktemp("strictness") / "strict", asked, strictness="implied")


def built(out: Path, asked: dict[str, Any], **changes: object) -> Path:
    build(request(out, **{**asked, **changes}))
    return out


def leaks(folder: Path, name: str = HOP) -> LeakReport:
    types = json.loads((folder / "manifest.json").read_text())["world"]["attributes"]
    return LeakCheck(folder).check(parse_hop(name, types.items()))


def column(folder: Path, split: str, name: str) -> Any:
    with h5py.File(Layout(folder).questions_h5(HOP, split)) as file:
        return file[name][:]


@pytest.mark.parametrize("name", [HOP, WIDE])
@pytest.mark.slow
def test_nothing_is_implied_where_much_was(
    described: Path, strict: Path, asked: dict[str, Any], name: str
) -> None:
    before, after = leaks(described, name), leaks(strict, name)
    assert before.ok, before.violations
    assert after.ok, after.violations
    counts = [{each.split: each.n_implying for each in report.splits} for report in (before, after)]
    assert counts[0]["train"] > 20
    assert counts[0]["complex_iid"] > 3
    assert {counts[1][split] for split in ("train", "val_iid", "complex_iid", "minimal_iid")} == {0}
    sheet = Layout(strict).hop_datasheet(name).read_text().replace("\\", "")
    assert "by `--strictness implied`" in sheet
    assert ", 0 of train, 0 of val_iid and 0 of complex_iid ask for a" in sheet
    assert "- Held out by --strictness implied:" in sheet, "no option in backticks that show"
    plain = Layout(described).hop_datasheet(name).read_text()
    assert "by `--strictness description`, the default" in plain
    for folder, chosen in ((described, "description"), (strict, "implied")):
        whole = Layout(folder).datasheet.read_text()
        assert f"| `--strictness` | `{chosen}` |" in whole
        assert "| `--minimal-pool` | `own` |" in whole
    for folder in (described, strict):
        assert audit(folder, templates=asked["templates"]).ok


def test_questions_with_the_pair_are_the_same_and_others_of_a_stream_of_their_own(
    described: Path, strict: Path
) -> None:
    for split in ("complex_ood", "minimal_iid", "minimal_ood"):
        path = Layout(strict).questions_h5(HOP, split).relative_to(strict)
        assert (described / path).read_bytes() == (strict / path).read_bytes(), split
    for split in ("train", "val_iid", "complex_iid"):
        assert not np.array_equal(column(described, split, "questions"), column(strict, split, "questions"))
        scenes = [np.unique(column(folder, split, "image_idxs")) for folder in (described, strict)]
        both = np.intersect1d(*scenes)
        assert len(both) > 0.95 * max(map(len, scenes)), "eligible scenes are the same"


@pytest.mark.slow
def test_a_question_that_implies_the_pair_does_not_pass(described: Path, asked: dict[str, Any]) -> None:
    """A folder of the lesser strength that claims the other."""
    manifest = described / "manifest.json"
    kept = manifest.read_text()
    n_implying = {each.split: each.n_implying for each in leaks(described).splits}
    raw = json.loads(kept)
    raw["questions"]["strictness"] = "implied"
    manifest.write_text(json.dumps(raw))
    try:
        report = leaks(described)
        held_out = ("train", "val_iid", "complex_iid")
        assert report.n_violations == sum(n_implying[split] for split in held_out) > 20
        assert {each.problem for each in report.violations} == {
            "asks for a rubber cylinder through likenesses"
        }
        checks = audit(described, templates=asked["templates"]).checks
        failed = {each.name for each in checks if each.result == "failed"}
        assert failed == {"held-out pair"}
    finally:
        manifest.write_text(kept)


def test_a_folder_is_bound_to_it(described: Path, strict: Path, asked: dict[str, Any]) -> None:
    check_refused(DatasetError, built, described, asked, strictness="implied")
    check_refused(DatasetError, built, strict, asked)
    assert json.loads((strict / "manifest.json").read_text())["questions"]["strictness"] == "implied"
    assert "strictness" not in json.loads((described / "manifest.json").read_text())["questions"]


@pytest.mark.slow
def test_our_own_templates_and_nothing_held_out(tmp_path: Path, make: Make) -> None:
    asked = {"hops": (HOP, "none"), "strictness": "implied", "render": False}
    plan = make_plan(request(tmp_path / "out", **asked))
    assert "(--strictness implied)" in "\n".join(plan_lines(plan))
    make(tmp_path / "out", **asked)
    make(tmp_path / "plain", hops=("none",), render=False)
    for split in ("train", "val", "test"):
        path = Path("hops/none") / f"{split}.h5"
        assert (tmp_path / "out" / path).read_bytes() == (tmp_path / "plain" / path).read_bytes()
