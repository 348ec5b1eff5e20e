"""The check of the arrays that are not part of a question's meaning, but must fit the rest of the file.

These are lengths, padding, the order of rows, needed relations, the file's attributes, and the ranges in the
row of its kind of questions. The checks that read questions would not notice a fault in them. Question files
in JSON would show it, but a dataset may have none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.question_files import QuestionFile
from clevrhope.audit.report import Found, where
from clevrhope.dataset.native_reader import NO_SCENE, UNDETERMINED, WHY, Ints, question_reader, vocabulary_of
from clevrhope.dataset.question_kinds import SETS, SINGLE
from clevrhope.dataset.scene_files import PoolScenes, Rows
from clevrhope.dataset.split_files import SplitArrays, Vocab
from clevrhope.splits.kinds import SPLITS

START, END = 1, 2
"""Numbers of <START> and <END> in every vocabulary in CLEVR's form; 0 is padding."""

PREFIXES = (25_000, 200_000)
"""Sizes of the smaller train sets of CLEVR-HOPE, each of which is a prefix of the larger ones."""

RELATION = "relate["
"""Prefix of the functions for which `relation_needed` has a column, in order."""


class ColumnCheck:
    """The check of the arrays, split by split."""

    def __init__(self, vocab: Vocab) -> None:
        """Takes the files' vocabulary."""
        # Which relations are needed does not depend on the held-out pair.
        self._reader = question_reader(vocab, (), {}, vocabulary_of(vocab))
        functions = vocab.functions
        relates = [number for name, number in functions.items() if name.startswith(RELATION)]
        self._is_relation = np.zeros(1 + max(functions.values(), default=0), dtype=np.bool_)
        self._is_relation[relates] = True

    def of_file(self, file: QuestionFile[SplitArrays], arrays: SplitArrays) -> Iterator[Found]:
        """Faults of a file's attributes and of its numbers."""
        wanted: dict[str, object] = {"hop": file.hop.name, "split": file.name}
        if file.kind is SINGLE:
            is_train = SPLITS[file.name].role == "train"
            wanted["prefixes"] = [n for n in PREFIXES if n < len(arrays)] if is_train else []
        yield from of_attributes(arrays, wanted)
        yield from of_ranges(arrays)

    def of_rows(
        self, arrays: SplitArrays, first: int, wide: Mapping[str, Ints], pool: PoolScenes, scenes: Rows
    ) -> Iterator[Found]:
        """Faults of rows of `questions` (N, Q) and `programs` (N, P), starting at row `first` of the file.

        `scenes` (N,) are the rows of their scenes in `pool`.
        """
        programs, n = wide["programs"], len(wide["programs"])
        for name, rows in wide.items():
            yield from of_tokens(name, rows, arrays.columns[f"{name[:-1]}_lengths"][first : first + n], first)
        if "relation_needed" not in arrays.kind.columns:
            return
        needed = arrays.tokens("relation_needed", first, n)
        # The check that executes programs reports numbers that do not belong to any function.
        n_relations = np.count_nonzero(np.take(self._is_relation, programs, mode="clip"), axis=1)
        has = np.arange(needed.shape[1]) < n_relations[:, None]  # (N, R)
        malformed = np.where(has, (needed != 0) & (needed != 1), needed != -1).any(axis=1)
        found = self._reader.relations_needed(programs, pool.native, scenes, needed.shape[1])
        wrong = ~malformed & (found != UNDETERMINED).all(axis=1) & (found != needed).any(axis=1)
        for flags, problem, wanted in (
            (malformed, "relation_needed is not 0 or 1 for each of {} relations, then -1", n_relations),
            (wrong, "relation_needed is not {}, by the program without each relation", found),
        ):
            for k in np.flatnonzero(flags).tolist():
                yield first + k, problem.format(wanted[k].tolist()), needed[k].tolist()


def of_attributes(arrays: SplitArrays, wanted: Mapping[str, object]) -> Iterator[Found]:
    """Faults of a file whose attributes are to have these values."""
    for name, value in wanted.items():
        stored = np.asarray(arrays.attributes.get(name, [])).tolist()
        if stored != value:
            yield None, f"attribute {name} is not {value}", stored


def of_ranges(arrays: SplitArrays) -> Iterator[Found]:
    """Faults of numbers that are not in the range that the kind's row gives, or not the row's own."""
    for name, column in arrays.kind.columns.items():
        if column.row or column.check or name not in arrays.columns:
            continue  # other checks read rows of tokens and images
        limit = len(arrays.attributes.get(column.names, ())) if column.names else column.limit
        numbers = arrays.columns[name]
        is_wrong = (numbers < column.least) | (numbers >= limit)
        yield from where(is_wrong, f"{name} is not one of {column.least} to {limit - 1}", numbers)
    if arrays.kind in (SINGLE, SETS):
        numbers = arrays.columns["orig_idxs"]
        yield from where(numbers != np.arange(len(numbers)), "orig_idxs is not the row's number", numbers)


def of_vocabulary(vocab: Vocab, dataset: Vocab) -> Iterator[Found]:
    """Faults of a vocabulary that is to have all tokens of the dataset's, with the same numbers."""
    for part in ("words", "functions", "answers"):
        numbers: Mapping[str, int] = getattr(vocab, part)
        for token, number in getattr(dataset, part).items():
            if numbers.get(token) != number:
                yield None, f"{part}: {token} is not {number}, as in vocab.json", numbers.get(token)
        if len(set(numbers.values())) != len(numbers):
            yield None, "two tokens share a number", part


def wrong_answers(
    given: Ints, stored: npt.NDArray[Any], names: Mapping[int, str], first: int = 0
) -> Iterator[Found]:
    """Faults of answers in a file (N,), where programs give others (N,), or codes in place of answers.

    `names` are those of answers by number; `first` is the number of the first row.
    """
    for k in np.flatnonzero((given != stored) & (given != NO_SCENE)).tolist():
        answer, wanted = int(given[k]), int(stored[k])
        problem = f"its program gives {names.get(answer)}, not the answer"
        if answer in WHY:
            problem = f"its program has no answer ({WHY[answer]})"
        yield first + k, problem, names.get(wanted, wanted)


def of_tokens(name: str, rows: Ints, lengths: npt.NDArray[Any], first: int) -> Iterator[Found]:
    """Faults of rows of tokens (N, W) with these lengths (N,), from row `first` of their file on."""
    ends, broken, padded = ends_of(rows)
    length = f"{name[:-1]}_lengths is not where <END> is"
    for flags, problem, values in (
        (broken, f"{name}: not of the form <START> tokens <END>", rows),
        (~broken & padded, f"{name}: tokens after <END>", rows),
        (~broken & (lengths != ends + 1), length, lengths),
    ):
        yield from where(flags, problem, values, rows=lambda k: first + k)


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
