"""Batches of a split's questions and of their images' features, on a device."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.features.extractor import Array
from clevrhope.features.store import PoolFeatures
from clevrhope.models.batch import ABSENT, Batch
from clevrhope.runtime.digits import read_variable
from clevrhope.runtime.threads import map_in_threads
from clevrhope.training.order import Numbers
from clevrhope.training.request import SIDE_BY_SIDE

SHARE_OF_MEMORY = 0.6
"""Share of a GPU's memory for the features of all runs on it; the rest is for their models."""

_ROWS_AT_ONCE = 1024


class Questions:
    """Questions of a split, whose batches are made on a device.

    Tokens and answers are on the device, and so are the features if they fit, so that a batch needs no copy
    from the host. If they do not fit, a thread reads those of the next batch while one is computed. On a CPU
    features stay memory-mapped, so that concurrent runs share them.
    """

    def __init__(self, rows: QuestionTable, features: PoolFeatures, device: torch.device) -> None:
        """Reads the questions; `features` are those of the split's pool.

        Raises:
            DatasetError: an incomplete file, or images without features.
        """
        self.pool, self.image_idxs, self.answers = rows.pool, rows.image_idxs, rows.answers
        self._sentences = cache(rows.sentences)
        self.device = device
        # int32, half the size of a batch's int64: the tokens of a train set of the paper's size take 160 MB.
        self._tokens = {
            "questions": rows.questions,
            "question_lengths": rows.question_lengths,
            "programs": rows.programs,
            "program_lengths": rows.program_lengths,
            "answers": rows.answers,
            "families": rows.question_families,
        }
        self._columns = {name: torch.from_numpy(each).to(device) for name, each in self._tokens.items()}
        self._sets: _ImageSets | None = None
        wanted = rows.image_idxs
        if wanted.ndim > 1:
            self._sets = _ImageSets(wanted)
            wanted = self._sets.scenes
        self._features = _Features(features.arrays, features.rows(wanted), device)

    def __len__(self) -> int:
        return len(self.image_idxs)

    def batches(
        self, order: Numbers, size: int, plan: Callable[[Batch], Any] | None = None
    ) -> Iterator[Batch]:
        """Batches of the questions in these rows, in this order; the last batch may be smaller.

        A model's `plan` is called for the next batch in a thread while one is computed.
        """
        on_device = torch.from_numpy(order).to(self.device)
        parts = [slice(first, first + size) for first in range(0, len(order), size)]
        rows_of_parts = [(order[part], on_device[part]) for part in parts]
        plans: Iterable[Any] = repeat(None, len(parts))
        if plan is not None:
            plans = map_in_threads(lambda part: plan(self._on_cpu(order[part])), parts, threads=1)
        loaded = zip(rows_of_parts, self._images(rows_of_parts), plans, strict=True)
        for (_, rows), (features, images), planned in loaded:
            columns: dict[str, Any] = {
                name: each.index_select(0, rows).long() for name, each in self._columns.items()
            }
            yield Batch(
                rows=rows,
                features=features,
                images=images,
                sentences=self._sentences,
                plan=planned,
                **columns,
            )

    def _on_cpu(self, rows: Numbers) -> Batch:
        """A batch for a model's `plan`."""
        used, images = (rows, None) if self._sets is None else self._sets.of(rows)
        columns: dict[str, Any] = {
            name: torch.from_numpy(each[rows].astype(np.int64)) for name, each in self._tokens.items()
        }
        return Batch(
            rows=torch.from_numpy(rows),
            features=self._features.on_cpu(used),
            images=None if images is None else torch.from_numpy(images),
            **columns,
        )

    def _images(
        self, rows_of_parts: Sequence[tuple[Numbers, Tensor]]
    ) -> Iterator[tuple[dict[str, Tensor], Tensor | None]]:
        """The features of each batch's images, and `Batch.images`."""
        if self._sets is None:
            for features in self._features.batches(rows_of_parts):
                yield features, None
            return
        sets = [self._sets.of(rows) for rows, _ in rows_of_parts]
        used = ((images, torch.from_numpy(images).to(self.device)) for images, _ in sets)
        for features, (_, places) in zip(self._features.batches(used), sets, strict=True):
            yield features, torch.from_numpy(places).to(self.device)


