"""A split's question file in JSON and its arrays in, where the two say different things out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from clevrhope.audit.leaks.report import Found, Kind
from clevrhope.dataset.native_reader import EncodedRows, QuestionReader
from clevrhope.dataset.scene_files import MISSING, PoolScenes
from clevrhope.dataset.split_files import Question, SplitArrays, parse_question, prefix, read_question_rows
from clevrhope.errors import DatasetError

T = TypeVar("T")

ROWS_AT_ONCE = 8_192
"""Rows of a question file compared with their arrays in one go."""


class JsonBesideArrays:
    """Holds one question file against the HDF5 file of the same split."""

    def __init__(self, reader: QuestionReader, json_file: Path, root: Path, h5: str, found: Found) -> None:
        """`h5` is the HDF5 file's path below the folder `root`; what differs goes into `found`."""
        self._reader = reader
        self._json = json_file
        self._json_name, self._h5_name = json_file.relative_to(root).as_posix(), h5
        self._found = found

    def compare(self, arrays: SplitArrays, pool: PoolScenes) -> None:
        """Compares each row with its arrays, and its image's name with its scene's.

        Raises:
            DatasetError: a row that is no question.
        """
        n_questions = 0
        for rows in _batches(read_question_rows(self._json), ROWS_AT_ONCE):
            batch = _Batch(self._json, n_questions, rows)
            said = self._say(batch, arrays)
            self._check_filenames(batch, said, pool)
            self._check_rows(arrays, batch, said)
            n_questions += len(rows)
        if len(arrays) != n_questions:
            problem = f"has {n_questions} questions, the HDF5 file another number"
            self._found.add(Kind.DISAGREEMENT, self._json_name, None, problem, len(arrays))

    def _say(self, batch: "_Batch", arrays: SplitArrays) -> EncodedRows:
        """What a batch of JSON's rows says, in the arrays' widths."""
        widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]
        try:
            return self._reader.encode([row for _, row in batch.rows], batch.first, *widths)
        except ValueError as error:
            for k in range(len(batch.rows)):
                batch.question(k)  # says which row it is, and why it is no question
            raise DatasetError(f"{batch.path}: {error}") from error

    def _check_filenames(self, batch: "_Batch", said: EncodedRows, pool: PoolScenes) -> None:
        rows = pool.rows(said.columns["image_idxs"]).tolist()
        for k, (row, filename) in enumerate(zip(rows, said.filenames, strict=True)):
            if row != MISSING and filename != pool.filenames[row]:
                problem = f"names another image than its scene, {pool.filenames[row]}"
                self._found.add(Kind.DISAGREEMENT, self._json_name, batch.first + k, problem, filename)

    def _check_rows(self, arrays: SplitArrays, batch: "_Batch", said: EncodedRows) -> None:
        """Compares a batch of JSON's questions with the arrays' rows."""
        first, n = batch.first, len(batch.rows)
        for name, expected in said.columns.items():
            there = arrays.columns[name][first : first + n]
            for k in np.flatnonzero(there != expected[: len(there)]).tolist():
                self._found.add(
                    Kind.DISAGREEMENT,
                    self._h5_name,
                    first + k,
                    f"{name} is not {expected[k]}, as JSON has it",
                    there[k],
                )
        for name, rows in said.wide.items():
            tokens = arrays.tokens(name, first, n)
            for k in np.flatnonzero((tokens != rows[: len(tokens)]).any(axis=1)).tolist():
                question = batch.question(k)
                words = question.text if name == "questions" else " ".join(prefix(question.steps))
                self._found.add(
                    Kind.DISAGREEMENT,
                    self._h5_name,
                    first + k,
                    f"{name} does not decode to what JSON has",
                    words,
                )


@dataclass(frozen=True)
class _Batch:
    """Some rows of a question file; one is parsed only where something is to be said of it."""

    path: Path
    first: int
    """The number of the first."""
    rows: Sequence[tuple[int, bytes]]

    def question(self, k: int) -> Question:
        """The k-th of them; a DatasetError says why it is none."""
        return parse_question(self.path, self.first + k, *self.rows[k])


def _batches(rows: Iterator[T], n: int) -> Iterator[list[T]]:
    while batch := list(islice(rows, n)):
        yield batch
