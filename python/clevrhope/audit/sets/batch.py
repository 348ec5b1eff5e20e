"""Rows of a file of questions over several images, and what follows from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.folder import SetFile
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.native_reader import Ints
from clevrhope.dataset.question_kinds import MAX_IMAGES, PAIR_PLACES
from clevrhope.dataset.scene_files import MISSING, PoolScenes, Rows
from clevrhope.dataset.split_files import SetArrays, Vocab

Flags: TypeAlias = npt.NDArray[np.bool_]

ROWS_AT_ONCE = 65_536
"""Number of rows in a batch; it is even, so that no pair of questions is split between batches."""

NOWHERE, QUESTION, DISTRACTORS = range(len(PAIR_PLACES))
"""Places of the held-out pair by their number in files."""

_TEMPLATES = np.asarray([*AuditReader.TEMPLATES, ""])


@dataclass(frozen=True)
class SetBatches:
    """An open file, and what its rows are compared with."""

    split: SetFile
    arrays: SetArrays
    vocab: Vocab
    settings: QuestionSettings
    pool: PoolScenes
    reader: AuditReader

    def batches(self) -> "Iterator[Batch]":
        """All rows in order; raises a DatasetError if a block is damaged."""
        for first in range(0, len(self.arrays), ROWS_AT_ONCE):
            yield Batch(self, first)


class Batch:
    """N rows, from row `first` of the file on.

    Attributes:
        columns: Name -> (N,), (N, 5) for `image_idxs`, and (N, W) for tokens.
        has_image: (N, 5) whether there is an image.
        is_set: (N,) whether the images are different scenes, followed only by -1.
        is_missing: (N, 5) whether the pool lacks the scene.
        rows: (N, 5) the scenes' rows in the pool; -1 for no image, and throughout a row that misses a scene.
        findings: The native reader's findings.
        asked: Those of them that questions about single images have too.
        numbers: (N,) the rows' own numbers.
        n_images: (N,) the number of images.
        n_objects: (N, 5) the number of objects in each image; 0 if the image or its scene is missing.
        source: (N, 1) the index of each source image; 0 for one that is out of range.
        sizes: (N, 3) images, objects in them, and objects in the source.
        is_executed: (N,) whether all scenes are there.
        matches: (N, 2, 5) how many objects of each image the first and second described set has; -1 for none.
        describes: (N, 5) whether an image shows what the question describes.
        by_program: (N,) the template of each program; "" for none.
        template: (N,) the template that each row names; "" for none.
    """

    def __init__(self, file: SetBatches, first: int) -> None:
        self.file = file
        arrays = file.arrays
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: arrays.tokens(name, first, ROWS_AT_ONCE) for name in ("questions", "programs")
        }
        questions, programs = self.columns.values()
        self.numbers: Rows = np.arange(first, first + len(questions))
        for name, column in arrays.columns.items():
            self.columns[name] = column[first : first + len(questions)]
        images = self.columns["image_idxs"]
        self.has_image: Flags = images >= 0
        self.is_set, self.is_missing, self.rows = scene_rows(images, file.pool)
        self.findings = file.reader.read_sets(questions, programs, file.pool.native, self.rows)
        self.asked = self.findings.asked
        self.n_images: Rows = self.has_image.sum(axis=1)
        of_scenes = np.append(file.pool.native.n_objects, 0)  # the last entry is for MISSING
        self.n_objects = of_scenes[self.rows].astype(np.int64)
        sources = self.columns["sources"].astype(np.int64)
        self.source: Rows = np.where((sources >= 0) & (sources < MAX_IMAGES), sources, 0)[:, None]
        of_source = np.take_along_axis(self.n_objects, self.source, axis=1)[:, 0]
        self.sizes: Rows = np.stack([self.n_images, self.n_objects.sum(axis=1), of_source], axis=1)
        self.is_executed: Flags = self.rows[:, 0] != MISSING
        self.matches: Rows = self.findings.matches.reshape(-1, 2, MAX_IMAGES).astype(np.int64)
        self.describes: Flags = (self.matches > 0).any(axis=1)
        self.by_program: npt.NDArray[np.str_] = _TEMPLATES[self.findings.templates]
        names = np.asarray([*arrays.templates, ""])
        families = self.columns["question_families"]
        known = (families >= 0) & (families < len(names) - 1)
        self.template: npt.NDArray[np.str_] = names[np.where(known, families, -1)]

    def __len__(self) -> int:
        return len(self.columns["answers"])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column of the file."""
        return self.columns[name]

    @cached_property
    def shows_pair(self) -> Flags:
        """(N, 5) whether each image shows the held-out pair."""
        holding = np.append(self.file.pool.holding(self.file.split.hop.target), False)  # last for MISSING
        return np.asarray(holding[self.rows])


def scene_rows(images: npt.NDArray[Any], pool: PoolScenes) -> tuple[Flags, Flags, Rows]:
    """`is_set` (N,), `is_missing` (N, 5) and `rows` (N, 5) of a batch with these images (N, 5)."""
    has_image = images >= 0
    in_order = np.sort(images, axis=1)
    has_twin = ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)).any(axis=1)
    has_gap = (has_image[:, 1:] & ~has_image[:, :-1]).any(axis=1)
    is_set: Flags = has_image[:, 0] & ~has_gap & ~has_twin & (images >= -1).all(axis=1)
    rows = pool.rows(images.reshape(-1)).reshape(images.shape)
    is_missing: Flags = has_image & (rows == MISSING)
    return is_set, is_missing, np.where((is_set & ~is_missing.any(axis=1))[:, None], rows, MISSING)


def digests(rows: Ints) -> npt.NDArray[np.uint64]:
    """(N,) a digest of each row of tokens (N, W)."""
    with np.errstate(over="ignore"):
        weights = np.cumprod(np.full(rows.shape[1], _BASE, dtype=np.uint64))
        return np.asarray(((rows.astype(np.uint64) + _BASE) * weights).sum(axis=1, dtype=np.uint64))


_BASE = np.uint64(0x9E3779B97F4A7C15)
