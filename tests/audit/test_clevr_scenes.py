"""CLEVR's own scenes in a dataset: consistent ones pass, altered and smuggled ones are named.

Beside CLEVR: nothing of its val and test may be in a dataset; a folder that is no CLEVR is refused.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clevr_making import NOT_PUBLISHED, MadeClevr, Row, make_clevr
from painting import PaintedRenderer
from spoiling import Plant, Spoilt, check_faults

from clevrhope.__main__ import run_command
from clevrhope.audit import CheckResult, audit
from clevrhope.config.presets import PRESETS
from clevrhope.errors import DatasetError
from clevrhope.pipeline import Request, build
from wording import check_refused


@pytest.fixture(scope="module")
def clevr(tmp_path_factory: pytest.TempPathFactory) -> MadeClevr:
    """A folder with train scenes, val scenes, and the images that the dataset asks for."""
    root = tmp_path_factory.mktemp("published") / "CLEVR_v1.0"
    make_clevr(root, 30, seed=2, split="val")
    return make_clevr(root, 300)


@pytest.fixture(scope="module")
def mixed(clevr: MadeClevr, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with images, about half of its train ones CLEVR's."""
    out = tmp_path_factory.mktemp("published") / "mixed"
    config = PRESETS["demo"]
    sizes = replace(config.sizes, train=90, complex_iid=18, complex_ood=4, minimal_places=1)
    config = replace(config, sizes=sizes, clevr=clevr.root, clevr_share=0.5)
    request = Request(out=out, hops=("rubber_cylinder",), config=config, seed=1)
    build(replace(request, render=False))
    clevr.paint(
        row["source"]
        for row in json.loads((out / "scenes/train/0000.json").read_bytes())["scenes"]
        if "source" in row
    )
    build(request, make_renderer=lambda settings, workers: PaintedRenderer())
    return out


@pytest.fixture
def data(mixed: Path, tmp_path: Path) -> Spoilt:
    return Spoilt.copy(mixed, tmp_path / "data")


def checks(root: Path, against: Path | None = None) -> dict[str, CheckResult]:
    return {each.name: each for each in audit(root, against=against).checks}


def test_a_dataset_with_scenes_of_clevr_passes(mixed: Path, clevr: MadeClevr) -> None:
    n = sum("source" in row for row in json.loads((mixed / "scenes/train/0000.json").read_bytes())["scenes"])
    assert n > 2
    found = checks(mixed)
    assert [each.name for each in found.values() if each.result == "failed"] == []
    assert {found[name].result for name in ("scenes from CLEVR", "images")} == {"passed"}
    assert found["scenes from CLEVR"].n_checked == n
    assert checks(mixed, clevr.root)["scenes of CLEVR"].result == "passed"


def test_a_dataset_of_our_own_has_no_such_line(clean: Path) -> None:
    assert checks(clean)["scenes from CLEVR"].result == "not done"


def first(rows: list[Row]) -> Row:
    return next(row for row in rows if "source" in row)


def twice(rows: list[Row]) -> None:
    one, other = [row for row in rows if "source" in row][:2]
    other["source"] = one["source"]


def of_val(rows: list[Row]) -> None:
    first(rows)["source"] = "CLEVR_val_000003.png"


def in_a_test_pool(rows: list[Row]) -> None:
    rows[0]["source"] = "CLEVR_train_000001.png"


def unmarked(row: Row) -> None:
    del row["source"]


def stripped(row: Row) -> None:
    """In CLEVR's published form."""
    for key in NOT_PUBLISHED:
        del row[key]


def half_stripped(row: Row) -> None:
    del row["stream"]


def first_sampled(pool: str, change: Callable[[Row], None]) -> Plant:
    """A plant that changes a pool's first scene that is not CLEVR's."""
    return lambda data: data.scenes(pool, lambda rows: change(next(r for r in rows if "source" not in r)))


FAULTS: dict[str, Plant] = {
    "twice": lambda data: data.scenes("train", twice),
    "of val": lambda data: data.scenes("train", of_val),
    "in a test pool": lambda data: data.scenes("test_iid", in_a_test_pool),
    "in an unmarked folder": lambda data: data.manifest(lambda raw: raw["world"].pop("clevr")),
    "unmarked": lambda data: data.scenes("train", lambda rows: unmarked(first(rows))),
    "stripped": first_sampled("train", stripped),
    "half stripped": first_sampled("train", half_stripped),
    "stripped in a test pool": first_sampled("test_iid", stripped),
    "stripped in a minimal set": first_sampled("minimal_material_shape", stripped),
}


