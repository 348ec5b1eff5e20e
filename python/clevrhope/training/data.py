"""A split's questions and their images' features in, batches on a device out."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.features.store import Array, FeatureStore
from clevrhope.models.batch import Batch
from clevrhope.training.request import SIDE_BY_SIDE

SHARE_OF_MEMORY = 0.6
"""Of a GPU's memory, which the features of all runs on it may take; the rest is for the models."""

_ROWS_AT_ONCE = 1024


class Split(Protocol):
    """What has a split's questions: `SplitReader`, or `ClevrSplit` for CLEVR's own."""

    hop: str
    split: str
    pool: str
    answers: Ints
    image_idxs: Ints
    question_families: Ints
    question_lengths: Ints
    program_lengths: Ints

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows in order: the first one's number, questions, programs."""
        ...


class Questions:
    """The questions of a split, or the first of them.

    Tokens and answers are on the device. Features are, too, where they fit: a batch is then gathered
    without a copy from elsewhere. On the CPU they stay mapped from their files, so runs side by side share
    them. Where they do not fit, a thread brings the next batch while one is computed.
    """

    def __init__(self, reader: Split, store: FeatureStore, device: torch.device) -> None:
        """Reads all but features.

        Raises:
            DatasetError: a file that is not whole, or images without features.
        """
        self.hop, self.split, self.pool = reader.hop, reader.split, reader.pool
        self.image_idxs = reader.image_idxs
        self.answers = reader.answers
        self.device = device
        tokens = [(questions, programs) for _, questions, programs in reader.blocks()]
        columns = {
            "questions": np.concatenate([each for each, _ in tokens]),
            "question_lengths": reader.question_lengths,
            "programs": np.concatenate([each for _, each in tokens]),
            "program_lengths": reader.program_lengths,
            "answers": reader.answers,
            "families": reader.question_families,
        }
        # As int32, half of what a batch has: a paper-sized train set's tokens then take 160 MB.
        self._columns = {name: torch.from_numpy(each).to(device) for name, each in columns.items()}
        features = store.pool(reader.pool)
        self._features = _Features(features.arrays, features.rows(reader.image_idxs), device)

    def __len__(self) -> int:
        return len(self.image_idxs)

    def batches(self, numbers: npt.NDArray[np.int64], size: int) -> Iterator[Batch]:
        """Batches of these questions, in their order; the last one may be smaller."""
        rows = torch.from_numpy(numbers).to(self.device)
        features = self._features.batches(numbers, rows, size)
        for first, found in zip(range(0, len(numbers), size), features, strict=True):
            some = rows[first : first + size]
            columns = {name: each.index_select(0, some).long() for name, each in self._columns.items()}
            yield Batch(rows=some, features=found, **columns)


class _Features:
    """Features of the questions' images: arrays with a row an image, and the row of each question."""

    def __init__(
        self, arrays: Mapping[str, Array], rows: npt.NDArray[np.int64], device: torch.device
    ) -> None:
        self._device = device
        self._arrays = arrays
        self._rows = rows
        self._there: dict[str, Tensor] | None = None
        self._row_of: Tensor | None = None
        if device.type == "cpu":
            self._there = {name: torch.from_numpy(each) for name, each in arrays.items()}
            self._row_of = torch.from_numpy(rows)
            return
        used, row_of = np.unique(rows, return_inverse=True)
        n_bytes = sum(len(used) * each[0].nbytes for each in arrays.values())
        if _fit(n_bytes, device):
            self._there = {name: _moved(each, used, device) for name, each in arrays.items()}
            self._row_of = torch.from_numpy(row_of).to(device)

    def batches(
        self, numbers: npt.NDArray[np.int64], on_device: Tensor, size: int
    ) -> Iterator[dict[str, Tensor]]:
        """The arrays of each batch's questions, each (B, ...)."""
        firsts = range(0, len(numbers), size)
        if self._there is not None and self._row_of is not None:
            for first in firsts:
                rows = self._row_of[on_device[first : first + size]]
                # Rows as a whole: of images in bytes, indexing by element takes several times as long.
                yield {name: each.index_select(0, rows) for name, each in self._there.items()}
            return
        with ThreadPoolExecutor(1) as reader:
            coming = [reader.submit(self._read, numbers[first : first + size]) for first in firsts[:1]]
            for first in firsts:
                found = coming.pop().result()
                if first + size < len(numbers):
                    coming.append(reader.submit(self._read, numbers[first + size : first + 2 * size]))
                yield {name: each.to(self._device, non_blocking=True) for name, each in found.items()}

    def _read(self, numbers: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        rows = self._rows[numbers]
        found = {name: torch.from_numpy(each[rows]) for name, each in self._arrays.items()}
        if self._device.type != "cuda":
            return found
        return {name: each.pin_memory() for name, each in found.items()}


def _fit(n_bytes: int, device: torch.device) -> bool:
    """Whether features have room on a device, beside those of other runs on it."""
    free, total = _memory(device)
    return n_bytes <= SHARE_OF_MEMORY * min(free, total / int(os.environ.get(SIDE_BY_SIDE, "1")))


def _memory(device: torch.device) -> tuple[int, int]:
    """Free and all bytes of a GPU; none of other devices."""
    return torch.cuda.mem_get_info(device) if device.type == "cuda" else (0, 0)


def _moved(array: Array, rows: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Rows of a mapped array on the device, a piece at a time, so that the host holds little of them."""
    made = torch.empty((len(rows), *array.shape[1:]), dtype=torch.from_numpy(array[:0]).dtype, device=device)
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        piece = rows[first : first + _ROWS_AT_ONCE]
        made[first : first + len(piece)] = torch.from_numpy(array[piece]).to(device)
    return made
