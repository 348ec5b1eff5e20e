"""Three values held out together: nothing leaks, and the minimal sets have groups of eight."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from building import build_demo

from clevrhope.audit.leaks.check import LeakCheck
from clevrhope.splits.hops import Hop

WIDE = Hop("metal_red_cube", (("material", "metal"), ("color", "red"), ("shape", "cube")), 48)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wide") / "out"
    return build_demo(out, hops=("color=red,shape=cube,material=metal",)).folder


def test_three_values_are_held_out_together(folder: Path) -> None:
    report = LeakCheck(folder).check(WIDE)
    assert report.violations == ()
    counts = {each.split: each for each in report.splits}
    assert counts["minimal_ood"].n_questions % 8 == 0
    assert counts["complex_ood"].n_images == 12
    assert counts["train"].n_mentioning == 0
    sheet = (folder / "hops" / WIDE.name / "DATASHEET.md").read_text()
    assert "`metal` (material), `red` (color) and `cube` (shape)" in sheet
    assert "one in 8" in sheet
    assert "exactly 87.5% of the answers are no" in sheet


def test_the_contact_sheet_shows_places_of_eight(folder: Path) -> None:
    page = (folder / "index.html").read_text()
    assert "as it does in one image of 8." in page
    assert "one of four" not in page
    section = page.partition('">minimal_ood <span>')[2].partition("<h3 ")[0]
    assert section.count("<article>") == 16, "two places"


def test_two_of_the_three_may_meet(folder: Path) -> None:
    scenes = json.loads((folder / "scenes" / "train" / "0000.json").read_text())["scenes"]
    with h5py.File(folder / "hops" / WIDE.name / "train.h5") as file:
        used = set(np.unique(file["image_idxs"][:]).tolist())
    shown = [
        sum(each[kind] == value for kind, value in WIDE.held_out or ())
        for scene in scenes
        if scene["image_index"] in used
        for each in scene["objects"]
    ]
    assert max(shown) == 2
