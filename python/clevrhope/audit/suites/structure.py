"""The check that each pair consists of a question of the split and one that a test makes from it."""

from collections.abc import Mapping

import numpy as np

from clevrhope.audit.folder import SuitePlace
from clevrhope.audit.report import Check
from clevrhope.audit.suites.sides import Flags, Sides
from clevrhope.audit.suites.source import IS, SuiteSource
from clevrhope.audit.suites.visual import VISUAL, pool_of
from clevrhope.dataset.split_files import PairArrays, SplitArrays, Vocab

RELATIONS = ("same", "flip", "is", "positive")
"""Relations by their number in files."""

TIERS = ("in", "beyond")
"""Tiers by their number in files."""

_OF_A_PAIR = ("test", "tier", "cell", "touches", "relation", "value", "image_idxs")
"""Columns in which the two rows of a pair are equal."""

_OF_A_QUESTION = (
    "answers",
    "image_idxs",
    "question_families",
    "question_lengths",
    "program_lengths",
)
_WIDE = ("questions", "programs", "relation_needed")


def check_vocabulary(place: SuitePlace, file: str, vocab: Vocab, dataset: Vocab, check: Check) -> None:
    """Checks that a suite's vocabulary has all tokens of the dataset's, with the same numbers."""
    for name in ("words", "functions", "answers"):
        there: Mapping[str, int] = getattr(vocab, name)
        for token, number in getattr(dataset, name).items():
            if there.get(token) != number:
                problem = f'"{token}" is not {number} in {place.suite}\'s {name}, as in the dataset'
                check.fault(file, None, problem, there.get(token))
        if len(set(there.values())) != len(there):
            check.fault(file, None, "two tokens share a number", name)


def check_attributes(place: SuitePlace, arrays: PairArrays, source: SuiteSource | None, check: Check) -> None:
    """Checks a file's attributes, which name its place in the dataset and its tests."""
    wanted = {"hop": place.hop.name, "split": place.name, "pool": pool_of(place), "suite": place.suite}
    for name, value in wanted.items():
        if arrays.attributes.get(name) != value:
            check.fault(place.file, None, f"attribute {name} is not {value}", arrays.attributes.get(name))
    if len(arrays.types) != len(arrays.tests):
        check.fault(place.file, None, f"not a type for each of {len(arrays.tests)} tests", arrays.types)
    if source is not None:
        tests = [(name, rules.kind, rules.control_of) for name, rules in source.tests.items()]
        there = list(zip(arrays.tests, arrays.types, arrays.controls, strict=False))
        for k, (wanted_test, found) in enumerate(zip(tests, there, strict=False)):
            if wanted_test != found:
                check.fault(place.file, None, f"test {k} is not {' '.join(wanted_test)}", " ".join(found))
        if len(tests) != len(there):
            check.fault(place.file, None, f"not {len(tests)} tests, as in the suite's files", len(there))


def check_structure(place: SuitePlace, arrays: PairArrays, sides: Sides, check: Check) -> Flags:
    """Checks the numbers, roles and sides of pairs; returns (K,) which of them have an original."""
    n = len(sides.given)
    check.n_checked += n
    if len(arrays) != 2 * n:
        check.fault(place.file, len(arrays) - 1, "not two rows per pair", f"{len(arrays)} rows")
    for name, expected in (("pair_idxs", np.arange(n)[:, None]), ("role", np.asarray([[0, 1]]))):
        there = sides.column(arrays, name)
        for k, side in np.argwhere(there != expected).tolist():
            check.fault(place.file, 2 * k + side, f"{name} is not that of the row", there[k, side])
    for name in _OF_A_PAIR:
        if name == "image_idxs" and place.suite == VISUAL:
            continue  # its pairs differ in their images
        there = sides.column(arrays, name)
        for k in np.flatnonzero(there[:, 0] != there[:, 1]).tolist():
            check.fault(place.file, 2 * k, f"{name} differs within the pair", there[k].tolist())
    numbers = sides.column(arrays, "orig_idxs")
    for k in np.flatnonzero((sides.originals < 0) & ~sides.searched).tolist():
        problem = "orig_idxs is not the row of one question of the split, and -1 for the other question"
        check.fault(place.file, 2 * k, problem, numbers[k].tolist())
    ranges = {
        "test": len(arrays.tests),
        "tier": len(TIERS),
        "cell": 4,
        "touches": 4,
        "relation": IS + 2,
    }
    for name, end in ranges.items():
        there = arrays.columns[name]
        for k in np.flatnonzero((there < 0) | (there >= end)).tolist():
            check.fault(place.file, k, f"{name} is not one of 0 to {end - 1}", there[k])
    has_original: Flags = sides.originals >= 0
    return has_original


