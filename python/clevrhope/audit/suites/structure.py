"""Rules of the structure of pairs: each is a question of the split, and one that a test makes from it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.audit.checks.questions import of_attributes, of_ranges
from clevrhope.audit.report import Found, where
from clevrhope.audit.suites.pairs import Flags, SuitePairs, named
from clevrhope.dataset.question_kinds import SETS, TIERS
from clevrhope.dataset.scene_files import Rows
from clevrhope.dataset.split_files import AddedPairs, SplitArrays

_OF_A_PAIR = ("test", "tier", "cell", "touches", "relation", "value", "image_idxs")
"""Columns in which the two rows of a pair are equal."""

_NUMBERS = ("answers", "image_idxs", "question_families", "question_lengths", "program_lengths")
_OF_A_QUESTION: Mapping[str, int | None] = {
    **dict.fromkeys(_NUMBERS),
    **{"questions": 0, "programs": 0, "relation_needed": -1},
}
"""Arrays of a question, with the padding of those of tokens."""

BLOCK = 10
"""Number of train questions before each added one."""


def attributes(pairs: SuitePairs) -> Iterator[Found]:
    """A file names its place in the dataset and its tests."""
    place = pairs.place
    arrays = pairs.arrays
    names = {"hop": place.hop.name, "split": place.name, "pool": pairs.pool.name, "suite": place.suite}
    yield from of_attributes(arrays, names)
    if len(arrays.types) != len(arrays.tests):
        yield None, f"not a type for each of {len(arrays.tests)} tests", arrays.types
    if pairs.source is not None:
        wanted = [(name, rules.kind, rules.control_of) for name, rules in pairs.source.tests.items()]
        stated = list(zip(arrays.tests, arrays.types, arrays.controls, strict=False))
        for k, (wanted_test, stated_test) in enumerate(zip(wanted, stated, strict=False)):
            if wanted_test != stated_test:
                yield None, f"test {k} is not {' '.join(wanted_test)}", " ".join(stated_test)
        if len(wanted) != len(stated):
            yield None, f"not {len(wanted)} tests, as in the suite's files", len(stated)


def structure(pairs: SuitePairs) -> Iterator[Found]:
    """Numbers, roles and sides of pairs."""
    arrays = pairs.arrays
    if len(arrays) != 2 * pairs.n:
        yield len(arrays) - 1, "not two rows per pair", f"{len(arrays)} rows"
    for name, expected in (("pair_idxs", np.arange(pairs.n)[:, None]), ("role", np.asarray([[0, 1]]))):
        stored = pairs.both(name)
        yield from where((stored != expected).ravel(), f"{name} is not that of the row", stored.ravel())
    # Pairs of a pool of their own differ in their images, and `of_sets` compares sets.
    left_out = {"image_idxs"} if pairs.place.own_pool or arrays.kind.of_sets else set()
    for name in [name for name in _OF_A_PAIR if name in arrays.columns.keys() - left_out]:
        stored = pairs.both(name)
        yield from pairs.at_pairs(stored[:, 0] != stored[:, 1], f"{name} differs within the pair", stored)
    problem = "orig_idxs is not the row of one question of the split, and -1 for the other question"
    without = (pairs.originals < 0) & ~pairs.searched
    yield from pairs.at_pairs(without, problem, pairs.both("orig_idxs"))
    yield from of_ranges(arrays)


def order(pairs: SuitePairs) -> Iterator[Found]:
    """Pairs are sorted by test and original, and only groups and paraphrases repeat an original.

    If the suite's files are unknown, the pairs of an original have to ask for different values.
    """
    tests, values = (pairs.of_pair(name).astype(np.int64) for name in ("test", "value"))
    last = 1 + pairs.originals.max(initial=0)
    # Pairs whose originals were searched for follow the pairs of the split's own questions.
    beyond = last + np.arange(pairs.n)
    ranks = tests * (last + 1 + pairs.n) + np.where(pairs.searched, beyond, pairs.originals)

    def may_repeat(k: int) -> bool:
        """Whether pair k may have the original of the pair before it."""
        rules = pairs.source.tests.get(pairs.test(tests[k])) if pairs.source else None
        if rules is not None:
            return rules.has_groups
        return bool(values[k] != values[k - 1]) or pairs.arrays.is_paraphrased

    for k in (1 + np.flatnonzero(np.diff(ranks) <= 0)).tolist():
        if ranks[k] < ranks[k - 1] or not may_repeat(k):
            problem = "not in the order of tests and originals, each original once for a test"
            yield 2 * k, problem, f"test {tests[k]}, original {pairs.originals[k]}"


def originals(pairs: SuitePairs) -> Iterator[Found]:
    """Each original is its row in the split's file, in every array."""
    split = pairs.split
    beyond = (pairs.originals >= 0) & ~pairs.sound
    problem = f"orig_idxs is beyond the {len(split)} questions of the split"
    yield from where(beyond, problem, pairs.originals, pairs.given)
    given, rows = pairs.given[pairs.sound], pairs.originals[pairs.sound]
    for name, padding in _OF_A_QUESTION.items():
        if name == "image_idxs" and pairs.place.own_pool:
            continue  # the suite's pools number their images themselves; `check_visual` checks them
        stored = (pairs.arrays.columns[name] if padding is None else pairs.tokens(name))[given]
        differs = differing(stored, _of_split(split, name)[rows], padding)
        for k in np.flatnonzero(differs).tolist():
            yield int(given[k]), f"{name} is not that of row {rows[k]} of the split", stored[k].tolist()