class _ImageSets:
    """The images of questions about sets of images, of which several questions may share one."""

    def __init__(self, image_idxs: Ints) -> None:
        self.scenes, numbers = np.unique(image_idxs[image_idxs >= 0], return_inverse=True)
        """The scenes of all images, each once."""
        self._numbers = np.full(image_idxs.shape, ABSENT, np.int64)
        self._numbers[image_idxs >= 0] = numbers

    def of(self, questions: Numbers) -> tuple[Numbers, Numbers]:
        """(U,) indices in `scenes` of the images that B questions have, and (B, I) indices into these."""
        numbers = self._numbers[questions]
        used, places = np.unique(numbers[numbers != ABSENT], return_inverse=True)
        images = np.full(numbers.shape, ABSENT, np.int64)
        images[numbers != ABSENT] = places
        return used, images


class _Rows(Mapping[str, Tensor]):
    """Rows of arrays, which are read from their files only when an array is asked for."""

    def __init__(self, arrays: Mapping[str, Array], rows: Numbers) -> None:
        self._arrays, self._rows = arrays, rows

    def __getitem__(self, name: str) -> Tensor:
        return torch.from_numpy(self._arrays[name][self._rows])

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


class _Features:
    """The arrays of a feature store, and for each image that is used its row in them."""

    def __init__(self, arrays: Mapping[str, Array], rows: Numbers, device: torch.device) -> None:
        self._arrays, self._rows, self._device = arrays, rows, device
        self._on_device: dict[str, Tensor] | None = None
        self._row_of: Tensor | None = None
        if device.type == "cpu":
            self._on_device = {name: torch.from_numpy(each) for name, each in arrays.items()}
            self._row_of = torch.from_numpy(rows)
            return
        used, row_of = np.unique(rows, return_inverse=True)
        n_bytes = sum(len(used) * each[0].nbytes for each in arrays.values())
        if _fit(n_bytes, device):
            self._on_device = {name: _copied(each, used, device) for name, each in arrays.items()}
            self._row_of = torch.from_numpy(row_of).to(device)

    def on_cpu(self, images: Numbers) -> Mapping[str, Tensor]:
        """The arrays of n images, each (n, ...), which are read only when they are asked for."""
        return _Rows(self._arrays, self._rows[images])

    def batches(self, images: Iterable[tuple[Numbers, Tensor]]) -> Iterator[dict[str, Tensor]]:
        """The arrays, each (n, ...), of each batch's images, whose indices are on the CPU and the device."""
        if self._on_device is not None and self._row_of is not None:
            for _, on_device in images:
                rows = self._row_of[on_device]
                # index_select copies whole rows; for uint8 images, indexing takes several times as long.
                yield {name: each.index_select(0, rows) for name, each in self._on_device.items()}
            return
        for found in map_in_threads(self._read, (numbers for numbers, _ in images), threads=1):
            yield {name: each.to(self._device, non_blocking=True) for name, each in found.items()}

    def _read(self, images: Numbers) -> dict[str, Tensor]:
        found = dict(self.on_cpu(images))
        if self._device.type != "cuda":
            return found
        return {name: each.pin_memory() for name, each in found.items()}


def _fit(n_bytes: int, device: torch.device) -> bool:
    """Whether features fit on a device next to those of the other runs on it."""
    free, total = _memory(device)
    return n_bytes <= SHARE_OF_MEMORY * min(free, total / read_variable(SIDE_BY_SIDE, default=1))


def _memory(device: torch.device) -> tuple[int, int]:
    """Free and total memory of a GPU in bytes; 0 for other devices."""
    return torch.cuda.mem_get_info(device) if device.type == "cuda" else (0, 0)


def _copied(array: Array, rows: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Copies rows of a mapped array to the device in pieces, so that the host holds few of them at a time."""
    dtype = torch.from_numpy(array[:0]).dtype
    copied = torch.empty((len(rows), *array.shape[1:]), dtype=dtype, device=device)
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        piece = rows[first : first + _ROWS_AT_ONCE]
        copied[first : first + len(piece)] = torch.from_numpy(array[piece]).to(device)
    return copied