def check_order(
    place: SuitePlace, arrays: PairArrays, sides: Sides, source: SuiteSource | None, check: Check
) -> None:
    """Checks that pairs are sorted by test and original, and that only groups repeat an original.

    If the suite's files are unknown, the pairs of an original have to ask for different values.
    """
    n = len(sides.given)
    tests, values = (arrays.columns[name][: 2 * n : 2].astype(np.int64) for name in ("test", "value"))
    last = 1 + sides.originals.max(initial=0)
    # Pairs whose originals were searched for follow the pairs of the split's own questions.
    order = tests * (last + 1 + n) + np.where(sides.searched, last + np.arange(n), sides.originals)
    for k in (1 + np.flatnonzero(np.diff(order) <= 0)).tolist():
        if order[k] == order[k - 1]:
            name = arrays.tests[tests[k]] if 0 <= tests[k] < len(arrays.tests) else ""
            rules = source.tests.get(name) if source else None
            if rules.has_groups if rules else values[k] != values[k - 1]:
                continue
        problem = "not in the order of tests and originals, each original once for a test"
        check.fault(place.file, 2 * k, problem, f"test {tests[k]}, original {sides.originals[k]}")


def check_originals(
    place: SuitePlace,
    arrays: PairArrays,
    split: SplitArrays,
    sides: Sides,
    has_original: Flags,
    check: Check,
) -> Flags:
    """Compares each original with its row in the split's file; returns (K,) which pairs have one there."""
    there = has_original & (sides.originals < len(split))
    for k in np.flatnonzero(has_original & ~there).tolist():
        problem = f"orig_idxs is beyond the {len(split)} questions of the split"
        check.fault(place.file, int(sides.given[k]), problem, sides.originals[k])
    pairs = np.flatnonzero(there)
    given, originals = sides.given[pairs], sides.originals[pairs]
    for name in _OF_A_QUESTION:
        if name == "image_idxs" and place.suite == VISUAL:
            continue  # the suite's pools number their images themselves; `check_visual` checks them
        mine, theirs = arrays.columns[name][given], split.columns[name][originals]
        for at in np.flatnonzero(mine != theirs).tolist():
            problem = f"{name} is not {theirs[at]}, as in row {originals[at]} of the split"
            check.fault(place.file, int(given[at]), problem, mine[at])
    for name in _WIDE:
        padding = -1 if name == "relation_needed" else 0
        mine = arrays.tokens(name, 0, len(arrays))[given]
        theirs = split.tokens(name, 0, len(split))[originals]
        width = max(mine.shape[1], theirs.shape[1])
        mine, theirs = (
            np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=padding)
            for rows in (mine, theirs)
        )
        for at in np.flatnonzero((mine != theirs).any(axis=1)).tolist():
            problem = f"{name} is not that of row {originals[at]} of the split"
            check.fault(place.file, int(given[at]), problem, mine[at].tolist())
    return there


def check_rules(
    place: SuitePlace, arrays: PairArrays, sides: Sides, sound: Flags, source: SuiteSource, check: Check
) -> None:
    """Checks tiers, sides and families of sound pairs against the suite's own files."""
    families = arrays.columns["question_families"]
    tests = arrays.columns["test"][::2]
    relations = arrays.columns["relation"][::2]
    tiers = arrays.columns["tier"][::2]
    for number, (name, rules) in enumerate(source.tests.items()):
        of_test = np.flatnonzero(sound & (tests[: len(sound)] == number))
        for k in of_test[tiers[of_test] != TIERS.index(rules.tier)].tolist():
            check.fault(place.file, 2 * k, f"tier is not that of {name}, {rules.tier}", tiers[k])
        if not rules.swaps:
            for k in of_test[sides.swapped[of_test]].tolist():
                problem = f"the split's question is the partner, though no coin decides it in {name}"
                check.fault(place.file, 2 * k, problem, sides.originals[k])
        cases = zip(
            families[sides.given[of_test]].tolist(),
            families[sides.made[of_test]].tolist(),
            relations[of_test].tolist(),
            strict=True,
        )
        for k, (given, made, relation) in zip(of_test.tolist(), cases, strict=True):
            known = rules.relations.get((given, made))
            if known is None and sides.searched[k] and rules.swaps:
                known = rules.relations.get((made, given))
            if known is None:
                problem = f"{name} makes no question of this family of one of family {given}"
                check.fault(place.file, int(sides.made[k]), problem, made)
            elif relation not in known:
                problem = f"relation is not one of {sorted(known)}, as {name} has it for these families"
                check.fault(place.file, 2 * k, problem, relation)


