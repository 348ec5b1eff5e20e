"""The check that files of questions over several images are complete, and that HDF5 and JSON agree."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditSetReader, AuditSetRows
from clevrhope.audit.checks.columns import ends_of
from clevrhope.audit.folder import AuditFolder, SetSplit
from clevrhope.audit.report import Check
from clevrhope.audit.sets.batches import Batch
from clevrhope.dataset.covr_h5 import PAIR_PLACES, STRUCTURES
from clevrhope.dataset.scene_files import PoolScenes
from clevrhope.dataset.split_files import SetArrays, Vocab, read_question_rows
from clevrhope.errors import DatasetError
from clevrhope.splits.palettes import pool_name

MOST_OBJECTS = 64
"""Maximum number of objects in a set."""

_SPECIAL = 4
"""How many numbers of a vocabulary are special tokens, and not words, functions or answers."""


def check_listing(folder: AuditFolder, check: Check) -> None:
    """Compares the splits that the manifest lists with the files that it lists."""
    layout, listed, splits = folder.layout, folder.manifest.files, folder.all_set_splits
    needed = {split.file for split in splits} | ({layout.relative(layout.covr_vocab)} if splits else set())
    for name in sorted(needed - listed.keys()):
        check.fault("manifest.json", None, "splits of questions over several images need a file", name)
    known = needed | {layout.relative(split.json) for split in splits}
    for name in listed:
        if name.startswith("covr/") and name not in known:
            check.fault(name, None, "in the manifest, but belongs to none of its splits", name)


class FileCheck:
    """The check of one split's files, batch by batch."""

    def __init__(
        self,
        folder: AuditFolder,
        split: SetSplit,
        arrays: SetArrays,
        vocab: Vocab,
        reader: AuditSetReader,
        check: Check,
    ) -> None:
        self._split, self._arrays, self._reader, self._check = split, arrays, reader, check
        self._file = folder.layout.relative(split.json)
        self._answers = np.asarray([each for each in vocab.answers.values() if each >= _SPECIAL])
        self._last = {
            "questions": max(vocab.words.values(), default=0),
            "programs": max(vocab.functions.values(), default=0),
        }
        """The last number of each vocabulary."""
        self.has_json = split.json.is_file() and folder.is_readable(split.json)
        self._rows = read_question_rows(split.json) if self.has_json else iter(())
        entry = folder.manifest.covr[split.hop.name][split.name]
        self._check_file(int(entry["questions"]), int(entry["pictures"]))

    def _check_file(self, n_questions: int, n_images: int) -> None:
        split, arrays = self._split, self._arrays
        base = split.kind.pool if split.hop.pair else split.kind.plain_pool
        pool = pool_name(base, split.hop.pools)
        for name, wanted in (("hop", split.hop.name), ("split", split.name), ("pool", pool)):
            there = arrays.attributes.get(name)
            if there != wanted:
                self._check.fault(split.file, None, f"attribute {name} is not {wanted}", there)
        if sorted(arrays.templates) != sorted(AuditSetReader.TEMPLATES):
            self._check.fault(split.file, None, "attribute templates are not COVR's", arrays.templates)
        for what, stated, there in (
            ("questions", n_questions, len(arrays)),
            ("pictures", n_images, len(arrays.used)),
        ):
            if there != stated:
                problem = f"{what} in the manifest: {stated}, but the file has"
                self._check.fault(split.file, None, problem, there)

    def look_at(self, batch: Batch, pool: PoolScenes) -> npt.NDArray[np.int64]:
        """Checks a batch; returns the phrasings (N,) in JSON, -1 where it has none.

        Raises:
            DatasetError: a row of JSON is not a question.
        """
        self._check.n_checked += len(batch)
        self._check_numbers(batch)
        self._check_tokens(batch)
        self._check_images(batch, pool)
        self._check_pairs(batch)
        return self._compare(batch, pool)

    def finish(self) -> None:
        """Reports rows of JSON without a row in HDF5."""
        n_more = sum(1 for _ in self._rows)
        if n_more:
            self._check.fault(self._file, len(self._arrays), "questions that HDF5 does not have", n_more)

    def _check_numbers(self, batch: Batch) -> None:
        columns = batch.columns
        n_images = batch.there.sum(axis=1)
        limits: dict[str, tuple[int, Any]] = {
            "question_families": (0, len(self._arrays.templates)),
            "structures": (0, len(STRUCTURES)),
            "sources": (0, n_images),
            "cut": (-1, 2),
            "pair_places": (0, len(PAIR_PLACES)),
        }
        for name, (least, limit) in limits.items():
            column = columns[name]
            batch.fault(self._check, (column < least) | (column >= limit), f"{name}: out of range", column)
        answers, numbers = columns["answers"], columns["orig_idxs"]
        is_answer = np.isin(answers, self._answers)
        batch.fault(self._check, ~is_answer, "answers: not in covr/vocab.json", answers)
        wanted = np.arange(batch.first, batch.first + len(batch))
        batch.fault(self._check, numbers != wanted, "orig_idxs is not the row's number", numbers)

    def _check_tokens(self, batch: Batch) -> None:
        for name, rows in (("questions", batch.questions), ("programs", batch.programs)):
            ends, broken, more = ends_of(rows)
            problem = f"{name}: not <START> tokens <END>, then 0"
            batch.fault(self._check, broken | more, problem, rows)
            lengths = batch.columns[f"{name[:-1]}_lengths"]
            wrong = ~broken & (lengths != ends + 1)
            batch.fault(self._check, wrong, f"{name[:-1]}_lengths is not where <END> is", lengths)
            unknown = ((rows < 0) | (rows > self._last[name])).any(axis=1)
            batch.fault(self._check, unknown, f"{name}: tokens that are not in covr/vocab.json", rows)

    def _check_images(self, batch: Batch, pool: PoolScenes) -> None:
        images = batch.columns["image_idxs"]
        batch.fault(self._check, ~batch.is_set, "image_idxs: not different scenes, then -1", images)
        wrong = batch.is_set & batch.is_missing.any(axis=1)
        batch.fault(self._check, wrong, f"image_idxs: scenes that the files of {pool.name} lack", images)
        n_objects = objects_of(batch, pool).sum(axis=1)
        problem = f"more than {MOST_OBJECTS} objects in its images"
        batch.fault(self._check, n_objects > MOST_OBJECTS, problem, n_objects)

    def _check_pairs(self, batch: Batch) -> None:
        n = len(batch) // 2 * 2
        second = np.zeros(len(batch), dtype=np.bool_)
        for what, rows in (("text", batch.questions), ("program", batch.programs)):
            differ = second.copy()
            differ[1:n:2] = (rows[0:n:2] != rows[1:n:2]).any(axis=1)
            places = np.arange(batch.first, batch.first + len(batch))
            batch.fault(self._check, differ, f"not the {what} of the question before it, its pair", places)
        answers, same = batch.columns["answers"], second.copy()
        same[1:n:2] = answers[0:n:2] == answers[1:n:2]
        batch.fault(self._check, same, "the answer of the question before it, its pair", answers)

    def _compare(self, batch: Batch, pool: PoolScenes) -> npt.NDArray[np.int64]:
        phrasings = np.full(len(batch), -1, dtype=np.int64)
        if not self.has_json:
            return phrasings
        rows = [row for _, row in islice(self._rows, len(batch))]
        if len(rows) < len(batch):
            self._check.fault(self._file, batch.first + len(rows), "fewer questions than in HDF5", len(rows))
        encoded = self._encode(rows, batch.first)
        for name, there, wanted in _columns_of(batch, encoded, len(rows)):
            differ = (there != wanted).reshape(len(rows), -1).any(axis=1)
            wrong = np.zeros(len(batch), dtype=np.bool_)
            wrong[: len(rows)] = differ
            batch.fault(self._check, wrong, f"{name}: not as in JSON, but", there)
        numbers, places = encoded.numbers, batch.rows[: len(rows)]
        named = encoded.are_named(pool.native, places) | (places[:, 0] < 0)
        for k in np.flatnonzero(~named).tolist():
            problem = f"image_filenames are not those of the scenes in {pool.name}"
            self._check.fault(self._file, batch.first + k, problem, batch.columns["image_idxs"][k].tolist())
        for k in np.flatnonzero(numbers[:, 5] != 0).tolist():
            self._check.fault(self._file, batch.first + k, "names another split than", self._split.name)
        phrasings[: len(rows)] = numbers[:, 4]
        return phrasings

    def _encode(self, rows: Sequence[bytes], first: int) -> AuditSetRows:
        try:
            return self._reader.encode(rows, self._split.name, self._arrays.templates, STRUCTURES)
        except ValueError as error:
            batch = f"in the {len(rows)} questions from {first} on"
            raise DatasetError(f"{self._split.json}: {batch}: {error}") from error


