"""Images that wait to be packed: those before a damaged record count, and nothing of a user's goes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_images_h5 import image

from clevrhope.dataset.image_store import BEGIN, ImageStore, check_store, remove_store, stored_images
from clevrhope.dataset.images_h5 import PackedImage
from clevrhope.errors import DatasetError
from systems import needs_limits, needs_pipes
from wording import check_refused

INDICES = [7, 3, 40_000, 12]


def add(path: Path, *indices: int) -> None:
    with ImageStore(path) as store:
        for index in indices:
            store.add(index, image(index))


def check_holds(path: Path, indices: list[int]) -> None:
    assert stored_images(path).tolist() == sorted(indices)
    with ImageStore(path) as store:
        for index in indices:
            assert index in store
            assert store.packed(index) == PackedImage.of(image(index))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of four images."""
    add(tmp_path / "images/.store", *INDICES)
    return tmp_path / "images/.store"


@pytest.fixture
def ends(tmp_path: Path) -> list[int]:
    """Where the records of the store end."""
    found = []
    for index in INDICES:
        add(tmp_path / "one by one", index)
        found.append((tmp_path / "one by one").stat().st_size)
    return found


def test_it_is_opened_again_and_continued(path: Path) -> None:
    check_holds(path, INDICES)
    assert stored_images(path, checks=False).tolist() == sorted(INDICES)
    content = path.read_bytes()
    add(path, 5)
    assert path.read_bytes().startswith(content)
    check_holds(path, [*INDICES, 5])
    with ImageStore(path) as store:
        assert 6 not in store
    assert list(path.parent.iterdir()) == [path]


def test_without_an_image_no_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "none/.store"
    with ImageStore(path) as store:
        assert 7 not in store
    assert stored_images(path).tolist() == []
    remove_store(path)
    assert not path.parent.exists()


def test_a_record_that_is_cut_off_anywhere_is_dropped_and_written_again(path: Path, ends: list[int]) -> None:
    content = path.read_bytes()
    for n_bytes in (ends[-1] - 1, ends[2] + 21, ends[2] + 20, ends[2] + 1):
        path.write_bytes(content[:n_bytes])
        check_holds(path, INDICES[:3])
        assert path.stat().st_size == ends[2]
        add(path, INDICES[3])
        assert path.read_bytes() == content


def test_a_file_without_a_whole_record_is_one_of_no_images(path: Path) -> None:
    for n_bytes in (len(BEGIN), len(BEGIN) + 7):
        path.write_bytes(path.read_bytes()[:n_bytes])
        check_store(path)
        check_holds(path, [])


@pytest.mark.parametrize("place", [0, 4, 8, 12, 16, 19, 20, 900])
def test_a_flipped_byte_drops_the_image_and_all_after_it(place: int, path: Path, ends: list[int]) -> None:
    content = bytearray(path.read_bytes())
    content[ends[0] + place] ^= 0x40
    path.write_bytes(content)
    assert stored_images(path).tolist() == [7]
    add(path, 3, 12)
    check_holds(path, [7, 3, 12])


def test_an_end_of_zeros_as_a_power_failure_leaves_it_is_dropped(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(10_000))
    check_holds(path, INDICES)


def test_damage_while_it_is_open_is_told(path: Path, ends: list[int]) -> None:
    with ImageStore(path) as store:
        content = bytearray(path.read_bytes())
        content[ends[0] + 100] ^= 1
        path.write_bytes(content)
        check_refused(DatasetError, store.packed, 3)
        path.write_bytes(content[: ends[0] + 5])
        check_refused(DatasetError, store.packed, 3)


def test_many_threads_add_and_read(tmp_path: Path) -> None:
    def work(index: int) -> bool:
        store.add(index, image(index))
        return store.packed(index) == PackedImage.of(image(index))

    with ImageStore(tmp_path / ".store") as store, ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(200)))
    check_holds(tmp_path / ".store", list(range(200)))


@pytest.mark.parametrize(
    "kind",
    [
        "file",
        "short file",
        "folder",
        pytest.param("pipe", marks=needs_pipes),
        "link to images",
        "link to nothing",
    ],
)
def test_what_is_a_users_is_told_and_stays(kind: str, path: Path, tmp_path: Path) -> None:
    before, place = path.read_bytes(), tmp_path / "place"
    match kind:
        case "file":
            place.write_bytes(b"mine, and longer than what a store begins with")
        case "short file":
            place.write_bytes(BEGIN[:9])
        case "folder":
            place.mkdir()
        case "pipe":
            os.mkfifo(place)
        case "link to images":
            place.symlink_to(path)
        case "link to nothing":
            place.symlink_to(tmp_path / "nothing")
    stat = place.lstat()  # its time of access may change: whether reading moves it is the disk's affair
    check_refused(DatasetError, check_store, place)
    check_refused(DatasetError, add, place, 1)
    assert stored_images(place).tolist() == []
    remove_store(place)
    after = place.lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (stat.st_ino, stat.st_mode, stat.st_size)
    assert after.st_mtime_ns == stat.st_mtime_ns
    assert path.read_bytes() == before


def test_it_is_removed(path: Path) -> None:
    remove_store(path)
    assert list(path.parent.iterdir()) == []


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from clevrhope.dataset.image_store import ImageStore
from clevrhope.errors import DatasetError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
with ImageStore(Path(sys.argv[1])) as store:
    for index in (7, 3):
        try:
            store.add(index, np.random.default_rng(index).integers(0, 256, (32, 48, 3), dtype=np.uint8))
        except DatasetError as error:
            print(error)
    store.add(5, np.zeros((32, 48, 3), dtype=np.uint8))
"""


@needs_limits
def test_a_full_disk_is_told_in_a_sentence_and_keeps_what_is_whole(tmp_path: Path, ends: list[int]) -> None:
    path = tmp_path / ".store"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path, str(ends[1] - 100)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{path}: no space left; what is finished stays")
    assert len(done.stdout.splitlines()) == 1
    assert stored_images(path).tolist() == [5, 7]  # a smaller one had space
