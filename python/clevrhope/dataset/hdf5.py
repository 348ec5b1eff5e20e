"""Opens HDF5 files for reading, after checking their content against a declared schema.

A file may come from anybody. So its datasets must be stored in the file itself (no links, external files or
virtual datasets), have the declared types and shapes, and need no more memory than the stored bytes could
fill.
"""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import h5py

from clevrhope.errors import ClevrhopeError, DatasetError, shown, with_article
from clevrhope.runtime.paths import NO_NAME, is_name
from clevrhope.runtime.reading import check_regular, os_reason, reason

MAX_ROWS = 2**31 - 1
"""Scenes and questions are numbered in int32."""

MAX_ROW_BYTES = 1 << 28
"""The most bytes of one row: an image of 9,400 x 9,400 pixels."""

MAX_ARRAY_BYTES = 1 << 29
"""The most bytes of an array that is read at once: the answers of a hundred million questions."""

MAX_RATIO = 1100
"""The largest ratio of an array's size to its stored size: deflate reaches 1032."""

_SMALL = 1 << 20
"""An array may always have this many bytes."""

_NO_LOCK = (errno.ENOLCK, errno.EAGAIN, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP)
"""Errors of the system where a file cannot be locked."""

_OPEN_ELSEWHERE = "already open for write"
"""A part of the library's message about a file that another program is writing."""

_CUT = re.compile(r"\beof = (\d+).*stored_eof = (\d+)")


@dataclass(frozen=True)
class Array:
    """The required form of a dataset in an HDF5 file."""

    kinds: str
    """The allowed types, by numpy's letters: "iu" for integers, "f" for floats."""
    row: tuple[int | None, ...] = ()
    """Shape of a row; None for any size."""
    group: str = "rows"
    """Arrays of one group have the same number of rows."""
    needed: bool = True
    sparse: bool = False
    """Rows that were never written take no space, so the array may be larger than the stored bytes imply."""
    in_blocks: bool = False
    """The array is read some rows at a time, so it may be larger than memory."""


@dataclass(frozen=True)
class Schema:
    """The contents of one kind of HDF5 file."""

    what: str
    """The kind as messages name it: "a question file"."""
    arrays: Mapping[str, Array]
    names: tuple[str, ...] = ()
    """Attributes that hold names, which may become parts of paths."""
    remedy: str = "run the dataset's build again"


@contextmanager
def reading_hdf5(path: Path, schema: Schema) -> Iterator[h5py.File]:
    """Opens a file of a schema; inside the block, failures become the errors of `damage`.

    Raises:
        DatasetError: as for `open_hdf5`, or the file is damaged where the block reads it.
    """
    with closing(open_hdf5(path, schema)) as file, damage(path, schema):
        yield file


def open_hdf5(path: Path, schema: Schema, *, max_rows: int = MAX_ROWS) -> h5py.File:
    """Opens a file and checks it against its schema.

    Args:
        path: the file.
        schema: what it must contain.
        max_rows: the most rows that the group "rows" may have; the manifest's number, if there is one.

    Raises:
        DatasetError: the file is missing, cut off or damaged, or does not match the schema.
    """
    with damage(path, schema):
        check_regular(path)
        file = open_to_read(path)
        try:
            fault = _fault(file, schema, max_rows)
            if fault is not None:
                raise DatasetError(f"{path}: not {schema.what} ({fault}); remove it and {schema.remedy}")
            for name in schema.names:
                if not is_name(file.attrs[name]):
                    raise DatasetError(f"{path}: attribute {name}: {shown(file.attrs[name])} {NO_NAME}")
        except BaseException:
            file.close()
            raise
        return file


def open_to_read(path: Path) -> h5py.File:
    """Opens a file for reading, without a lock where the disk has none or another program holds one.

    A lock is not needed, as a file is whole or absent. It is tried first, since the library refuses to open a
    file in two ways in one process.
    """
    try:
        return h5py.File(path, "r")
    except OSError as problem:
        if problem.errno not in _NO_LOCK:
            raise
        return h5py.File(path, "r", locking=False)


def cannot_be_read(problem: Exception) -> str | None:
    """Why a file that may be whole could not be read, in a few words; None if its content is at fault."""
    if _OPEN_ELSEWHERE in str(problem):
        return "another program has it open for writing; close it there"
    if isinstance(problem, OSError) and problem.errno:
        return os_reason(problem)
    return None


