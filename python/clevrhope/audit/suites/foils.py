"""Rules of what partners ask for if no coin decides it: crossings, their controls, groups, and cells."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from clevrhope.audit.report import Found
from clevrhope.audit.suites.pairs import Flags, Places, SuitePairs
from clevrhope.audit.suites.questions import completed
from clevrhope.audit.suites.source import SEEN, UNSEEN, SuiteSource, TestRules


def cells(pairs: SuitePairs) -> Iterator[Found]:
    """Pairs have the cells that their test takes."""
    for name, rules, rows in _tests(pairs):
        if len(rules.cells) < 4:
            pairs.counted["pair foils"] += len(rows)
            wanted = " or ".join(f"{cell:02b}" for cell in sorted(rules.cells))
            for k in rows[~np.isin(pairs.of_pair("cell")[rows], list(rules.cells))].tolist():
                yield 2 * k, f"cell is not {wanted}, as {name} wants it", pairs.of_pair("cell")[k]


def foils(pairs: SuitePairs) -> Iterator[Found]:
    """Crossings ask for the value that completes the pair, and controls beside them for another one."""
    tests = [(name, rules, rows) for name, rules, rows in _tests(pairs) if rules.foils]
    if not tests or pairs.source is None:
        return
    values, partners = pairs.of_pair("value"), pairs.arrays.columns["answers"][1::2]
    families, originals = pairs.arrays.columns["question_families"], pairs.numbers
    completes, no = completed(pairs, values), pairs.vocab.answers.get("no")
    of_test = {name: rows for name, _, rows in _tests(pairs)}
    for name, rules, rows in tests:
        pairs.counted["pair foils"] += len(rows)
        beside = set(originals[of_test.get(rules.control_of, rows[:0])].tolist())
        for k in rows.tolist():
            foil = rules.foils.get((int(families[pairs.given[k]]), int(families[pairs.made[k]])), "")
            value = pairs.vocab.answer(values[k])
            if foil == UNSEEN and not completes[k]:
                problem = "its value does not complete what is held out, with what the original says"
                yield 2 * k, problem, value
            if foil == SEEN and completes[k]:
                yield 2 * k, "its value completes what is held out, in a control", value
            if foil in (UNSEEN, SEEN) and partners[k] != no:
                yield 2 * k, "it asks for another value than the answer, but is not answered no", value
            if rules.control_of and int(originals[k]) not in beside:
                problem = f"no pair of {rules.control_of} is made of its original, beside which it stands"
                yield 2 * k, problem, pairs.originals[k]
        if rules.has_groups:
            yield from _groups(pairs, rows)
        else:
            yield from _searched(pairs, pairs.source, name, rows, of_test)


def _tests(pairs: SuitePairs) -> Iterator[tuple[str, TestRules, Places]]:
    """The tests of the suite's files, with the pairs of each."""
    for name, rules in pairs.source.tests.items() if pairs.source else ():
        number = pairs.arrays.tests.index(name) if name in pairs.arrays.tests else -1
        yield name, rules, np.flatnonzero(pairs.of_pair("test") == number)


def _searched(
    pairs: SuitePairs, source: SuiteSource, name: str, rows: Places, of_test: dict[str, Places]
) -> Iterator[Found]:
    """An original that was searched for is in one pair of a test, and has the control that it can have."""
    originals, values = pairs.numbers, pairs.of_pair("value")
    searched = rows[pairs.searched[rows]]
    _, first = np.unique(originals[searched], return_index=True)
    for k in np.delete(searched, first).tolist():
        yield 2 * k, f"an earlier pair of {name} is made of its original", values[k]
    for control, rules in source.tests.items():
        if rules.control_of == name:
            there = originals[of_test.get(control, rows[:0])]
            alone = searched[~np.isin(originals[searched], there)]
            for k in alone[_can_have(rules, pairs, alone)].tolist():
                problem = f"its original was searched for, but has no pair of {control} beside it"
                yield 2 * k, problem, values[k]


def _can_have(control: TestRules, pairs: SuitePairs, rows: Places) -> Flags:
    """Whether a control can ask for a third value, besides the answer and the one that completes the pair."""
    families = [given for (given, _), foil in control.foils.items() if foil == SEEN]
    n_values = Counter(kind for kind, _ in pairs.vocab.values())
    enough = [
        pairs.vocab.answers.get(value, -1) for kind, value in pairs.vocab.values() if n_values[kind] > 2
    ]
    given, columns = pairs.given[rows], pairs.arrays.columns
    found: Flags = np.isin(columns["question_families"][given], families)
    return found & np.isin(columns["answers"][given], enough)


def _groups(pairs: SuitePairs, rows: Places) -> Iterator[Found]:
    """Each original's pairs ask for every value of one attribute once, and one is answered yes."""
    values, answers = pairs.arrays.columns["value"], pairs.arrays.columns["answers"]
    types: dict[str, set[int]] = {}
    for kind, value in pairs.vocab.values():
        types.setdefault(kind, set()).add(pairs.vocab.answers.get(value, -1))
    types[""] = {number for name, number in pairs.vocab.answers.items() if name.isdecimal()}
    # Pairs are in the order of originals.
    starts = 1 + np.flatnonzero(np.diff(pairs.numbers[rows]))
    for group in np.split(rows, starts) if len(rows) else ():
        asked = values[2 * group].tolist()
        wanted = next((each for each in types.values() if asked and asked[0] in each), set[int]())
        first = 2 * int(group[0])
        if sorted(asked) != sorted(wanted):
            problem = f"its group does not ask once for each of {len(wanted)} values"
            yield first, problem, ", ".join(map(pairs.vocab.answer, asked))
        n_yes = int((answers[2 * group + 1] == pairs.vocab.answers.get("yes")).sum())
        if n_yes != 1:
            yield first, "not one question of its group is answered yes", n_yes
