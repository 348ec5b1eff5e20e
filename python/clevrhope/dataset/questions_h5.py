"""Writes HDF5 files of questions of any kind, read by `question_table`; `question_kinds` has the columns."""

import io
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from clevrhope._core import deflate_chunks, inflate_chunks
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import write_whole

Ints = npt.NDArray[np.int32]

CHUNK_ROWS = 256
"""Rows per chunk of the wide arrays: few, so that a random batch unpacks little, but enough to compress."""

COLUMN_CHUNK_ROWS = 4096
"""Rows per chunk of the arrays with one number per question; a multiple of `CHUNK_ROWS`."""

COMPRESSION_LEVEL = 4

REMEDY = "run the dataset's build again"
"""What messages about damaged files suggest."""


class QuestionWriter:
    """Takes questions batch by batch; the whole file appears when the block ends without an error.

    The file is assembled in memory, compressed (a paper-sized train split takes about 20 MB), so that a full
    disk causes an error in plain Python and not inside the HDF5 library's own structures.
    """

    def __init__(
        self,
        path: Path,
        *,
        hop: str,
        split: str,
        pool: str,
        prefixes: Sequence[int] = (),
        attributes: Mapping[str, object] | None = None,
    ) -> None:
        self._path = path
        self._attributes: dict[str, object] = {"hop": hop, "split": split, "pool": pool, **(attributes or {})}
        if prefixes:
            self._attributes["prefixes"] = np.asarray(prefixes, dtype=np.int32)
        self._memory = io.BytesIO()
        self._file = h5py.File(self._memory, "w", libver=("earliest", "v110"))
        self._pending: list[Mapping[str, npt.NDArray[Any]]] = []
        self._n_pending = 0
        self._n_written = 0

    def __enter__(self) -> "QuestionWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush(self._n_pending)
            if "orig_idxs" not in self._file:
                self._write("orig_idxs", np.arange(self._n_written, dtype=np.int32), at=0)
            for name, value in self._attributes.items():
                self._file.attrs[name] = value
        self._file.close()
        if kind is None:
            write_whole(self._path, self._memory.getvalue())

    def set_attribute(self, name: str, value: object) -> None:
        """Sets an attribute whose value is not known before the questions are made."""
        self._attributes[name] = value

    def append(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Appends questions, given by their columns in the order of the file: `QuestionTable.arrays`."""
        self._pending.append(columns)
        self._n_pending += len(columns["answers"])
        if self._n_pending >= COLUMN_CHUNK_ROWS:
            self._flush(self._n_pending - self._n_pending % COLUMN_CHUNK_ROWS)

    def _flush(self, n: int) -> None:
        """Writes the first n pending rows in blocks that do not depend on how the rows were batched.

        The library allocates space in the order of writes, so the file would otherwise depend on the batches.
        """
        if not self._pending:
            return
        joined = {name: np.concatenate([each[name] for each in self._pending]) for name in self._pending[0]}
        begins = range(0, n, COLUMN_CHUNK_ROWS)
        for begin in begins if n or self._n_written else (0,):  # a file without rows has its arrays, too
            end = min(begin + COLUMN_CHUNK_ROWS, n)
            for name, values in joined.items():
                self._write(name, values[begin:end], at=self._n_written)
            self._n_written += end - begin
        self._pending = [{name: values[n:] for name, values in joined.items()}]
        self._n_pending -= n

    def _write(self, name: str, values: npt.NDArray[np.generic], *, at: int) -> None:
        if name not in self._file:
            self._file.create_dataset(
                name,
                shape=(0, *values.shape[1:]),
                maxshape=(None, *values.shape[1:]),
                chunks=(CHUNK_ROWS if values.ndim > 1 else COLUMN_CHUNK_ROWS, *values.shape[1:]),
                dtype=values.dtype,
                compression="gzip",
                compression_opts=COMPRESSION_LEVEL,
                shuffle=values.dtype.itemsize > 1,
                track_times=False,
            )
        dataset = self._file[name]
        dataset.resize(at + len(values), axis=0)
        # Apply the dataset's filters here, on all cores. Blocks begin at chunk boundaries.
        chunk_rows, width = dataset.chunks[0], values.dtype.itemsize * prod(values.shape[1:])
        rows = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), width)
        chunks = deflate_chunks(
            rows, item_size=values.dtype.itemsize, chunk_rows=chunk_rows, level=COMPRESSION_LEVEL
        )
        rest = (0,) * (values.ndim - 1)
        for number, chunk in enumerate(chunks):
            dataset.id.write_direct_chunk((at + number * chunk_rows, *rest), chunk)


def read_rows(file: h5py.File, name: str, begin: int, end: int) -> npt.NDArray[Any]:
    """Rows of an array; if there are many, chunks that this package wrote are unpacked on all cores."""
    dataset = file[name]
    packed = dataset.compression == "gzip" and dataset.shuffle == (dataset.dtype.itemsize > 1)
    if not packed or end - begin < CHUNK_ROWS or dataset.dtype.byteorder == ">":
        rows: npt.NDArray[Any] = dataset[begin:end]
        return rows
    chunk_rows, rest = dataset.chunks[0], (0,) * (dataset.ndim - 1)
    first = begin // chunk_rows * chunk_rows
    chunks = [dataset.id.read_direct_chunk((at, *rest))[1] for at in range(first, end, chunk_rows)]
    item = dataset.dtype.itemsize
    unpacked = inflate_chunks(chunks, item_size=item, chunk_size=chunk_rows * prod(dataset.shape[1:]) * item)
    rows = unpacked.view(dataset.dtype).reshape(-1, *dataset.shape[1:])
    return rows[begin - first : end - first]


def check_numbers(
    path: Path,
    name: str,
    numbers: npt.NDArray[np.integer[Any]],
    limit: int,
    *,
    least: int = 0,
    first: int = 0,
    remedy: str = REMEDY,
) -> None:
    """Checks that all numbers are at least `least` and below `limit`; `first` is the row where they begin.

    Raises:
        DatasetError: a number is not; names the first.
    """
    if numbers.size and (numbers.min() < least or numbers.max() >= limit):
        row, *rest = np.argwhere((numbers < least) | (numbers >= limit))[0]
        place = ", ".join(map(str, (first + row, *rest)))
        raise DatasetError(
            f"{path}: {name}[{place}] is {numbers[(row, *rest)]}; expected {least} to {limit - 1}; {remedy}"
        )
