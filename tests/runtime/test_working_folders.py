"""Temporary files and working folders: this program's own go, and nothing else is touched."""

import os
from pathlib import Path

import pytest
from building import stamps

from clevrhope.dataset.layout import image_filename, own_files
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import WorkingFolder, sweep, temporary_path, write_whole
from wording import check_refused


@pytest.fixture
def work(tmp_path: Path) -> WorkingFolder:
    """A folder with a file of this program's own, and one that it was writing when it was killed."""
    path = tmp_path / ".clevrhope-train"
    path.mkdir()
    (path / "HOPE_train_000001.png").write_text("image")
    (path / ".clevrhope-HOPE_train_000002.png.partial").write_text("half")
    return WorkingFolder(path, own_files("train", ".png"))


def test_a_folder_with_files_of_its_own_passes_and_goes(work: WorkingFolder) -> None:
    work.check()
    work.remove()
    assert not work.path.exists()
    work.check()
    work.remove()


FOREIGN = [
    "mine.txt",
    "mine.png",
    "HOPE_train_x.png",
    "HOPE_train_00001.png",
    "HOPE_train_0000000001.png",
    "HOPE_train_000001.png.bak",
    "HOPE_val_000001.png",
    ".HOPE_train_000001.png",
    ".download.partial",
    ".clevrhope-notes",
]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_users_file_in_it_is_named_and_stays(name: str, work: WorkingFolder) -> None:
    (work.path / name).write_text("mine")
    before = stamps(work.path)
    check_refused(DatasetError, work.check)
    assert stamps(work.path) == before
    work.remove()
    assert [path.name for path in work.path.iterdir()] == [name]
    assert (work.path / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["HOPE_train_000003.png", ".clevrhope-x.partial"])
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_a_users_whatever_its_name(
    name: str, kind: str, work: WorkingFolder, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    path = work.path / name
    if kind == "folder":
        path.mkdir()
        (path / "HOPE_train_000004.png").write_text("mine")
    elif kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(path)
    check_refused(DatasetError, work.check)
    work.remove()
    assert [each.name for each in work.path.iterdir()] == [name]
    assert (tmp_path / "elsewhere").read_text() == "mine"
    if kind == "folder":
        assert (path / "HOPE_train_000004.png").read_text() == "mine"


@pytest.mark.parametrize("kind", ["file", "link to a folder", "link to nothing"])
def test_something_else_in_its_place_is_in_the_way_and_stays(kind: str, work: WorkingFolder) -> None:
    elsewhere = work.path.rename(work.path.with_name("elsewhere"))
    before = stamps(elsewhere)
    if kind == "file":
        work.path.write_text("mine")
    else:
        work.path.symlink_to(elsewhere if kind == "link to a folder" else "none")
    check_refused(DatasetError, work.check)
    work.remove()
    assert os.path.lexists(work.path)
    assert stamps(elsewhere) == before


def test_what_is_in_the_names_of_a_pool_stands_for_itself(tmp_path: Path) -> None:
    pattern = own_files("a.b+c", ".png")
    assert pattern.fullmatch(image_filename("a.b+c", 7))
    assert not pattern.fullmatch("HOPE_axb+c_000007.png")
    assert not pattern.fullmatch("HOPE_a.bbc_000007.png")


def test_sweeping_follows_no_link_and_takes_no_folder(tmp_path: Path) -> None:
    (tmp_path / "kept.partial").write_text("mine")
    (tmp_path / ".clevrhope-link.partial").symlink_to("kept.partial")
    (tmp_path / ".clevrhope-folder.partial").mkdir()
    (tmp_path / ".clevrhope-folder.partial/mine").write_text("mine")
    sweep((tmp_path,))
    names = {"kept.partial", ".clevrhope-link.partial", ".clevrhope-folder.partial"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert (tmp_path / ".clevrhope-folder.partial/mine").read_text() == "mine"


@pytest.mark.parametrize("kind", ["symbolic", "hard", "of the file"])
def test_nothing_is_ever_written_through_a_link(kind: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    victim, path = tmp_path / "victim", tmp_path / "out" / "a.json"
    victim.write_text("mine")
    if kind == "hard":
        temporary_path(path).hardlink_to(victim)
    else:
        (path if kind == "of the file" else temporary_path(path)).symlink_to(victim)
    write_whole(path, b"written")
    assert victim.read_text() == "mine"
    assert path.read_bytes() == b"written"
    assert not path.is_symlink()
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_in_place_of_the_temporary_file_is_told_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    temporary_path(path).mkdir()
    (temporary_path(path) / "mine").write_text("mine")
    check_refused(DatasetError, write_whole, path, b"written")
    assert (temporary_path(path) / "mine").read_text() == "mine"
    assert not path.exists()
