"""CLEVR's own scenes in a dataset: consistent ones pass, altered and smuggled ones are named."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clevr_making import NOT_PUBLISHED, MadeClevr, Row, make_clevr
from painting import PaintedRenderer
from PIL import Image
from spoiling import Spoilt

from clevrhope.audit import Check, audit
from clevrhope.audit.checks.cameras import CAMERA, JITTER, camera_of
from clevrhope.config.presets import PRESETS
from clevrhope.dataset.clevr_json import read_rows
from clevrhope.errors import DatasetError
from clevrhope.pipeline import Request, build


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
    clevr.paint(row["source"] for row in read_rows(out / "scenes/train/0000.json") if "source" in row)
    build(request, make_renderer=lambda settings, workers: PaintedRenderer())
    return out


@pytest.fixture
def data(mixed: Path, tmp_path: Path) -> Spoilt:
    return Spoilt.copy(mixed, tmp_path / "data")


def checks(root: Path, against: Path | None = None) -> dict[str, Check]:
    return {each.name: each for each in audit(root, against=against).checks}


def test_a_dataset_with_scenes_of_clevr_passes(mixed: Path, clevr: MadeClevr) -> None:
    n = sum("source" in row for row in read_rows(mixed / "scenes/train/0000.json"))
    assert n > 2
    found = checks(mixed)
    assert [each.name for each in found.values() if each.result == "failed"] == []
    assert {found[name].result for name in ("scenes from CLEVR", "images", "objects in images")} == {"passed"}
    assert found["scenes from CLEVR"].n_checked == n
    assert found["objects in images"].n_checked > 2 * found["images"].n_checked
    assert "copies of CLEVR" not in found
    beside = checks(mixed, clevr.root)
    assert beside["copies of CLEVR"].result == "passed"
    assert (beside["copies of CLEVR"].n_checked, beside["copies of CLEVR"].note) == (n, "")
    assert beside["scenes of CLEVR"].result == "passed"


def test_a_dataset_of_our_own_has_no_such_line(clean: Path) -> None:
    assert checks(clean)["scenes from CLEVR"].result == "not done"


def first(rows: list[Row]) -> Row:
    return next(row for row in rows if "source" in row)


def moved(rows: list[Row]) -> None:
    first(rows)["objects"][0]["3d_coords"][0] += 0.05


def twice(rows: list[Row]) -> None:
    one, other = [row for row in rows if "source" in row][:2]
    other["source"] = one["source"]


def of_val(rows: list[Row]) -> None:
    first(rows)["source"] = "CLEVR_val_000003.png"


def seen_elsewhere(rows: list[Row]) -> None:
    first(rows)["objects"][0]["pixel_coords"][0] += 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (moved, "no camera of CLEVR sees its objects where it says"),
        (seen_elsewhere, "no camera of CLEVR sees its objects where it says"),
        (twice, "the same scene of CLEVR as scene"),
        (of_val, "not an image of CLEVR's train split"),
    ],
)
def test_an_altered_scene_is_named_from_the_files_alone(
    data: Spoilt, change: Callable[[list[Row]], None], problem: str
) -> None:
    data.scenes("train", change)
    faults = checks(data.root)["scenes from CLEVR"].faults
    rows = json.loads(data.path("scenes/train/0000.json").read_text())["scenes"]
    ours = [row["image_index"] for row in rows if "source" in row]
    assert [each.index for each in faults] == [ours[1 if change is twice else 0]]
    assert problem in faults[0].problem


@pytest.mark.slow
def test_a_scene_in_a_test_pool_or_an_unmarked_folder_is_named(data: Spoilt) -> None:
    data.scenes("test_iid", lambda rows: rows[0].update(source="CLEVR_train_000001.png"))
    (fault,) = checks(data.root)["scenes from CLEVR"].faults
    assert (fault.file, fault.problem) == (
        "scenes/test_iid/0000.json",
        "CLEVR's, in a pool that may have none of its scenes",
    )
    data.manifest(lambda raw: raw["world"].pop("clevr"))
    assert checks(data.root)["scenes from CLEVR"].n_faults > 3


def unmarked(row: Row) -> None:
    del row["source"]


def stripped(row: Row) -> None:
    """In CLEVR's published form."""
    for key in NOT_PUBLISHED:
        del row[key]


