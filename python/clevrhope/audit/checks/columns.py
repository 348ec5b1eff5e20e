"""The check of the arrays that are not part of a question's meaning, but must fit the rest of the file.

These are lengths, padding, the order of rows, needed relations and the file's attributes. The checks that
read questions would not notice a fault in them. Question files in JSON would show it, but a dataset may have
none.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import SplitPlace
from clevrhope.audit.report import Check
from clevrhope.dataset.native_reader import UNDETERMINED, Ints, QuestionReader, vocabulary_of
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays, Vocab
from clevrhope.splits.kinds import SPLITS

_LENGTHS = {"questions": "question_lengths", "programs": "program_lengths"}
"""Array of tokens -> array with the lengths of its rows, which include <START> and <END>."""

START, END = 1, 2
"""Numbers of <START> and <END> in every vocabulary in CLEVR's form; 0 is padding."""

PREFIXES = (25_000, 200_000)
"""Sizes of the smaller train sets of CLEVR-HOPE, each of which is a prefix of the larger ones."""

RELATION = "relate["
"""Prefix of the functions for which `relation_needed` has a column, in order."""


class ColumnCheck:
    """The check of the arrays, split by split."""

    def __init__(self, vocab: Vocab, check: Check | None = None) -> None:
        """Takes the files' vocabulary, and the report line for faults; without it, the check has its own."""
        self.check = check or Check(
            "arrays",
            "rows of tokens are as long as their lengths say, with only padding after them; "
            "`relation_needed` says for each relation whether the program without it has another answer; "
            "rows are numbered in order; files name their own pair and split, and train sets their prefixes",
            "questions",
        )
        # Which relations are needed does not depend on the held-out pair.
        self._reader = QuestionReader(vocab, (), {}, vocabulary_of(vocab))
        functions = vocab.functions
        relates = [number for name, number in functions.items() if name.startswith(RELATION)]
        self._is_relation = np.zeros(1 + max(functions.values(), default=0), dtype=np.bool_)
        self._is_relation[relates] = True

    def look_at_file(self, split: SplitPlace, arrays: SplitArrays) -> None:
        """Checks a file's attributes and the numbers of its rows."""
        for name, wanted in (("hop", split.hop.name), ("split", split.name)):
            there = arrays.attributes.get(name)
            if there != wanted:
                self.check.fault(split.file, None, f"attribute {name} is not {wanted}", there)
        role = SPLITS[split.name].role
        prefixes = [n for n in PREFIXES if n < len(arrays)] if role == "train" else []
        there = np.asarray(arrays.attributes.get("prefixes", [])).tolist()
        if there != prefixes:
            named = ", ".join(map(str, prefixes)) or "empty"
            self.check.fault(split.file, None, f"attribute prefixes is not {named}", there)
        numbers = arrays.columns["orig_idxs"]
        for k in np.flatnonzero(numbers != np.arange(len(numbers))).tolist():
            self.check.fault(split.file, k, "orig_idxs is not the row's number", numbers[k])

    def look_at_rows(
        self,
        split: SplitPlace,
        arrays: SplitArrays,
        first: int,
        wide: Mapping[str, Ints],
        pool: PoolScenes,
        scenes: Rows,
    ) -> None:
        """Checks rows of `questions` (N, Q) and `programs` (N, P), starting at row `first` of the file.

        `scenes` (N,) are the rows of their scenes in `pool`.
        """
        n = len(wide["programs"])
        self.check.n_checked += n
        for name, rows in wide.items():
            lengths = arrays.columns[_LENGTHS[name]][first : first + n]
            ends, broken, padded = ends_of(rows)
            for k in np.flatnonzero(broken).tolist():
                problem = f"{name}: not of the form <START> tokens <END>"
                self.check.fault(split.file, first + k, problem, rows[k].tolist())
            for k in np.flatnonzero(~broken & padded).tolist():
                problem = f"{name}: tokens after <END>"
                self.check.fault(split.file, first + k, problem, rows[k, ends[k] + 1 :].tolist())
            for k in np.flatnonzero(~broken & (lengths != ends + 1)).tolist():
                problem = f"{_LENGTHS[name]} is not {ends[k] + 1}, where <END> is"
                self.check.fault(split.file, first + k, problem, lengths[k])
        needed = arrays.tokens("relation_needed", first, n)
        is_valid = self._check_form(split, first, wide["programs"], needed)
        found = self._reader.relations_needed(wide["programs"], pool.native, scenes, needed.shape[1])
        wrong = is_valid & (found != UNDETERMINED).all(axis=1) & (found != needed).any(axis=1)
        for k in np.flatnonzero(wrong).tolist():
            problem = f"relation_needed is not {found[k].tolist()}, by the program without each relation"
            self.check.fault(split.file, first + k, problem, needed[k].tolist())

    def _check_form(
        self, split: SplitPlace, first: int, programs: Ints, needed: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_]:
        """(N,) whether `needed` (N, R) is 0 or 1 for each relation of a program (N, P), and -1 after them."""
        # The check that executes programs reports numbers that do not belong to any function.
        n_relations = np.count_nonzero(np.take(self._is_relation, programs, mode="clip"), axis=1)
        has = np.arange(needed.shape[1]) < n_relations[:, None]  # (N, R)
        wrong = np.where(has, (needed != 0) & (needed != 1), needed != -1).any(axis=1)
        for k in np.flatnonzero(wrong).tolist():
            problem = f"relation_needed is not 0 or 1 for each of {n_relations[k]} relations, then -1"
            self.check.fault(split.file, first + k, problem, needed[k].tolist())
        is_valid: npt.NDArray[np.bool_] = ~wrong
        return is_valid


def ends_of(
    rows: Ints,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For token rows (N, W), each (N,): where <END> is, if the row is malformed, if tokens follow <END>."""
    is_end = rows == END
    ends = is_end.argmax(axis=1)
    places = np.arange(rows.shape[1], dtype=np.int16)  # 16 bits, because this takes most of the time
    after_end = places > ends[:, None].astype(np.int16)  # (N, W)
    filled = rows != 0
    broken = (rows[:, 0] != START) | (rows[np.arange(len(rows)), ends] != END)
    more = np.zeros_like(broken)
    again = rows[:, 1:] == START
    if again.any():
        broken |= again.any(axis=1)
    if (filled == after_end).any():
        broken |= ~(filled | after_end).all(axis=1)
        more = (filled & after_end).any(axis=1)
    return ends, broken, more