@pytest.mark.slow
@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found(plant: Plant, data: Spoilt) -> None:
    plant(data)
    check_faults(data.root)


def test_scenes_of_clevr_are_found_where_neither_they_nor_the_manifest_say_so(data: Spoilt) -> None:
    n = 0

    def unmark(rows: list[Row]) -> None:
        nonlocal n
        n = sum(row.pop("source", None) is not None for row in rows)

    data.scenes("train", unmark)
    data.manifest(lambda raw: raw["world"].pop("clevr"))
    found = checks(data.root)["scenes from CLEVR"]
    assert len(found.faults) == n > 2
    assert {each.problem[:15] for each in found.faults} == {"neither sampled"}


def test_a_scene_of_clevrs_form_is_found_in_a_dataset_of_our_own(clean: Path, tmp_path: Path) -> None:
    data = Spoilt.copy(clean, tmp_path / "own")
    data.scenes("train", lambda rows: stripped(rows[0]))
    (fault,) = checks(data.root)["scenes from CLEVR"].faults
    assert fault.problem.startswith("neither sampled")


@pytest.fixture(scope="module")
def half(clevr: MadeClevr, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A larger train set, without images, of whose scenes half are CLEVR's until they run out."""
    out = tmp_path_factory.mktemp("published") / "half"
    config = PRESETS["demo"]
    config = replace(config, sizes=replace(config.sizes, train=900), clevr=clevr.root, clevr_share=0.5)
    build(Request(out=out, hops=("none",), splits=("train",), config=config, seed=1, render=False))
    assert checks(out)["scenes from CLEVR"].result == "passed"
    return out


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"share": 0.25}, {"share": 0.9}, {"scenes": 1}])
def test_another_share_than_the_manifest_says_is_found(
    half: Path, tmp_path: Path, change: dict[str, float]
) -> None:
    data = Spoilt.copy(half, tmp_path / "data")
    data.manifest(lambda raw: raw["world"]["clevr"].update(change))
    check_faults(data.root)


@pytest.mark.parametrize("share", [0, 1.5, "half"])
def test_a_share_that_is_none_is_refused(data: Spoilt, share: object) -> None:
    data.manifest(lambda raw: raw["world"]["clevr"].update(share=share))
    check_refused(DatasetError, audit, data.root)


def test_a_val_scene_under_a_train_name_is_found_beside_clevr(tmp_path: Path, clevr: MadeClevr) -> None:
    """Smuggled into the CLEVR folder, and so into the pool, with its split and its name changed."""
    smuggled = make_clevr(tmp_path / "smuggled", 40)
    val = json.loads((clevr.root / "scenes" / "CLEVR_val_scenes.json").read_text())["scenes"]

    def change(rows: list[Row]) -> None:
        for index, row in enumerate(val):
            rows[index] = {**row, "split": "train", "image_filename": f"CLEVR_train_{index:06d}.png"}

    smuggled.change(change)
    config = replace(PRESETS["demo"], clevr=smuggled.root, clevr_share=1.0)
    out = tmp_path / "out"
    build(Request(out=out, hops=("none",), config=config, seed=1, render=False))
    rows = json.loads((out / "scenes/train/0000.json").read_bytes())["scenes"]
    taken = [row["image_index"] for row in rows if int(row.get("source", "_009999.png")[-10:-4]) < 30]
    assert taken
    found = checks(out, clevr.root)
    faults = found["scenes of CLEVR"].faults
    assert [each.index for each in faults] == taken[:20]
    assert all(each.value.startswith("CLEVR_val_scenes.json[") for each in faults)


def test_a_scene_with_what_is_no_json_is_a_file_that_cannot_be_read(data: Spoilt) -> None:
    """Python reads and writes NaN, which JSON has not."""

    def change(rows: list[Row]) -> None:
        first(rows)["objects"][0]["pixel_coords"][2] = math.nan

    data.scenes("train", change)
    found = checks(data.root)
    (fault,) = found["readable"].faults
    assert (fault.file, fault.problem) == ("scenes/train/0000.json", "cannot be read")
    assert "broken JSON" in fault.value
    assert (found["text"].result, found["scenes from CLEVR"].result) == ("in part", "not done")


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


@pytest.mark.slow
def test_a_dataset_of_our_own_has_nothing_of_clevr(clean: Path, tmp_path: Path, test_data: Path) -> None:
    clevr = clevr_folder(tmp_path / "clevr", test_data)
    report = audit(clean, against=clevr)
    found = {each.name: each for each in report.checks}
    assert found["scenes of CLEVR"].result == "passed"
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