@contextmanager
def damage(path: Path, schema: Schema) -> Iterator[None]:
    """Turns failures in a block that reads an open file into the errors of `open_hdf5`."""
    try:
        yield
    except ClevrhopeError:
        raise
    except FileNotFoundError as problem:
        raise DatasetError(f"{path}: no such file; {schema.remedy} to make it") from problem
    except MemoryError as problem:
        raise DatasetError(f"{path}: reading it takes more memory than there is") from problem
    except Exception as problem:
        if why := cannot_be_read(problem):
            raise DatasetError(f"{path}: cannot be read ({why})") from problem
        raise DatasetError(
            f"{path}: damaged, or not {schema.what} ({hdf5_words(problem)}); remove it and {schema.remedy}"
        ) from problem


class ProcessFile:
    """An HDF5 file that each process opens for itself, for reading; it pickles as its path.

    A handle of the HDF5 library must not cross into another process, neither by pickling nor by fork, where
    two processes would share the library's state of the file. So the handle belongs to the process that
    opened it on its first read; a copy in another process opens the file again.
    """

    def __init__(self, path: Path, schema: Schema, *, max_rows: int = MAX_ROWS) -> None:
        """Takes the arguments of `open_hdf5`, but does not open the file yet."""
        self.path = path
        self._schema = schema
        self._max_rows = max_rows
        self._file: h5py.File | None = None
        self._process = -1

    @contextmanager
    def reading(self) -> Iterator[h5py.File]:
        """Yields the open file, which stays open after the block.

        Raises:
            DatasetError: as for `open_hdf5`, or the file is damaged where the block reads it.
        """
        if self._file is None or self._process != os.getpid():
            self._file = open_hdf5(self.path, self._schema, max_rows=self._max_rows)
            self._process = os.getpid()
        with damage(self.path, self._schema):
            yield self._file

    def close(self) -> None:
        """Closes this process's handle; the next read opens it again."""
        if self._file is not None and self._process == os.getpid():
            self._file.close()
        self._file = None

    def __repr__(self) -> str:
        return f"ProcessFile({str(self.path)!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_process": -1}


def hdf5_words(error: Exception) -> str:
    """Why a file cannot be read, such as "cut off: 1,000 bytes are there, of 20,480"."""
    text = str(error)
    cut = _CUT.search(text)
    if cut:
        return f"cut off: {int(cut[1]):,} bytes are there, of {int(cut[2]):,}"
    if "signature not found" in text:
        return "empty, or damaged where it begins"
    if isinstance(error, OSError | RuntimeError | KeyError):
        return "its content is damaged"
    return reason(error)


def _fault(file: h5py.File, schema: Schema, max_rows: int) -> str | None:
    """How a file differs from its schema; None if it matches."""
    n_rows: dict[str, tuple[str, int]] = {}
    for name, wanted in schema.arrays.items():
        link = file.get(name, getlink=True)
        if link is None:
            if wanted.needed:
                return f"it has no array {name}"
            continue
        if not isinstance(link, h5py.HardLink):
            return f"{name} is a link to somewhere else"
        found = file[name]
        if not isinstance(found, h5py.Dataset):
            return f"{name} is {with_article(type(found).__name__.lower())}, not an array"
        fault = _array_fault(found, wanted)
        if fault is not None:
            return f"{name} {fault}"
        limit = max_rows if wanted.group == "rows" else MAX_ROWS
        if found.shape[0] > limit:
            return f"{name} has {found.shape[0]:,} rows, where {limit:,} can be at most"
        first, n = n_rows.setdefault(wanted.group, (name, found.shape[0]))
        if n != found.shape[0]:
            return f"{name} has {found.shape[0]:,} rows, {first} {n:,}"
    return next((f"it has no attribute {name}" for name in schema.names if name not in file.attrs), None)


def _array_fault(found: h5py.Dataset, wanted: Array) -> str | None:
    shape, row = found.shape, wanted.row
    if shape is None or len(shape) != 1 + len(row):
        return f"has the shape {shown(shape)}, where {1 + len(row)} axes should be"
    if any(want is not None and want != there for want, there in zip(row, shape[1:], strict=True)):
        return f"has rows of the shape {shape[1:]}, not {row}"
    if found.dtype.kind not in wanted.kinds:
        return f"is of type {found.dtype}"
    if found.external or found.is_virtual:
        return "is kept in another file"
    item, width = found.dtype.itemsize, prod(shape[1:])
    chunk = prod(found.chunks) if found.chunks else 0
    stored = found.id.get_storage_size()
    filled = 0 if wanted.sparse else shape[0] * width * item
    too_large = filled > MAX_RATIO * stored + _SMALL or (filled > MAX_ARRAY_BYTES and not wanted.in_blocks)
    if width * item > MAX_ROW_BYTES or chunk * item > MAX_ROW_BYTES or too_large:
        return f"says that it has {shape[0]:,} rows of {width * item:,} bytes, in {stored:,} bytes"
    return None
