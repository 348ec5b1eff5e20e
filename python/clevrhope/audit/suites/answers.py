"""Rules of answers and of what partners ask for.

The answers of a pair satisfy its relation, and no value gives the answer away. Where no coin decides what
partners ask for, there are crossings, their controls, and groups; and a test may take some cells alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from clevrhope.audit.report import Found
from clevrhope.audit.suites.pairs import Flags, SuitePairs
from clevrhope.audit.suites.questions import completed
from clevrhope.audit.suites.source import FLIP, IS, POSITIVE, SAME, SEEN, UNSEEN
from clevrhope.dataset.native_reader import Ints
from clevrhope.dataset.scene_files import Rows

IN_WORDS: Mapping[int, str] = {
    SAME: "the same",
    FLIP: "exchanged",
    IS: "yes exactly for the value",
    POSITIVE: "yes exactly for a number above 0",
}


def relations(pairs: SuitePairs) -> Iterator[Found]:
    """The answers of a pair go together as its relation says, about the value that its partner asks for."""
    answers, relation, values = pairs.both("answers"), pairs.of_pair("relation"), pairs.of_pair("value")
    for k in np.flatnonzero(_partners(pairs, answers[:, 0], relation, values) != answers[:, 1]).tolist():
        said = IN_WORDS.get(int(relation[k]), "none that is known")
        first, second = (pairs.vocab.answer(answer) for answer in answers[k])
        yield 2 * k, f"the answers {first} and {second} are not {said}", pairs.vocab.answer(values[k])
    is_answer = np.isin(values, list(pairs.vocab.answer_names))
    problem = "value is not an answer where the relation is `is`, and -1 elsewhere"
    yield from pairs.at_pairs(np.where(relation == IS, ~is_answer, values != -1), problem, values)
    functions = _functions(pairs)
    partners = pairs.tokens("programs")[1::2]
    for value in np.unique(values[relation == IS]).tolist():
        name = pairs.vocab.answer(value)
        asking = functions.get((pairs.kinds.get(value, ""), name), [])
        asked = np.isin(partners[: pairs.n], asking).any(axis=1)
        wrong = (relation == IS) & (values == value) & ~asked
        problem = "the partner's program does not ask for the value"
        yield from pairs.at_pairs(wrong, problem, [name] * pairs.n)


def offers(pairs: SuitePairs) -> Iterator[Found]:
    """The values that a question offers differ, and its answer is one of them."""
    answers = pairs.arrays.columns["answers"]
    programs = pairs.tokens("programs")
    has_offer, is_offered, is_twice = np.zeros((3, len(answers)), bool)
    for token, number in pairs.vocab.functions.items():
        if token.startswith("offer_"):
            n = np.count_nonzero(programs == number, axis=1)
            has_offer |= n > 0
            is_twice |= n > 1
            is_offered |= (n > 0) & (answers == pairs.answer(_argument(token)))
    for row in np.flatnonzero(has_offer & (is_twice | ~is_offered)).tolist():
        problem = "the values that it offers are not different ones, of which one is the answer"
        yield row, problem, pairs.vocab.answer(answers[row])


def _partners(pairs: SuitePairs, given: Ints, relation: Ints, values: Ints) -> npt.NDArray[np.int64]:
    """(K,) the partner's answer that follows from the original's (K,); -1 if none does."""
    yes, no = pairs.answer("yes"), pairs.answer("no")
    numbers = {number: int(name) for name, number in pairs.vocab.answers.items() if name.isdecimal()}
    positive = [number for number, n in numbers.items() if n > 0]

    def yes_if(truth: Flags) -> npt.NDArray[np.int64]:
        return np.where(truth, yes, no)

    return np.select(
        [
            relation == SAME,
            (relation == FLIP) & ((given == yes) | (given == no)),
            relation == IS,
            (relation == POSITIVE) & np.isin(given, list(numbers)),
        ],
        [given, yes_if(given == no), yes_if(given == values), yes_if(np.isin(given, positive))],
        default=-1,
    )


def _argument(token: str) -> str:
    """The value in a function's brackets; "" for none."""
    return token.rstrip("]").partition("[")[2]


def _functions(pairs: SuitePairs) -> Mapping[tuple[str, str], list[int]]:
    """Functions that take an answer as argument, by its attribute type ("" for a number) and name."""
    kinds = set(pairs.kinds.values())
    functions: dict[tuple[str, str], list[int]] = {}
    for token, number in pairs.vocab.functions.items():
        kind = token.partition("[")[0].rpartition("_")[2]
        functions.setdefault((kind if kind in kinds else "", _argument(token)), []).append(number)
    return functions


