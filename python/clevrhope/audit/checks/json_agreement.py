"""The comparison of a split's question file in JSON with its arrays in HDF5."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from clevrhope.audit.leaks.report import Kind, Violations
from clevrhope.dataset.native_reader import EncodedRows, QuestionReader
from clevrhope.dataset.scene_files import MISSING, PoolScenes
from clevrhope.dataset.split_files import SplitArrays, parse_question, prefix, read_question_rows
from clevrhope.errors import DatasetError

ROWS_AT_ONCE = 8_192
"""Number of rows of a question file that are compared at once."""


class JsonAgreement:
    """Compares a question file with the HDF5 file of the same split."""

    def __init__(
        self,
        reader: QuestionReader,
        json_file: Path,
        root: Path,
        h5: str,
        found: Violations,
        *,
        numbered: bool = True,
    ) -> None:
        """Takes both files, and the list to which differences are added.

        `h5` is the path of the HDF5 file relative to `root`. `numbered` says whether its `orig_idxs` are the
        indices of rows in the JSON file.
        """
        self._numbered = numbered
        self._reader, self._json, self._found = reader, json_file, found
        self._json_name, self._h5_name = json_file.relative_to(root).as_posix(), h5

    def compare(self, arrays: SplitArrays, pool: PoolScenes) -> None:
        """Compares each row with its arrays, and its image's name with its scene's.

        Raises:
            DatasetError: a row is not a question.
        """
        n_questions = 0
        lines = read_question_rows(self._json)
        while rows := list(islice(lines, ROWS_AT_ONCE)):
            expected = self._expected(rows, n_questions, arrays)
            self._check_filenames(n_questions, expected, pool)
            self._check_rows(arrays, rows, n_questions, expected)
            n_questions += len(rows)
        if len(arrays) != n_questions:
            problem = f"has {n_questions} questions, but the HDF5 file has another number"
            self._found.add(Kind.DISAGREEMENT, self._json_name, None, problem, len(arrays))

    def _expected(self, rows: Sequence[tuple[int, bytes]], first: int, arrays: SplitArrays) -> EncodedRows:
        """The arrays that rows of JSON should give, padded to the width of those in HDF5."""
        widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]
        try:
            return self._reader.encode([row for _, row in rows], first, *widths)
        except ValueError as error:
            for k, row in enumerate(rows):
                parse_question(self._json, first + k, *row)  # raises an error that names the row
            raise DatasetError(f"{self._json}: {error}") from error

    def _check_filenames(self, first: int, expected: EncodedRows, pool: PoolScenes) -> None:
        rows = pool.rows(expected.columns["image_idxs"]).tolist()
        for k, (row, filename) in enumerate(zip(rows, expected.filenames, strict=True), first):
            if row != MISSING and filename != pool.filenames[row]:
                problem = f"names another image than its scene does, {pool.filenames[row]}"
                self._found.add(Kind.DISAGREEMENT, self._json_name, k, problem, filename)

    def _check_rows(
        self, arrays: SplitArrays, rows: Sequence[tuple[int, bytes]], first: int, expected: EncodedRows
    ) -> None:
        for name, column in expected.columns.items():
            if name == "orig_idxs" and not self._numbered:
                continue
            there = arrays.columns[name][first : first + len(rows)]
            for k in np.flatnonzero(there != column[: len(there)]).tolist():
                problem = f"{name} is not {column[k]}, as in JSON"
                self._found.add(Kind.DISAGREEMENT, self._h5_name, first + k, problem, there[k])
        for name, tokens in expected.wide.items():
            there = arrays.tokens(name, first, len(rows))
            for k in np.flatnonzero((there != tokens[: len(there)]).any(axis=1)).tolist():
                # Rows are parsed only here, to describe the fault.
                question, steps = parse_question(self._json, first + k, *rows[k])
                text = question if name == "questions" else " ".join(prefix(steps))
                problem = f"{name} does not decode to the text in JSON"
                self._found.add(Kind.DISAGREEMENT, self._h5_name, first + k, problem, text)