def of_sets(pairs: SuitePairs) -> Iterator[Found]:
    """Of sets of images, both questions of a pair are the split's, but for the words of the partner."""
    rows = pairs.originals[pairs.sound]
    for name, column in SETS.columns.items():
        is_wide = bool(column.row) and name != "image_idxs"
        mine, theirs = (
            arrays.tokens(name, 0, len(arrays)) if is_wide else arrays.columns[name]
            for arrays in (pairs.arrays, pairs.split)
        )
        for of, is_made in ((pairs.given[pairs.sound], False), (pairs.made[pairs.sound], True)):
            if name == "orig_idxs" or (is_made and name in ("questions", "question_lengths")):
                continue
            differs = differing(mine[of], theirs[rows], 0 if column.row else None)
            yield from where(differs, f"{name} is not that of its row of the split", mine[of], of)


def _of_split(split: SplitArrays, name: str) -> npt.NDArray[Any]:
    """All rows of an array of a split's file."""
    return split.tokens(name, 0, len(split)) if _OF_A_QUESTION[name] is not None else split.columns[name]


def differing(mine: npt.NDArray[Any], theirs: npt.NDArray[Any], padding: int | None = 0) -> Flags:
    """(N,) whether rows of two arrays differ, (N,) each, or (N, W) and (N, V) beside their padding."""
    if padding is None:
        return np.asarray(mine != theirs)
    width = max(mine.shape[1], theirs.shape[1])
    padded = [
        np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=padding) for rows in (mine, theirs)
    ]
    return np.asarray((padded[0] != padded[1]).any(axis=1))


def rules(pairs: SuitePairs) -> Iterator[Found]:
    """Tiers, sides and families of sound pairs are those of the suite's own files."""
    if pairs.source is None:
        return
    families = pairs.arrays.columns["question_families"]
    tests, relations, tiers = (pairs.of_pair(name) for name in ("test", "relation", "tier"))
    for number, (name, of_test) in enumerate(pairs.source.tests.items()):
        is_of_test: Flags = (pairs.sound | pairs.searched) & (tests == number)
        other_tier = is_of_test & (tiers != TIERS.index(of_test.tier))
        yield from pairs.at_pairs(other_tier, f"tier is not that of {name}, {of_test.tier}", tiers)
        if not of_test.swaps:
            problem = f"the split's question is the partner, though no coin decides it in {name}"
            yield from pairs.at_pairs(is_of_test & pairs.swapped, problem, pairs.originals)
        for k in np.flatnonzero(is_of_test).tolist():
            given, made = int(families[pairs.given[k]]), int(families[pairs.made[k]])
            known = of_test.relations.get((given, made))
            if known is None and pairs.searched[k] and of_test.swaps:
                known = of_test.relations.get((made, given))
            if known is None:
                problem = f"{name} makes no question of this family of one of family {given}"
                yield int(pairs.made[k]), problem, made
            elif relations[k] not in known:
                problem = f"relation is not one of {sorted(known)}, as {name} has it for these families"
                yield 2 * k, problem, relations[k]


def searched(pairs: SuitePairs) -> Iterator[Found]:
    """Pairs whose originals were searched for are on images of the split, and each asks something new."""
    images = pairs.of_pair("image_idxs")
    tests = pairs.of_pair("test")
    elsewhere = pairs.searched & ~np.isin(images, pairs.split.used)
    problem = "its original was searched for on an image that the split has no question about"
    yield from pairs.at_pairs(elsewhere, problem, images)
    rows = np.flatnonzero(pairs.searched)
    if not len(rows):
        return
    seen: set[tuple[int, int, frozenset[bytes]]] = set()
    programs = pairs.tokens("programs")
    # Pairs of the split's own questions come first; two of these may ask the same.
    of_same_tests = np.isin(tests, np.unique(tests[rows]))
    for k in (*np.flatnonzero(~pairs.searched & of_same_tests).tolist(), *rows.tolist()):
        both = frozenset(programs[row].tobytes() for row in (2 * k, 2 * k + 1))
        asked = (int(tests[k]), int(images[k]), both)
        if asked in seen and pairs.searched[k]:
            yield 2 * k, "an earlier pair of the test asks the same of the image", k
        seen.add(asked)


