"""Rows of a file of questions over several images, read and checked in batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditSetFindings, AuditSetReader
from clevrhope.audit.report import Check
from clevrhope.dataset.native_reader import Ints
from clevrhope.dataset.scene_files import MISSING, PoolScenes, Rows
from clevrhope.dataset.split_files import SetArrays

Flags: TypeAlias = npt.NDArray[np.bool_]

ROWS_AT_ONCE = 65_536
"""Number of rows in a batch; it is even, so that no pair of questions is split between batches."""


@dataclass(frozen=True)
class Batch:
    """N rows of a file, and the native reader's findings on them."""

    file: str
    """Path of the HDF5 file below the folder."""
    first: int
    """Index of the first row in the file."""
    questions: Ints
    programs: Ints
    columns: dict[str, npt.NDArray[Any]]
    """Name -> (N,), and (N, 5) for `image_idxs`."""
    there: Flags
    """(N, 5) whether there is an image."""
    is_set: Flags
    """(N,) whether the images are different scenes, followed only by -1."""
    rows: Rows
    """(N, 5) their rows in the pool; -1 for no image, and throughout any row with a missing scene."""
    is_missing: Flags
    """(N, 5) whether the pool lacks the scene."""
    found: AuditSetFindings

    def __len__(self) -> int:
        return len(self.questions)

    def fault(self, check: Check, wrong: Flags, problem: str, values: npt.NDArray[Any]) -> None:
        """Adds a fault with its value for each wrong row."""
        for k in np.flatnonzero(wrong).tolist():
            check.fault(self.file, self.first + k, problem, values[k].tolist())


def read_batches(arrays: SetArrays, file: str, pool: PoolScenes, reader: AuditSetReader) -> Iterator[Batch]:
    """All rows of a file in order.

    Raises:
        DatasetError: a block is damaged.
    """
    for first in range(0, len(arrays), ROWS_AT_ONCE):
        questions = arrays.tokens("questions", first, ROWS_AT_ONCE)
        programs = arrays.tokens("programs", first, ROWS_AT_ONCE)
        columns = {name: column[first : first + len(questions)] for name, column in arrays.columns.items()}
        images = columns["image_idxs"]
        there = images >= 0
        rows = pool.rows(images.reshape(-1)).reshape(images.shape)
        is_set, is_missing = sets_of(images), there & (rows == MISSING)
        rows = np.where((is_set & ~is_missing.any(axis=1))[:, None], rows, MISSING)
        found = reader.read(questions, programs, pool.native, rows)
        yield Batch(file, first, questions, programs, columns, there, is_set, rows, is_missing, found)


def sets_of(images: npt.NDArray[np.integer[Any]]) -> Flags:
    """(N,) whether each row (N, 5) has one or more different scenes, and only -1 after them."""
    there = images >= 0
    in_order = np.sort(images, axis=1)
    twice = ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)).any(axis=1)
    gap = (there[:, 1:] & ~there[:, :-1]).any(axis=1)
    is_set: Flags = there[:, 0] & ~gap & ~twice & (images >= -1).all(axis=1)
    return is_set


def digests(rows: Ints) -> npt.NDArray[np.uint64]:
    """(N,) a digest of each row of tokens (N, W)."""
    with np.errstate(over="ignore"):
        weights = np.cumprod(np.full(rows.shape[1], _BASE, dtype=np.uint64))
        sums: npt.NDArray[np.uint64] = ((rows.astype(np.uint64) + _BASE) * weights).sum(
            axis=1, dtype=np.uint64
        )
    return sums


_BASE = np.uint64(0x9E3779B97F4A7C15)