def _columns_of(
    batch: Batch, encoded: AuditSetRows, n: int
) -> Iterator[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]:
    """Name, values in HDF5 and values in JSON for each column, over the first n rows."""
    words, word_lengths = encoded.questions(batch.questions.shape[1])
    steps, step_lengths = encoded.programs(batch.programs.shape[1])
    yield "questions", batch.questions[:n], words
    yield "programs", batch.programs[:n], steps
    columns = {name: column[:n] for name, column in batch.columns.items()}
    yield "question_lengths", columns["question_lengths"], word_lengths
    yield "program_lengths", columns["program_lengths"], step_lengths
    yield "answers", columns["answers"], encoded.answers
    yield "image_idxs", columns["image_idxs"], encoded.image_idxs
    numbers = encoded.numbers
    yield "number of images", batch.there[:n].sum(axis=1), numbers[:, 0]
    for place, name in ((1, "sources"), (2, "question_families"), (3, "structures"), (6, "orig_idxs")):
        yield name, columns[name], numbers[:, place]


def objects_of(batch: Batch, pool: PoolScenes) -> npt.NDArray[np.int64]:
    """(N, 5) the number of objects in each image of each row; 0 if the image or its scene is missing."""
    n_objects = np.append(pool.native.n_objects, 0)  # the last entry is for MISSING
    of_images: npt.NDArray[np.int64] = n_objects[batch.rows].astype(np.int64)
    return of_images