def quotas(pairs: SuitePairs) -> Iterator[Found]:
    """No search continued in a cell that was full.

    A group was searched for in the last cell in which it has a pair. A control is added along with its pair,
    whatever its cell has.
    """
    tests, cells, controls = pairs.of_pair("test"), pairs.of_pair("cell"), pairs.arrays.controls
    per_cell = int(pairs.arrays.attributes.get("per_cell", 0))
    groups = np.stack([tests.astype(np.int64), pairs.numbers])  # (2, K)
    _, group, sizes = np.unique(groups, axis=1, return_inverse=True, return_counts=True)  # (K,), (G,)
    last_cells = np.zeros(len(sizes), dtype=cells.dtype)
    np.maximum.at(last_cells, group, cells)
    was_wanted = pairs.searched & (cells == last_cells[group])
    for test, cell in np.unique(np.stack([tests[was_wanted], cells[was_wanted]]), axis=1).T.tolist():
        if named(controls, test, " ").strip():
            continue
        is_of_test = tests == test
        n_pairs = int(np.count_nonzero(is_of_test & (cells == cell) & (was_wanted | ~pairs.searched)))
        # If yes and no are balanced, pairs are added two at a time.
        at_once = max(2, sizes[group[is_of_test & pairs.searched]].max())
        if n_pairs >= per_cell + at_once:
            problem = f"a cell of {pairs.test(test)} has {n_pairs} pairs after a search for {per_cell}"
            yield None, problem, f"{cell:02b}"


def added(pairs: SuitePairs) -> Iterator[Found]:
    """A train set has its own questions as `train` has them, and after every ten of them an added one.

    Rows are those of the whole file.
    """
    arrays = pairs.arrays
    assert isinstance(arrays, AddedPairs)
    columns = arrays.whole
    n = len(columns["answers"])
    pairs.counted["added questions"] += n
    is_own = columns["test"] < 0
    problem = f"not {BLOCK} questions of the train set, then one of the suite"
    sides = np.where(is_own, "one of the train set", "one of the suite")
    yield from where(is_own != (np.arange(n) % (BLOCK + 1) < BLOCK), problem, sides)
    numbers = columns["orig_idxs"]
    yield from where(numbers != np.arange(n), "orig_idxs is not the row's number", numbers)
    before: Rows = np.cumsum(is_own) - is_own
    yield from _own(arrays, pairs.split, is_own, before)
    paired = np.setdiff1d(np.flatnonzero(~is_own), arrays.rows[arrays.lone])
    yield from _partners(columns, paired, before)


def _own(arrays: AddedPairs, split: SplitArrays, is_own: Flags, before: Rows) -> Iterator[Found]:
    """Questions in `is_own` (N,) are as `train` has them, where their rows are `before` (N,)."""
    columns, sources = arrays.whole, arrays.whole["source_idxs"]
    problem = "source_idxs is not the question's row in the train set"
    yield from where(is_own & (sources != before), problem, sources)
    for name in ("tier", "relation", "value"):
        problem = f"{name} is not -1, as of a question of the train set"
        yield from where(is_own & (columns[name] != -1), problem, columns[name])
    own = np.flatnonzero(is_own)[: len(split)]
    for name, padding in _OF_A_QUESTION.items():
        stored = (columns[name] if padding is None else arrays.whole_tokens(name))[own]
        differs = differing(stored, _of_split(split, name)[: len(own)], padding)
        yield from where(differs, f"{name} is not that of the question's row of train", stored, own)


def _partners(columns: Mapping[str, Any], rows: Rows, before: Rows) -> Iterator[Found]:
    """Added questions in `rows` are of one of the train questions `before` (N,), each once for a test."""
    sources = columns["source_idxs"][rows]
    problem = "source_idxs is not the row in train of a question before it"
    yield from where((sources < 0) | (sources >= before[rows]), problem, sources, rows)
    made_of = np.stack([columns["test"][rows], sources], axis=1)
    _, first = np.unique(made_of, axis=0, return_index=True)
    again = ~np.isin(np.arange(len(rows)), first)
    problem = "the same test has made a question of this original before"
    yield from where(again, problem, sources, rows)
