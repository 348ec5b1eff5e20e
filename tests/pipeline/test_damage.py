"""Files that were damaged, or changed, after the run that made them: their checksums are not listed."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from building import Make, build_demo, tree

from clevrhope.errors import DatasetError
from wording import check_refused

KINDS: Mapping[str, object] = {"images": "both", "question_json": True, "passes": ("mask",)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished folder with every kind of file, not to be changed."""
    return build_demo(tmp_path_factory.mktemp("damage") / "whole", **KINDS).folder


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(kept, tmp_path / "data"))


def flip(path: Path) -> None:
    """Changes one byte in the middle; the length stays."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "hops/rubber_cylinder/train.h5",
        "hops/rubber_cylinder/train_questions.json",
        "hops/rubber_cylinder/minimal_ood.h5",
        "scenes/train/0000.json",
        "vocab.json",
    ],
)
def test_damaged_text_is_written_anew(name: str, folder: Path, kept: Path, make: Make) -> None:
    flip(folder / name)
    make(folder, **KINDS)
    assert tree(folder) == tree(kept)


def test_text_damaged_in_a_split_that_is_not_asked_for_is_written_anew(
    folder: Path, kept: Path, make: Make
) -> None:
    flip(folder / "hops/rubber_cylinder/train.h5")
    make(folder, splits=("minimal_iid",), **KINDS)
    assert tree(folder) == tree(kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["images/train.h5", "passes/train.h5"])
def test_a_damaged_archive_is_told_and_made_anew_once_removed(
    name: str, folder: Path, kept: Path, make: Make
) -> None:
    flip(folder / name)
    before = tree(folder)
    check_refused(DatasetError, make, folder, **KINDS)
    assert tree(folder) == before
    (folder / name).unlink()
    make(folder, **KINDS)
    assert tree(folder) == tree(kept)


@pytest.mark.parametrize("render", [False, True])
def test_an_archive_that_a_killed_run_left_unlisted_is_no_damage_and_is_listed(
    render: bool, folder: Path, kept: Path, make: Make
) -> None:
    manifest = folder / "manifest.json"
    raw = json.loads(manifest.read_text())
    del raw["files"]["images/train.h5"]
    manifest.write_text(json.dumps({**raw, "complete": False}))
    make(folder, render=render, images="both", question_json=True)
    assert tree(folder) == tree(kept)


@pytest.mark.slow
def test_a_run_without_images_is_not_held_up_by_damaged_ones(folder: Path, make: Make) -> None:
    flip(folder / "images" / "train.h5")
    make(folder, hops=("red_cube",), render=False)


def test_an_image_of_another_size_than_listed_is_told(folder: Path, make: Make) -> None:
    image = next((folder / "images" / "train").glob("*.png"))
    image.write_bytes(b"")
    check_refused(DatasetError, make, folder, **KINDS)


@pytest.mark.slow
def test_an_image_that_is_made_again_is_recorded_anew(make: Make, tmp_path: Path) -> None:
    make(tmp_path, images="png")
    manifest = tmp_path / "manifest.json"
    image = next((tmp_path / "images" / "train").glob("*.png"))
    name = image.relative_to(tmp_path).as_posix()
    raw = json.loads(manifest.read_text())
    raw["files"][name]["sha256"] = "0" * 64  # as if another machine's renderer had made it
    manifest.write_text(json.dumps(raw))
    image.unlink()
    make(tmp_path, images="png")
    listed = json.loads(manifest.read_text())["files"][name]["sha256"]
    assert listed == tree(tmp_path)[name]


def test_an_unreadable_file_is_one_sentence(
    folder: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("clevrhope.runtime.atomic.hashlib.file_digest", broken)
    check_refused(DatasetError, make, folder, **KINDS)


def test_an_image_that_is_none_is_told(folder: Path, make: Make) -> None:
    (image := next((folder / "images" / "train").glob("*.png"))).write_text("mine")
    manifest = folder / "manifest.json"
    raw = json.loads(manifest.read_text())
    del raw["files"][image.relative_to(folder).as_posix()]
    manifest.write_text(json.dumps(raw))
    check_refused(DatasetError, make, folder, **KINDS)


def test_a_seed_edited_into_the_manifest_is_told_before_anything_is_written(folder: Path, make: Make) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed": 5', '"seed": 6'))
    before = tree(folder)
    check_refused(DatasetError, make, folder, seed=None, hops=("red_cube",), **KINDS)
    assert tree(folder) == before


@pytest.mark.parametrize("out", ["file/x", "x" * 300, "loop/x"])
def test_a_folder_that_cannot_be_is_told(out: str, make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    check_refused(DatasetError, make, tmp_path / out, render=False)


@pytest.mark.slow
def test_a_link_for_images_may_be_there_before_the_first_build(make: Make, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "images").symlink_to(tmp_path / "scratch")
    make(tmp_path / "data")
    assert any((tmp_path / "scratch").rglob("*.png"))
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / "images").symlink_to(tmp_path / "nowhere")
    check_refused(DatasetError, make, tmp_path / "dangling")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "images").symlink_to(tmp_path / "scratch")
    check_refused(DatasetError, make, tmp_path / "other")
