"""Arrays of a split in, those that say nothing of a question but must fit the rest of the file out.

Lengths, padding, the order of rows, needed relations and the file's attributes are no part of what a question
means, so no check that reads questions notices them. Question files in JSON would tell, but they may have
been left out.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Tally
from clevrhope.dataset.native_reader import UNDETERMINED, Ints, QuestionReader, vocabulary_of
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays
from clevrhope.splits.kinds import SPLITS

_LENGTHS = {"questions": "question_lengths", "programs": "program_lengths"}
"""Rows of tokens -> how many of them a row has, <START> and <END> among them."""

START, END = 1, 2
"""Numbers of the marks around words and functions, in every vocabulary of CLEVR's kind; 0 is no token."""

PREFIXES = (25_000, 200_000)
"""Sizes of the smaller train sets of CLEVR-HOPE, each the first so many questions of a larger one."""

RELATION = "relate["
"""Begins the functions that `relation_needed` tells of, one after the other."""


class ColumnCheck:
    """Looks at the arrays of split after split."""

    def __init__(self, folder: AuditFolder) -> None:
        self.tally = Tally(
            "arrays",
            "rows of tokens end where their lengths say, with nothing behind; `relation_needed` says of each "
            "relation whether the program without it has another answer; rows are numbered in order; files "
            "name their own pair and split, and train sets their prefixes",
            "questions",
        )
        # What is held out does not matter to which relations are needed.
        self._reader = QuestionReader(folder.vocab, (), {}, vocabulary_of(folder.vocab))
        functions = folder.vocab.functions
        relates = [number for name, number in functions.items() if name.startswith(RELATION)]
        self._is_relation = np.zeros(1 + max(functions.values(), default=0), dtype=np.bool_)
        self._is_relation[relates] = True

    def look_at_file(self, split: SplitPlace, arrays: SplitArrays) -> None:
        """A split's attributes, and what numbers its rows."""
        for name, wanted in (("hop", split.hop.name), ("split", split.name)):
            there = arrays.attributes.get(name)
            if there != wanted:
                self.tally.fault(split.file, None, f"attribute {name} is not {wanted}", there)
        self._prefixes(split, arrays)
        numbers = arrays.columns["orig_idxs"]
        for k in np.flatnonzero(numbers != np.arange(len(numbers))).tolist():
            self.tally.fault(split.file, k, "orig_idxs is not the row's number", numbers[k])

    def _prefixes(self, split: SplitPlace, arrays: SplitArrays) -> None:
        """A train set names the smaller ones that it begins with, and no other split any."""
        wanted = [n for n in PREFIXES if n < len(arrays)] if SPLITS[split.name].role == "train" else []
        there = np.asarray(arrays.attributes.get("prefixes", [])).tolist()
        if there != wanted:
            named = ", ".join(map(str, wanted)) or "nothing"
            self.tally.fault(split.file, None, f"attribute prefixes is not {named}", there)

    def look_at_rows(
        self,
        split: SplitPlace,
        arrays: SplitArrays,
        first: int,
        wide: Mapping[str, Ints],
        pool: PoolScenes,
        scenes: Rows,
    ) -> None:
        """Some rows' `questions` (N, Q) and `programs` (N, P), from number `first` on.

        `scenes` (N,) are their scenes' places in `pool`.
        """
        n = len(wide["programs"])
        self.tally.n_checked += n
        for name, rows in wide.items():
            lengths = arrays.columns[_LENGTHS[name]][first : first + n]
            ends, broken, padded = ends_of(rows)
            for k in np.flatnonzero(broken).tolist():
                problem = f"{name}: not <START>, tokens and <END>"
                self.tally.fault(split.file, first + k, problem, rows[k].tolist())
            for k in np.flatnonzero(~broken & padded).tolist():
                problem = f"{name}: tokens behind <END>"
                self.tally.fault(split.file, first + k, problem, rows[k, ends[k] + 1 :].tolist())
            for k in np.flatnonzero(~broken & (lengths != ends + 1)).tolist():
                problem = f"{_LENGTHS[name]} is not {ends[k] + 1}, as <END> has it"
                self.tally.fault(split.file, first + k, problem, lengths[k])
        needed = arrays.tokens("relation_needed", first, n)
        formed = self._relations(split, first, wide["programs"], needed)
        found = self._reader.relations_needed(wide["programs"], pool.native, scenes, needed.shape[1])
        wrong = formed & (found != UNDETERMINED).all(axis=1) & (found != needed).any(axis=1)
        for k in np.flatnonzero(wrong).tolist():
            problem = (
                f"relation_needed is not {found[k].tolist()}, as the program without each relation has it"
            )
            self.tally.fault(split.file, first + k, problem, needed[k].tolist())

    def _relations(
        self, split: SplitPlace, first: int, programs: Ints, needed: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_]:
        """(N,) whether `needed` (N, R) is 0 or 1 for each relation of a program (N, P), and -1 behind."""
        # A number that no function has is told of where programs are executed.
        n_relations = np.count_nonzero(np.take(self._is_relation, programs, mode="clip"), axis=1)
        has = np.arange(needed.shape[1]) < n_relations[:, None]  # (N, R)
        wrong = np.where(has, (needed != 0) & (needed != 1), needed != -1).any(axis=1)
        for k in np.flatnonzero(wrong).tolist():
            problem = f"relation_needed is not 0 or 1 for each of {n_relations[k]} relations and -1 behind"
            self.tally.fault(split.file, first + k, problem, needed[k].tolist())
        formed: npt.NDArray[np.bool_] = ~wrong
        return formed


def ends_of(
    rows: Ints,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Of rows of tokens (N, W), each (N,): where <END> is, if they are none, if more follows."""
    is_end = rows == END
    ends = is_end.argmax(axis=1)
    places = np.arange(rows.shape[1], dtype=np.int16)  # narrow: of 20 million rows this takes most time
    behind = places > ends[:, None].astype(np.int16)  # (N, W)
    filled = rows != 0
    broken = (rows[:, 0] != START) | (rows[np.arange(len(rows)), ends] != END)
    more = np.zeros_like(broken)
    again = rows[:, 1:] == START
    if again.any():
        broken |= again.any(axis=1)
    if (filled == behind).any():
        broken |= ~(filled | behind).all(axis=1)
        more = (filled & behind).any(axis=1)
    return ends, broken, more
