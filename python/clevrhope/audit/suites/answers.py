"""Rules of answers: those of a pair satisfy its relation, and no value gives the answer away."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from clevrhope.audit.report import Found
from clevrhope.audit.suites.pairs import Flags, SuitePairs
from clevrhope.audit.suites.source import FLIP, IS, POSITIVE, SAME
from clevrhope.dataset.native_reader import Ints

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
    kinds, functions, partners = _kinds(pairs), _functions(pairs), pairs.tokens("programs")[1::2]
    for value in np.unique(values[relation == IS]).tolist():
        tokens = functions.get((kinds.get(value, ""), pairs.vocab.answer(value)), [])
        asked = np.isin(partners[: pairs.n], tokens).any(axis=1)
        for k in np.flatnonzero((relation == IS) & (values == value) & ~asked).tolist():
            yield 2 * k, "the partner's program does not ask for the value", pairs.vocab.answer(value)


def offers(pairs: SuitePairs) -> Iterator[Found]:
    """The values that a question offers differ, and its answer is one of them."""
    answers, programs = pairs.arrays.columns["answers"], pairs.tokens("programs")
    has_offer, is_offered, is_twice = (np.zeros(len(answers), bool) for _ in range(3))
    for token, number in pairs.vocab.functions.items():
        if token.startswith("offer_"):
            name = token.rstrip("]").partition("[")[2]
            n = np.count_nonzero(programs == number, axis=1)
            has_offer |= n > 0
            is_twice |= n > 1
            is_offered |= (n > 0) & (answers == pairs.vocab.answers.get(name, -1))
    for row in np.flatnonzero(has_offer & (is_twice | ~is_offered)).tolist():
        problem = "the values that it offers are not different ones, of which one is the answer"
        yield row, problem, pairs.vocab.answer(answers[row])


def _partners(pairs: SuitePairs, given: Ints, relation: Ints, values: Ints) -> npt.NDArray[np.int64]:
    """(K,) the partner's answer that follows from the original's (K,); -1 if none does."""
    yes, no = (pairs.vocab.answers.get(name, -1) for name in ("yes", "no"))
    names = [
        pairs.vocab.answer_names.get(number, "")
        for number in range(1 + max(pairs.vocab.answer_names, default=0))
    ]
    is_number = np.asarray([name.isdecimal() for name in names])
    is_positive = np.asarray([name.isdecimal() and int(name) > 0 for name in names])
    at = np.clip(given, 0, len(names) - 1)

    def yes_if(truth: Flags) -> npt.NDArray[np.int64]:
        return np.where(truth, yes, no)

    return np.select(
        [
            relation == SAME,
            (relation == FLIP) & ((given == yes) | (given == no)),
            relation == IS,
            (relation == POSITIVE) & is_number[at],
        ],
        [given, yes_if(given == no), yes_if(given == values), yes_if(is_positive[at])],
        default=-1,
    )


def _kinds(pairs: SuitePairs) -> Mapping[int, str]:
    """Attribute type of each answer that is a value."""
    return {pairs.vocab.answers.get(value, -1): kind for kind, value in pairs.vocab.values()}


def _functions(pairs: SuitePairs) -> Mapping[tuple[str, str], list[int]]:
    """Functions that take an answer as argument, by its attribute type ("" for a number) and name."""
    kinds = set(_kinds(pairs).values())
    found: dict[tuple[str, str], list[int]] = {}
    for token, number in pairs.vocab.functions.items():
        function, _, value = token.rstrip("]").partition("[")
        kind = function.rpartition("_")[2]
        found.setdefault((kind if kind in kinds else "", value), []).append(number)
    return found


Group = tuple[int, str, bool]
"""What the questions of a group have in common: test, type or cell, and mention."""
Groups = dict[Group, dict[int, Counter[bool]]]
"""Group -> value asked for -> how often it is the answer, or not."""


def _uneven(groups: Groups, pairs: SuitePairs, where: Mapping[Group, str]) -> Iterator[Found]:
    """A fault for each value that the questions of a group ask for more often with one answer."""
    for group, of_value in groups.items():
        for value, counts in of_value.items() if group in where else ():
            if counts[True] != counts[False]:
                what = "anything" if value < 0 else pairs.vocab.answer(value)
                problem = f"{where[group]} asks for {what} more often with one answer"
                yield None, problem, f"yes {counts[True]}, no {counts[False]} times"


def balance(pairs: SuitePairs) -> Iterator[Found]:
    """Each value is asked for with yes as often as with no, with and without a mention in the original."""
    kinds, yes, place = _kinds(pairs), pairs.vocab.answers.get("yes", -1), pairs.place
    columns = (pairs.of_pair(name).tolist() for name in ("relation", "value", "test"))
    partners = pairs.arrays.columns["answers"][1::2][: pairs.n].tolist()
    mention = pairs.findings.by_program[pairs.given].tolist()
    groups: Groups = {}
    for relation, value, test, partner, mentions in zip(*columns, partners, mention, strict=True):
        if relation in (IS, POSITIVE):
            group = groups.setdefault((test, kinds.get(value, ""), mentions), {})
            group.setdefault(value, Counter())[partner == yes] += 1
    where: dict[Group, str] = {}
    for (test, kind, mentions), of_value in groups.items():
        name = pairs.test(test)
        rules = pairs.source.tests.get(name) if pairs.source else None
        if rules is None:  # it is unknown whether a coin decided
            note = f"{place.suite}: not checked without its files; --templates takes their folder"
            pairs.notes.append(("pair balance", note))
        elif not rules.foils:  # the rules of foils check what others ask for
            if rules.is_balanced:
                pairs.counted["pair balance"] += sum(each.total() for each in of_value.values())
                said = " of originals that mention the pair" if mentions else ""
                where[test, kind, mentions] = f"{name}{said}"
            else:
                note = f"{place.file}: {name} asks for no value with both answers"
                pairs.notes.append(("pair balance", note))
    yield from _uneven(groups, pairs, where)


def verified(pairs: SuitePairs) -> Iterator[Found]:
    """Searched pairs of verify questions ask for each value with yes as often as with no."""
    values = {
        number: pairs.vocab.answers.get(token.rstrip("]").partition("[")[2], -1)
        for token, number in pairs.vocab.functions.items()
        if token.startswith("verify_") and "[" in token
    }
    first = pairs.tokens("programs")[: 2 * pairs.n, 1].reshape(-1, 2)
    rows = np.flatnonzero(pairs.searched & np.isin(first, list(values)).all(axis=1))
    pairs.counted["pair balance"] += len(rows)
    tests, cells = pairs.of_pair("test"), pairs.of_pair("cell")
    is_yes = pairs.both("answers") == pairs.vocab.answers.get("yes", -1)
    groups: Groups = {}
    for k in rows.tolist():
        of_value = groups.setdefault((int(tests[k]), f"{int(cells[k]):02b}", False), {})
        for token, truth in zip(first[k].tolist(), is_yes[k].tolist(), strict=True):
            of_value.setdefault(values[token], Counter())[truth] += 1
    where: dict[Group, str] = {}
    for (test, cell, _), of_value in groups.items():
        if len(sum(of_value.values(), Counter[bool]())) == 2:  # otherwise the entry asks for one answer
            where[test, cell, False] = f"cell {cell} of {pairs.test(test)}"
    yield from _uneven(groups, pairs, where)


def shares(pairs: SuitePairs) -> Iterator[tuple[str, Counter[bool]]]:
    """How many originals are answered yes and no, for each test in which a coin decides on the sides."""
    tests, answers = pairs.of_pair("test"), pairs.of_pair("answers")
    for test in np.unique(tests[pairs.swapped]).tolist():
        if 0 <= test < len(pairs.arrays.tests):
            is_yes = answers[tests == test] == pairs.vocab.answers.get("yes", -1)
            yield f"{pairs.place.suite} {pairs.arrays.tests[test]}", Counter(is_yes.tolist())
