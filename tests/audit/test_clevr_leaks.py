"""Beside CLEVR: nothing of its val and test may be in a dataset; a folder that is no CLEVR is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from spoiling import Row, Spoilt

from clevrhope.__main__ import run_command
from clevrhope.audit import CheckResult, audit


def clevr_folder(root: Path, data: Path, change: Any = None) -> Path:
    """A CLEVR_v1.0 folder of the real files' first scenes; `change` may alter the val scenes."""
    real = data / "real_clevr"
    for kind in ("questions", "scenes"):
        (root / kind).mkdir(parents=True)
        for split in ("train", "val"):
            raw = json.loads((real / f"CLEVR_{split}_{kind}.json").read_text())
            if change is not None and (split, kind) == ("val", "scenes"):
                change(raw["scenes"])
            (root / kind / f"CLEVR_{split}_{kind}.json").write_text(json.dumps(raw))
    return root


def checks(root: Path, clevr: Path) -> dict[str, CheckResult]:
    return {each.name: each for each in audit(root, against=clevr).checks}


@pytest.mark.slow
def test_a_dataset_of_our_own_has_nothing_of_clevr(clean: Path, tmp_path: Path, test_data: Path) -> None:
    clevr = clevr_folder(tmp_path / "clevr", test_data)
    report = audit(clean, against=clevr)
    found = {each.name: each for each in report.checks}
    assert found["scenes of CLEVR"].result == found["questions of CLEVR"].result == "passed"
    assert found["questions of CLEVR"].n_checked == found["text"].n_checked
    assert run_command(["audit", str(clean), "--against", str(clevr), "--quiet"]) == 0


def test_a_scene_of_clevrs_val_is_named(spoilt: Spoilt, tmp_path: Path, test_data: Path) -> None:
    real = json.loads((test_data / "real_clevr" / "CLEVR_val_scenes.json").read_text())["scenes"][7]
    index = -1

    def change(rows: list[Row]) -> None:
        nonlocal index
        index = rows[0]["image_index"]
        objects = [dict(each) for each in real["objects"][::-1]]
        for each in objects:  # as this package rounds them
            each["3d_coords"] = [round(x, 6) for x in each["3d_coords"]]
        rows[0]["objects"] = objects
        n = len(objects)
        rows[0]["relationships"] = {name: [[] for _ in range(n)] for name in rows[0]["relationships"]}

    spoilt.scenes("train", change)
    check = checks(spoilt.root, clevr_folder(tmp_path / "clevr", test_data))["scenes of CLEVR"]
    assert [(each.file, each.index, each.value) for each in check.faults] == [
        ("scenes/train/0000.json", index, "CLEVR_val_scenes.json[7]")
    ]


def test_a_scene_of_clevrs_train_may_be_there(spoilt: Spoilt, tmp_path: Path, test_data: Path) -> None:
    real = json.loads((test_data / "real_clevr" / "CLEVR_train_scenes.json").read_text())["scenes"][0]

    def change(rows: list[Row]) -> None:
        rows[0]["objects"] = real["objects"]
        rows[0]["relationships"] = real["relationships"]

    spoilt.scenes("train", change)
    found = checks(spoilt.root, clevr_folder(tmp_path / "clevr", test_data))
    assert found["scenes of CLEVR"].result == "passed"


def test_a_question_about_a_val_image_is_named(spoilt: Spoilt, tmp_path: Path, test_data: Path) -> None:
    def change(rows: list[Row]) -> None:
        rows[4]["image_filename"] = "CLEVR_val_000003.png"

    spoilt.questions("train", change)
    check = checks(spoilt.root, clevr_folder(tmp_path / "clevr", test_data))["questions of CLEVR"]
    assert [(each.index, each.value) for each in check.faults] == [(4, "CLEVR_val_000003.png")]


def test_what_is_no_clevr_folder_is_refused(
    clean: Path, tmp_path: Path, test_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (tmp_path / "nowhere", tmp_path):
        assert run_command(["audit", str(clean), "--quiet", "--against", str(folder)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert str(folder) in err

    def cut(scenes: list[Row]) -> None:
        del scenes[3]["objects"]

    clevr = clevr_folder(tmp_path / "clevr", test_data, cut)
    assert run_command(["audit", str(clean), "--quiet", "--against", str(clevr)]) == 1
    assert "scenes[3]" in capsys.readouterr().err