def half_stripped(row: Row) -> None:
    del row["stream"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pool", "change"),
    [
        ("train", unmarked),
        ("train", stripped),
        ("train", half_stripped),
        ("test_iid", stripped),
        ("minimal_material_shape", stripped),
    ],
)
def test_a_scene_without_camera_and_stream_has_to_name_its_source(
    data: Spoilt, pool: str, change: Callable[[Row], None]
) -> None:
    changed: list[int] = []

    def plant(rows: list[Row]) -> None:
        row = next(row for row in rows if ("source" in row) == (change is unmarked))
        change(row)
        changed.append(row["image_index"])

    data.scenes(pool, plant)
    faults = checks(data.root)["scenes from CLEVR"].faults
    problem = "neither sampled, with camera and stream, nor CLEVR's, with source"
    assert (f"scenes/{pool}/0000.json", changed[0], problem) in {
        (each.file, each.index, each.problem) for each in faults
    }


def test_scenes_of_clevr_are_found_where_neither_they_nor_the_manifest_say_so(data: Spoilt) -> None:
    n = 0

    def unmark(rows: list[Row]) -> None:
        nonlocal n
        n = sum(row.pop("source", None) is not None for row in rows)

    data.scenes("train", unmark)
    data.manifest(lambda raw: raw["world"].pop("clevr"))
    found = checks(data.root)["scenes from CLEVR"]
    *scenes, sheet = found.faults
    assert len(scenes) == n > 2
    assert {each.problem[:15] for each in scenes} == {"neither sampled"}
    assert sheet.file == "hops/rubber_cylinder/DATASHEET.md"
    assert sheet.problem == "the manifest says that no image is CLEVR's, but the datasheet says"


def test_a_scene_of_clevrs_form_is_found_in_a_dataset_of_our_own(clean: Path, tmp_path: Path) -> None:
    data = Spoilt.copy(clean, tmp_path / "own")
    data.scenes("train", lambda rows: stripped(rows[0]))
    (fault,) = checks(data.root)["scenes from CLEVR"].faults
    assert fault.problem.startswith("neither sampled")


def test_a_datasheet_that_counts_wrong_is_named(data: Spoilt) -> None:
    sheet = data.path("hops/rubber_cylinder/DATASHEET.md")
    text = sheet.read_text()
    place = text.index(" of the 10 images of `train` are CLEVR's own.")
    sheet.write_text(text[: place - 1] + "9" + text[place:])
    data.sign()
    (fault,) = checks(data.root)["scenes from CLEVR"].faults
    assert "are CLEVR's, but the datasheet says" in fault.problem


def test_the_sentence_of_an_older_datasheet_is_read_too(data: Spoilt) -> None:
    sheet = data.path("hops/rubber_cylinder/DATASHEET.md")
    text = sheet.read_text()
    assert " images of `train` are CLEVR's own." in text
    sheet.write_text(text.replace("images of `train` are", "pictures of `train` are"))
    data.sign()
    assert checks(data.root)["scenes from CLEVR"].faults == []


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"share": 0.25}, {"share": 0.9}, {"scenes": 1}])
def test_another_share_than_the_manifest_says_is_found(
    clevr: MadeClevr, tmp_path: Path, change: dict[str, float]
) -> None:
    config = PRESETS["demo"]
    config = replace(config, sizes=replace(config.sizes, train=900), clevr=clevr.root, clevr_share=0.5)
    data = Spoilt(tmp_path / "data")
    build(Request(out=data.root, hops=("none",), splits=("train",), config=config, seed=1, render=False))
    assert checks(data.root)["scenes from CLEVR"].result == "passed"
    data.manifest(lambda raw: raw["world"]["clevr"].update(change))
    faults = checks(data.root)["scenes from CLEVR"].faults
    assert faults
    for fault in faults:
        assert fault.file == "scenes/train"
        assert "by a share of" in fault.problem or "more scenes of CLEVR than" in fault.problem


@pytest.mark.parametrize("share", [0, 1.5, "half"])
def test_a_share_that_is_none_is_refused(data: Spoilt, share: object) -> None:
    data.manifest(lambda raw: raw["world"]["clevr"].update(share=share))
    with pytest.raises(
        DatasetError, match=r"world\.clevr\.share is .*; expected a number above 0 and at most 1"
    ):
        audit(data.root)


