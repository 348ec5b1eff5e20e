"""HDF5 files that anybody may have written: what is not as the schema says costs one sentence."""

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from clevrhope.dataset.hdf5 import Array, Schema, open_hdf5, reading_hdf5
from clevrhope.errors import DatasetError
from wording import check_refused, refused

N = 100
COLUMNS = Schema(
    "a file of columns",
    {
        "wide": Array("iu", (None,)),
        "boxes": Array("iu", (None, 4)),
        "answers": Array("iu"),
        "depth": Array("f", (None, None), needed=False, sparse=True),
        "indices": Array("iu", group="indices", needed=False),
    },
    names=("hop",),
    remedy="make it again",
)

Change = Callable[[h5py.File], Any]


def columns(path: Path, change: Change | None = None) -> Path:
    with h5py.File(path, "w", libver="latest") as file:
        file["wide"] = np.arange(N * 7, dtype=np.int32).reshape(N, 7)
        file["boxes"] = np.zeros((N, 3, 4), dtype=np.uint8)
        file.create_dataset("answers", data=np.arange(N), chunks=(10,), compression="gzip")
        file.attrs["hop"] = "rubber_cylinder"
        if change is not None:
            change(file)
    return path


def instead(name: str, **made: Any) -> Change:
    """Puts another array in the place of one."""

    def change(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, **made)

    return change


def replaced(name: str, by: Callable[[h5py.File], Any]) -> Change:
    """Puts something else in the place of an array."""

    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = by(file)

    return change


def attribute(value: Any) -> Change:
    return lambda file: file.attrs.__setitem__("hop", value)


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(N,), dtype="i4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "answers", shape=(N,))
    del file["answers"]
    file.create_virtual_dataset("answers", layout)


def ring(file: h5py.File) -> None:
    del file["answers"]
    file["answers"], file["other"] = h5py.SoftLink("/other"), h5py.SoftLink("/answers")


def huge_chunk(file: h5py.File) -> None:
    """A chunk of 1 GiB of which a thousandth is stored."""
    del file["answers"]
    made = file.create_dataset("answers", (N,), "u1", maxshape=(None,), chunks=(1 << 30,), compression="gzip")
    made.id.write_direct_chunk((0,), b"\0" * (1 << 20))


def bomb(file: h5py.File) -> None:
    """Eight megabytes in a few bytes, said to be filled."""
    del file["wide"]
    made = file.create_dataset("wide", (1 << 10, 1 << 11), "i4", chunks=(1, 1 << 11), compression="gzip")
    made.id.write_direct_chunk((0, 0), b"\0" * 100)


