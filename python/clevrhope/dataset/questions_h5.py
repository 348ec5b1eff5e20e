"""The HDF5 file of a split: its questions as arrays, written and read.

The file is what `preprocess_questions` of the public CLEVR models writes, plus a few arrays. There are N
questions; Q and P are the lengths of the longest question and program that the templates can produce, so they
never change in a folder:

| dataset            | shape  | type  | holds |
|--------------------|--------|-------|-------|
| questions          | (N, Q) | int32 | <START>, words, <END>, then 0 |
| question_lengths   | (N,)   | int32 | tokens of a question, <START> and <END> included |
| programs           | (N, P) | int32 | <START>, functions in prefix order, <END>, then 0 |
| program_lengths    | (N,)   | int32 | tokens of a program, <START> and <END> included |
| answers            | (N,)   | int32 | numbers of vocab.json |
| image_idxs         | (N,)   | int32 | the scene's index in its pool: row of images/<pool>.h5 |
| orig_idxs          | (N,)   | int32 | position of the question in the JSON file |
| question_families  | (N,)   | int32 | global index of the family |
| relation_needed    | (N, 3) | int8  | by relation: 1 if the answer needs it, 0 if not, -1 for no relation |

Attributes of the file: `hop`, `split` and `pool`; `prefixes` names smaller train sets, which are its first
rows.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from clevrhope._core import deflate_chunks, inflate_chunks
from clevrhope.dataset.hdf5 import MAX_ROWS, Array, Schema, reading_hdf5
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import write_whole

Ints = npt.NDArray[np.int32]

CHUNK_ROWS = 256
"""Rows per chunk of the wide arrays: few, so that a random batch unpacks little, but enough to compress."""

COLUMN_CHUNK_ROWS = 4096
"""Rows per chunk of the arrays with one number per question; a multiple of `CHUNK_ROWS`."""


COMPRESSION_LEVEL = 4

_COLUMN = Array("iu")
_TOKENS = Array("iu", (None,), in_blocks=True)

QUESTIONS = Schema(
    "a question file of clevrhope",
    {
        "questions": _TOKENS,
        "question_lengths": _COLUMN,
        "programs": _TOKENS,
        "program_lengths": _COLUMN,
        "answers": _COLUMN,
        "image_idxs": _COLUMN,
        "orig_idxs": _COLUMN,
        "question_families": _COLUMN,
        "relation_needed": Array("iu", (None,), needed=False, in_blocks=True),
    },
    names=("hop", "split", "pool"),
)
"""The schema of a split's file. The check for leaks does not need `relation_needed`."""


@dataclass(frozen=True)
class QuestionRows:
    """The arrays that all kinds of question files have, with one row for each question.

    `image_idxs` is (N,), or (N, I) where a question is about up to I images.
    """

    questions: Ints
    question_lengths: Ints
    programs: Ints
    program_lengths: Ints
    answers: Ints
    image_idxs: Ints
    question_families: Ints

    def __len__(self) -> int:
        return len(self.answers)

    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """Name -> array."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True)
class QuestionArrays(QuestionRows):
    """Questions, one per row; shapes and meanings as in the table above."""

    relation_needed: npt.NDArray[np.int8]


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
        self._pending: list[QuestionRows] = []
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

    def append(self, rows: QuestionRows) -> None:
        """Appends questions."""
        self._pending.append(rows)
        self._n_pending += len(rows)
        if self._n_pending >= COLUMN_CHUNK_ROWS:
            self._flush(self._n_pending - self._n_pending % COLUMN_CHUNK_ROWS)

    def _flush(self, n: int) -> None:
        """Writes the first n pending rows in blocks that do not depend on how the rows were batched.

        The library allocates space in the order of writes, so the file would otherwise depend on the batches.
        """
        if not self._pending:
            return
        joined = {
            name: np.concatenate([each.arrays()[name] for each in self._pending])
            for name in self._pending[0].arrays()
        }
        begins = range(0, n, COLUMN_CHUNK_ROWS)
        for begin in begins if n or self._n_written else (0,):  # a file without rows has its arrays, too
            end = min(begin + COLUMN_CHUNK_ROWS, n)
            for name, values in joined.items():
                self._write(name, values[begin:end], at=self._n_written)
            self._n_written += end - begin
        kind = type(self._pending[0])
        self._pending = [kind(**{name: values[n:] for name, values in joined.items()})]
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


def read_questions(path: Path) -> QuestionArrays:
    """Reads all questions of a split's file; raises the errors of `open_hdf5`."""
    with reading_hdf5(path, QUESTIONS) as file:
        return _questions(file, 0, len(file["answers"]))