def check_searched(
    place: SuitePlace,
    arrays: PairArrays,
    split: SplitArrays,
    sides: Sides,
    source: SuiteSource | None,
    check: Check,
) -> None:
    """Checks pairs whose originals were searched for: on images of the split, each once, within quotas."""
    pairs = np.flatnonzero(sides.searched)
    images = arrays.columns["image_idxs"][2 * pairs]
    for at in np.flatnonzero(~np.isin(images, split.used)).tolist():
        problem = "its original was searched for on an image that the split has no question about"
        check.fault(place.file, 2 * int(pairs[at]), problem, images[at])
    tests = arrays.columns["test"][: 2 * len(sides.given) : 2]
    seen: set[tuple[int, int, frozenset[bytes]]] = set()
    programs = arrays.tokens("programs", 0, len(arrays)) if len(pairs) else np.zeros((0, 0), dtype=np.int32)
    # Pairs of the split's own questions come first; two of these may ask the same.
    of_same_tests = np.isin(tests, np.unique(tests[pairs]))
    for k in (*np.flatnonzero(~sides.searched & of_same_tests).tolist(), *pairs.tolist()):
        both = frozenset(programs[row].tobytes() for row in (2 * k, 2 * k + 1))
        asked = (int(tests[k]), int(arrays.columns["image_idxs"][2 * k]), both)
        if asked in seen and sides.searched[k]:
            check.fault(place.file, 2 * k, "an earlier pair of the test asks the same of the image", k)
        seen.add(asked)
    _check_quotas(place, arrays, sides, check)
    if source is None or arrays.attributes.get("origin") == "search":
        return
    families = arrays.columns["question_families"]
    for k in pairs.tolist():
        if not {int(families[2 * k]), int(families[2 * k + 1])} & source.of_originals:
            problem = (
                "its original was searched for, but is of a family of the dataset, and `origin` is not search"
            )
            check.fault(place.file, 2 * k, problem, int(families[2 * k]))


def _check_quotas(place: SuitePlace, arrays: PairArrays, sides: Sides, check: Check) -> None:
    """Checks that no search continued in a cell that was full.

    A group was searched for in the last cell in which it has a pair. A control is added along with its pair,
    whatever its cell has.
    """
    tests, cells = (arrays.columns[name][: 2 * len(sides.given) : 2] for name in ("test", "cell"))
    per_cell = int(arrays.attributes.get("per_cell", 0))
    originals = np.stack([tests.astype(np.int64), sides.numbers(arrays)])
    _, group, sizes = np.unique(originals, axis=1, return_inverse=True, return_counts=True)
    last = np.zeros(len(sizes), dtype=cells.dtype)
    np.maximum.at(last, group, cells)
    wanted = sides.searched & (cells == last[group])
    for test, cell in np.unique(np.stack([tests[wanted], cells[wanted]]), axis=1).T.tolist():
        mine = tests == test
        there = int(np.count_nonzero(mine & (cells == cell) & (wanted | ~sides.searched)))
        # If yes and no are balanced, pairs are added two at a time.
        at_once = max(2, sizes[group[mine & sides.searched]].max())
        is_control = 0 <= test < len(arrays.controls) and arrays.controls[test] != ""
        if there >= per_cell + at_once and not is_control:
            problem = f"a cell of {_named(arrays, test)} has {there} pairs after a search for {per_cell}"
            check.fault(place.file, None, problem, f"{cell:02b}")


def _named(arrays: PairArrays, test: int) -> str:
    return arrays.tests[test] if 0 <= test < len(arrays.tests) else f"test {test}"