CHANGES: dict[str, Change] = {
    "no array": lambda file: file.pop("answers"),
    "a ring of links": ring,
    "a link without": replaced("answers", lambda _: h5py.ExternalLink("/etc/passwd", "answers")),
    "a group": replaced("answers", lambda file: file.create_group("g")),
    "a scalar": instead("answers", data=3),
    "nothing": instead("answers", data=h5py.Empty("i4")),
    "two axes": instead("answers", data=np.zeros((N, 1), "i4")),
    "other columns": instead("boxes", data=np.zeros((N, 3, 5), "i4")),
    "floats": instead("answers", data=np.zeros(N)),
    "strings of any length": instead("answers", shape=(N,), dtype=h5py.string_dtype()),
    "records": instead("answers", data=np.zeros(N, np.dtype([("a", "i4"), ("b", "f8")]))),
    "more rows": instead("answers", data=np.zeros(N + 1, "i4")),
    "fewer rows": instead("boxes", data=np.zeros((0, 3, 4), "i4")),
    "rows that nobody stored": instead("wide", shape=(10**11, 7), dtype="i4", chunks=(1000, 7)),
    "more rows than numbers": lambda file: file.create_dataset(
        "depth", (10**11, 3, 4), "f4", chunks=(1, 3, 4)
    ),
    "a wide row": instead("wide", shape=(N, 10**9), dtype="i4", chunks=(1, 1000)),
    "a large chunk": huge_chunk,
    "a bomb": bomb,
    "another file's bytes": instead("answers", shape=(N,), dtype="u1", external=[("/etc/passwd", 0, N)]),
    "another file's arrays": virtual,
    "no attribute": lambda file: file.attrs.pop("hop"),
    "a path": attribute("../../x"),
    "a NUL": attribute(np.bytes_(b"a\0b")),
    "an array of names": attribute(np.array([b"a", b"b"])),
    "no value": attribute(h5py.Empty("S1")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_the_schema_does_not_say_is_refused(change: Change, tmp_path: Path) -> None:
    path = columns(tmp_path / "a.h5", change)
    assert path.stat().st_size < 2 << 20
    before = peak_bytes()
    with refused(DatasetError) as told:
        open_hdf5(path, COLUMNS)
    assert peak_bytes() - before < 50 << 20
    said = str(told.value)
    assert said.startswith(f"{path}: ")
    assert len(said) < 400 + len(str(path))
    assert said.isprintable()


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_file_of_the_schema_is_opened_with_what_else_is_in_it(tmp_path: Path) -> None:
    def more(file: h5py.File) -> None:
        file["elsewhere"] = h5py.ExternalLink("/etc/passwd", "x")
        file.create_dataset("depth", (N, 300, 400), "f4", chunks=(1, 300, 400))
        file["indices"] = np.arange(3)
        file.attrs["pool"] = "../x"

    with reading_hdf5(columns(tmp_path / "a.h5", more), COLUMNS) as file:
        assert file["answers"][-1] == N - 1
        assert file["depth"].shape == (N, 300, 400)


def test_the_rows_that_a_manifest_gives_are_the_most(tmp_path: Path) -> None:
    path = columns(tmp_path / "a.h5", lambda file: file.create_dataset("indices", data=np.arange(2 * N)))
    open_hdf5(path, COLUMNS, max_rows=N).close()
    check_refused(DatasetError, open_hdf5, path, COLUMNS, max_rows=N - 1)


def cut(path: Path) -> None:
    content = columns(path).read_bytes()
    path.write_bytes(content[: len(content) // 2])


def spoilt(path: Path) -> None:
    content = bytearray(columns(path).read_bytes())
    content[48:512] = bytes(464)
    path.write_bytes(content)


NO_FILES: dict[str, Callable[[Path], Any]] = {
    "cut off": cut,
    "spoilt": spoilt,
    "empty": Path.touch,
    "text": lambda path: path.write_text("questions\n" * 1000),
    "a signature alone": lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n"),
    "a signature and noise": lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 40),
    "missing": lambda path: None,
    "a loop": lambda path: path.symlink_to(path),
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_such_file_costs_one_sentence(make: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    make(path)
    with refused(DatasetError) as told:
        open_hdf5(path, COLUMNS)
    assert str(told.value).startswith(f"{path}: ")
    assert str(told.value).isprintable()


def test_damage_that_is_met_while_reading_is_told_as_that(tmp_path: Path) -> None:
    path = columns(tmp_path / "a.h5")
    with h5py.File(path) as file:
        place = file["answers"].id.get_chunk_info(3).byte_offset
    with path.open("r+b") as raw:
        raw.seek(place)
        raw.write(b"\0" * 8)
    with refused(DatasetError), reading_hdf5(path, COLUMNS) as file:
        file["answers"][:]


def test_a_file_that_is_refused_is_closed(tmp_path: Path) -> None:
    path = columns(tmp_path / "a.h5", lambda file: file.pop("answers"))
    with pytest.raises(DatasetError):
        open_hdf5(path, COLUMNS)
    with h5py.File(path, "r+") as file:  # which the library refuses while it is open for reading
        file.attrs["hop"] = "none"