def read_question_blocks(path: Path, *, n_rows: int) -> Iterator[QuestionArrays]:
    """Reads all questions of a split's file, `n_rows` at a time; raises the errors of `open_hdf5`."""
    with reading_hdf5(path, QUESTIONS) as file:
        n = len(file["answers"])
        for begin in range(0, n, n_rows):
            block = _questions(file, begin, min(begin + n_rows, n))
            check_columns(path, {name: rows for name, rows in block.arrays().items() if name in _LIMITS})
            yield block


def _questions(file: h5py.File, begin: int, end: int) -> QuestionArrays:
    return QuestionArrays(
        **{each.name: read_rows(file, each.name, begin, end) for each in fields(QuestionArrays)}
    )


def read_rows(file: h5py.File, name: str, begin: int, end: int) -> npt.NDArray[Any]:
    """Rows of an array; chunks that this package wrote are unpacked on all cores."""
    dataset = file[name]
    packed = dataset.compression == "gzip" and dataset.shuffle == (dataset.dtype.itemsize > 1)
    if not packed or end <= begin or dataset.dtype.byteorder == ">":
        rows: npt.NDArray[Any] = dataset[begin:end]
        return rows
    chunk_rows, rest = dataset.chunks[0], (0,) * (dataset.ndim - 1)
    first = begin // chunk_rows * chunk_rows
    chunks = [dataset.id.read_direct_chunk((at, *rest))[1] for at in range(first, end, chunk_rows)]
    item = dataset.dtype.itemsize
    unpacked = inflate_chunks(chunks, item_size=item, chunk_size=chunk_rows * prod(dataset.shape[1:]) * item)
    rows = unpacked.view(dataset.dtype).reshape(-1, *dataset.shape[1:])
    return rows[begin - first : end - first]


def read_scenes_in_use(path: Path) -> tuple[str, Ints]:
    """The pool of a split, and the sorted indices of the scenes that it asks about, each once.

    Raises:
        DatasetError: as for `open_hdf5`, or an index is out of range.
    """
    with reading_hdf5(path, QUESTIONS) as file:
        indices = file["image_idxs"][:]
        check_columns(path, {"image_idxs": indices})
        return str(file.attrs["pool"]), np.unique(indices)


def read_columns(path: Path, names: Sequence[str], *, max_rows: int = MAX_ROWS) -> dict[str, Ints]:
    """Reads the named arrays with one number per question; `max_rows` and errors as for `open_hdf5`."""
    with reading_hdf5(path, QUESTIONS, max_rows=max_rows) as file:
        columns = {name: file[name][:] for name in names}
    check_columns(path, columns)
    return columns


_LIMITS = {
    "answers": 1 << 16,
    "question_families": 1 << 16,
    "question_lengths": 1 << 16,
    "program_lengths": 1 << 16,
    "image_idxs": 1 << 31,
    "orig_idxs": 1 << 31,
}
"""The limit that a column's numbers stay below; all are 0 or more."""

MARKS = ("<START>", "<END>")
"""Tokens that every row has; a row's length includes them."""


def check_columns(path: Path, columns: Mapping[str, npt.NDArray[np.integer[Any]]]) -> None:
    """Checks that each column's numbers are in range.

    Raises:
        DatasetError: a number is not; names it.
    """
    for name, column in columns.items():
        least = len(MARKS) if name.endswith("lengths") else 0
        check_numbers(path, name, column, _LIMITS[name], least=least)


def check_numbers(
    path: Path, name: str, numbers: npt.NDArray[np.integer[Any]], limit: int, *, least: int = 0
) -> None:
    """Checks that all numbers are at least `least` and below `limit`.

    Raises:
        DatasetError: a number is not; names the first.
    """
    if numbers.size and (numbers.min() < least or numbers.max() >= limit):
        place = np.argwhere((numbers < least) | (numbers >= limit))[0]
        raise DatasetError(
            f"{path}: {name}[{', '.join(map(str, place))}] is {numbers[tuple(place)]}; expected {least} to "
            f"{limit - 1}; {QUESTIONS.remedy}"
        )