def test_beside_clevr_another_number_of_scenes_is_found(data: Spoilt, clevr: MadeClevr) -> None:
    data.manifest(lambda raw: raw["world"]["clevr"].update(scenes=70_000))
    (fault,) = checks(data.root, clevr.root)["copies of CLEVR"].faults
    assert (fault.file, fault.value) == ("manifest.json", "70000")
    assert "is not 300" in fault.problem


@pytest.mark.slow
def test_in_an_image_of_clevr_another_colour_is_noted_and_no_fault(data: Spoilt) -> None:
    """The thresholds were set on this project's renders."""
    rows = json.loads(data.path("scenes/train/0000.json").read_text())["scenes"]

    def repaint(row: Row) -> None:
        path = data.path(f"images/train/{row['image_filename']}")
        Image.fromarray(np.asarray(Image.open(path))[:, :, [1, 2, 0]]).save(path)

    for path in data.path("images").glob("*.h5"):
        path.unlink()
    data.manifest(
        lambda raw: [
            raw["files"].pop(name)
            for name in [*raw["files"]]
            if name.endswith(".h5") and name.startswith("images/")
        ]
    )
    repaint(first(rows))
    data.sign()
    found = checks(data.root)["objects in images"]
    assert found.result == "passed"
    n, n_all = (int(word) for word in found.note.split() if word.isdigit())
    assert 0 < n <= n_all
    repaint(next(row for row in rows if "source" not in row))
    data.sign()
    assert checks(data.root)["objects in images"].result == "failed"


def recoloured(rows: list[Row]) -> None:
    first(rows)["objects"][0]["material"] = (
        "metal" if first(rows)["objects"][0]["material"] != "metal" else "rubber"
    )


def renamed(rows: list[Row]) -> None:
    first(rows)["source"] = "CLEVR_train_009999.png"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "problem"),
    [(recoloured, "objects differ from those in CLEVR"), (renamed, "not in CLEVR's train split")],
)
def test_beside_clevr_an_altered_scene_is_named(
    data: Spoilt, clevr: MadeClevr, change: Callable[[list[Row]], None], problem: str
) -> None:
    data.scenes("train", change)
    (fault,) = checks(data.root, clevr.root)["copies of CLEVR"].faults
    assert problem in fault.problem


def test_beside_clevr_an_altered_image_is_named(data: Spoilt, clevr: MadeClevr) -> None:
    rows = json.loads(data.path("scenes/train/0000.json").read_text())["scenes"]
    path = data.path(f"images/train/{first(rows)['image_filename']}")
    pixels = np.asarray(Image.open(path)).copy()
    pixels[:4, :4] ^= 1
    Image.fromarray(pixels).save(path)
    data.sign()
    (fault,) = checks(data.root, clevr.root)["copies of CLEVR"].faults
    assert (fault.file, fault.problem) == ("images/train", "not the pixels of CLEVR's image")


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
    rows = list(read_rows(out / "scenes/train/0000.json"))
    taken = [row["image_index"] for row in rows if int(row.get("source", "_009999.png")[-10:-4]) < 30]
    assert taken
    found = checks(out, clevr.root)
    faults = found["scenes of CLEVR"].faults
    assert [each.index for each in faults] == taken[:20]
    assert all(each.value.startswith("CLEVR_val_scenes.json[") for each in faults)
    assert found["copies of CLEVR"].n_faults >= len(taken)


def test_any_other_number_is_found_beside_clevr_and_another_spelling_is_none(
    tmp_path: Path, clevr: MadeClevr
) -> None:
    """-1 and -2 are two numbers with one Python hash, within lists too; 2 and 2.0 are one number."""
    shutil.copytree(clevr.root, tmp_path / "other")
    other = MadeClevr(tmp_path / "other", {})

    def put(value: float) -> None:
        def change(rows: list[Row]) -> None:
            for row in rows:
                row["directions"]["above"] = [0.25, value, 1]

        other.change(change)

    put(-1)
    out = tmp_path / "out"
    config = replace(PRESETS["demo"], clevr=other.root, clevr_share=1.0)
    build(Request(out=out, hops=("none",), splits=("train",), config=config, seed=1, render=False))
    assert checks(out, other.root)["copies of CLEVR"].result == "passed"
    put(-1.0)
    assert checks(out, other.root)["copies of CLEVR"].result == "passed"
    put(-2)
    copies = checks(out, other.root)["copies of CLEVR"]
    assert copies.n_faults == copies.n_checked > 10
    assert "directions differ from those in CLEVR" in copies.faults[0].problem