def balance(pairs: SuitePairs) -> Iterator[Found]:
    """Each value is asked for with yes as often as with no, with and without a mention in the original."""
    columns = [pairs.of_pair(name).tolist() for name in ("relation", "value", "test")]
    is_yes = (pairs.both("answers")[:, 1] == pairs.answer("yes")).tolist()
    mentions = pairs.findings.by_program[pairs.given].tolist()
    asked: Counter[tuple[str, int, bool]] = Counter()
    for relation, value, test, truth, mention in zip(*columns, is_yes, mentions, strict=True):
        name = pairs.test(test)
        rules = pairs.source.tests.get(name) if pairs.source else None
        if relation not in (IS, POSITIVE) or (rules and rules.foils):
            continue  # the rules of foils check what those ask for
        note = f"{pairs.place.file}: {name} asks for no value with both answers"
        if rules is None:  # it is unknown whether a coin decided
            note = f"{pairs.place.suite}: not checked without its files; --templates takes their folder"
        elif rules.is_balanced:
            note = ""
            asked[f"{name} of originals that mention the pair" if mention else name, value, truth] += 1
        if note:
            pairs.notes["pair balance", note] = None
    pairs.counted["pair balance"] += asked.total()
    for where, value in dict.fromkeys((where, value) for where, value, _ in asked):
        n_yes, n_no = asked[where, value, True], asked[where, value, False]
        if n_yes != n_no:
            what = "anything" if value < 0 else pairs.vocab.answer(value)
            yield None, f"{where} asks for {what} more often with one answer", f"yes {n_yes}, no {n_no} times"


def cells(pairs: SuitePairs) -> Iterator[Found]:
    """Pairs have the cells that their test takes."""
    cell = pairs.of_pair("cell")
    for name, rules, rows in pairs.tests:
        if len(rules.cells) < 4:
            pairs.counted["pair foils"] += len(rows)
            wanted = " or ".join(f"{each:02b}" for each in sorted(rules.cells))
            for k in rows[~np.isin(cell[rows], list(rules.cells))].tolist():
                yield 2 * k, f"cell is not {wanted}, as {name} wants it", cell[k]


def foils(pairs: SuitePairs) -> Iterator[Found]:
    """Crossings ask for the value that completes the pair, and controls beside them for another one."""
    tests = [test for test in pairs.tests if test[1].foils]
    if not tests:
        return
    of_test = {name: rows for name, _, rows in pairs.tests}
    values = pairs.of_pair("value")
    partners = pairs.both("answers")[:, 1]
    families = pairs.arrays.columns["question_families"]
    completes = completed(pairs, values)
    for _, rules, rows in tests:
        pairs.counted["pair foils"] += len(rows)
        beside = set(pairs.numbers[of_test.get(rules.control_of, rows[:0])].tolist())
        for k in rows.tolist():
            foil = rules.foils.get((int(families[pairs.given[k]]), int(families[pairs.made[k]])), "")
            value = pairs.vocab.answer(values[k])
            if foil == UNSEEN and not completes[k]:
                problem = "its value does not complete what is held out, with what the original says"
                yield 2 * k, problem, value
            if foil == SEEN and completes[k]:
                yield 2 * k, "its value completes what is held out, in a control", value
            if foil in (UNSEEN, SEEN) and partners[k] != pairs.answer("no"):
                yield 2 * k, "it asks for another value than the answer, but is not answered no", value
            if rules.control_of and int(pairs.numbers[k]) not in beside:
                problem = f"no pair of {rules.control_of} is made of its original, beside which it stands"
                yield 2 * k, problem, pairs.originals[k]
        if rules.has_groups:
            yield from _groups(pairs, rows)


def _groups(pairs: SuitePairs, rows: Rows) -> Iterator[Found]:
    """Each original's pairs ask for every value of one attribute once, and one is answered yes."""
    values_of: dict[str, set[int]] = {}
    for number, kind in pairs.kinds.items():
        values_of.setdefault(kind, set()).add(number)
    values_of[""] = {number for name, number in pairs.vocab.answers.items() if name.isdecimal()}
    # Pairs are in the order of originals.
    starts = 1 + np.flatnonzero(np.diff(pairs.numbers[rows]))
    for group in np.split(rows, starts) if len(rows) else ():
        asked = pairs.of_pair("value")[group].tolist()
        wanted = next((values for values in values_of.values() if asked[0] in values), set[int]())
        first = 2 * int(group[0])
        if sorted(asked) != sorted(wanted):
            problem = f"its group does not ask once for each of {len(wanted)} values"
            yield first, problem, ", ".join(map(pairs.vocab.answer, asked))
        n_yes = int((pairs.both("answers")[group, 1] == pairs.answer("yes")).sum())
        if n_yes != 1:
            yield first, "not one question of its group is answered yes", n_yes