@pytest.mark.slow
def test_what_clevr_does_not_say_of_objects_is_not_compared(tmp_path: Path, clevr: MadeClevr) -> None:
    """A folder in CLEVR's form that another tool wrote, `clevrhope export` say, has more keys."""
    shutil.copytree(clevr.root, tmp_path / "wordy")
    wordy = MadeClevr(tmp_path / "wordy", {})

    def more(rows: list[Row]) -> None:
        for row in rows:
            for each in row["objects"]:
                each.update(visible_pixels=200, visible_fraction=0.5, bbox=[1, 2, 3, 4])

    wordy.change(more)
    out = tmp_path / "out"
    config = replace(PRESETS["demo"], clevr=wordy.root, clevr_share=1.0)
    build(Request(out=out, hops=("none",), splits=("train",), config=config, seed=1, render=False))
    assert checks(out, wordy.root)["copies of CLEVR"].result == "passed"

    def turned(rows: list[Row]) -> None:
        for row in rows:
            row["objects"][0]["rotation"] += 1

    wordy.change(turned)
    copies = checks(out, wordy.root)["copies of CLEVR"]
    assert copies.n_faults == copies.n_checked > 10


def without_pixels(row: Row) -> None:
    del row["objects"][0]["pixel_coords"]


def without_objects(row: Row) -> None:
    row["objects"] = []
    row["relationships"] = {name: [] for name in row["relationships"]}


def null_place(row: Row) -> None:
    row["objects"][0]["pixel_coords"] = [None, None, None]


def no_number(row: Row) -> None:
    row["objects"][0]["pixel_coords"][2] = math.nan


def flat(row: Row) -> None:
    row["objects"][0]["pixel_coords"] = row["objects"][0]["pixel_coords"][:2]


@pytest.mark.slow
@pytest.mark.parametrize("change", [without_pixels, without_objects, null_place, flat])
def test_a_published_scene_of_no_form_is_a_fault_that_names_it(
    data: Spoilt, change: Callable[[Row], None]
) -> None:
    data.scenes("train", lambda rows: change(first(rows)))
    index = first(list(read_rows(data.path("scenes/train/0000.json"))))["image_index"]
    faults = [(name, fault) for name, each in checks(data.root).items() for fault in each.faults]
    problem = "not a scene in CLEVR's format"
    named = {name for name, fault in faults if (fault.index, fault.problem) == (index, problem)}
    assert named == {"scenes from CLEVR", "images"}


def test_a_scene_with_what_is_no_json_is_a_file_that_cannot_be_read(data: Spoilt) -> None:
    """Python reads and writes NaN, which JSON has not."""
    data.scenes("train", lambda rows: no_number(first(rows)))
    found = checks(data.root)
    (fault,) = found["readable"].faults
    assert (fault.file, fault.problem) == ("scenes/train/0000.json", "cannot be read")
    assert "broken JSON" in fault.value
    assert (found["text"].result, found["scenes from CLEVR"].result) == ("in part", "not done")


def test_the_camera_of_real_scenes_is_found_within_clevrs_jitter(test_data: Path) -> None:
    n = 0
    for split in ("train", "val"):
        raw = json.loads((test_data / "real_clevr" / f"CLEVR_{split}_scenes.json").read_text())
        for scene in raw["scenes"]:
            camera = camera_of(scene)
            assert camera is not None
            assert np.abs(camera - CAMERA).max() <= JITTER
            n += 1
    assert n == 120


def test_the_camera_of_made_scenes_is_the_one_they_were_made_with(clevr: MadeClevr) -> None:
    for row in list(clevr.sampled.values())[:50]:
        camera = camera_of(row)
        assert camera is not None
        assert np.abs(camera - row["camera"]["location"]).max() < 1e-2
