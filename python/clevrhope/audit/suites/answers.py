"""The checks of answers: those of a pair satisfy its relation, and no value gives the answer away."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import SuitePlace
from clevrhope.audit.report import Check
from clevrhope.audit.suites.sides import Flags, Sides
from clevrhope.audit.suites.source import FLIP, IS, POSITIVE, SAME, SuiteSource
from clevrhope.dataset.split_files import PairArrays, Vocab

IN_WORDS: Mapping[int, str] = {
    SAME: "the same",
    FLIP: "exchanged",
    IS: "yes exactly for the value",
    POSITIVE: "yes exactly for a number above 0",
}


class AnswerCheck:
    """The answers of one vocabulary, and the checks of the answers of pairs."""

    def __init__(self, vocab: Vocab) -> None:
        self._names = {number: name for name, number in vocab.answers.items()}
        self._yes, self._no = (vocab.answers.get(name, -1) for name in ("yes", "no"))
        kinds: dict[str, str] = {value: kind for kind, value in vocab.values()}
        self._kind = {number: kinds.get(name, "") for number, name in self._names.items()}
        """Attribute type of each answer that is a value; "" for the others."""
        functions: dict[tuple[str, str], list[int]] = {}
        for token, number in vocab.functions.items():
            function, _, value = token.rstrip("]").partition("[")
            kind = function.rpartition("_")[2]
            named = (kind if kind in kinds.values() else "", value)
            functions.setdefault(named, []).append(number)
        self._numbers = vocab.answers
        self._offers = {number for token, number in vocab.functions.items() if token.startswith("offer_")}
        self._verifying = {n for token, n in vocab.functions.items() if token.startswith("verify_")}
        self._functions = functions
        """Functions that take an answer as argument, by its attribute type ("" for a number) and name."""

    def check_relations(self, place: SuitePlace, arrays: PairArrays, sides: Sides, check: Check) -> None:
        """Compares each partner's answer with the one that the relation gives for the original's answer."""
        n = len(sides.given)
        check.n_checked += n
        answers = sides.column(arrays, "answers")
        relations, values = (arrays.columns[name][: 2 * n : 2] for name in ("relation", "value"))
        expected = self._partner(answers[:, 0], relations, values)
        for k in np.flatnonzero(expected != answers[:, 1]).tolist():
            said = IN_WORDS.get(int(relations[k]), "none that is known")
            first, second = (self._name(answer) for answer in answers[k])
            problem = f"the answers {first} and {second} are not {said}"
            check.fault(place.file, 2 * k, problem, self._name(values[k]))
        wrong = np.where(relations == IS, ~np.isin(values, list(self._names)), values != -1)
        for k in np.flatnonzero(wrong).tolist():
            problem = "value is not an answer where the relation is `is`, and -1 elsewhere"
            check.fault(place.file, 2 * k, problem, values[k])
        self._check_values_asked(place, arrays, relations == IS, values, check)

    def check_offers(self, place: SuitePlace, arrays: PairArrays, check: Check) -> None:
        """Checks that the values which a question offers differ, and that its answer is one of them."""
        offers = [
            (number, name)
            for (_, name), numbers in self._functions.items()
            for number in numbers
            if number in self._offers
        ]
        if not offers:
            return
        programs = arrays.tokens("programs", 0, len(arrays))
        answers = arrays.columns["answers"]
        has_offer, is_offered, is_twice = (np.zeros(len(arrays), bool) for _ in range(3))
        for number, name in offers:
            n = np.count_nonzero(programs == number, axis=1)
            has_offer |= n > 0
            is_twice |= n > 1
            is_offered |= (n > 0) & (answers == self._numbers.get(name, -1))
        for k in np.flatnonzero(has_offer & (is_twice | ~is_offered)).tolist():
            problem = "the values that it offers are not different ones, of which one is the answer"
            check.fault(place.file, k, problem, self._name(answers[k]))

    def _partner(
        self, given: npt.NDArray[np.int32], relations: npt.NDArray[np.int8], values: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.int64]:
        """(K,) the partner's answer that follows from the original's (K,); -1 if none does."""
        is_yes, is_no = given == self._yes, given == self._no
        numbers = np.asarray([name.isdecimal() for name in self._table()], dtype=bool)
        above = np.asarray([name.isdecimal() and int(name) > 0 for name in self._table()], dtype=bool)
        at = np.clip(given, 0, len(numbers) - 1)

        def yes_if(truth: Flags) -> npt.NDArray[np.int64]:
            return np.where(truth, self._yes, self._no)

        return np.select(
            [
                relations == SAME,
                (relations == FLIP) & (is_yes | is_no),
                relations == IS,
                (relations == POSITIVE) & numbers[at],
            ],
            [given, yes_if(is_no), yes_if(given == values), yes_if(above[at])],
            default=-1,
        )

    def _table(self) -> list[str]:
        return [self._names.get(number, "") for number in range(1 + max(self._names, default=0))]

    def _check_values_asked(
        self,
        place: SuitePlace,
        arrays: PairArrays,
        wanted: Flags,
        values: npt.NDArray[np.int32],
        check: Check,
    ) -> None:
        """Checks that the partner's program names the value for which its answer is yes."""
        programs = arrays.tokens("programs", 0, len(arrays))
        for value in np.unique(values[wanted]).tolist():
            tokens = self._functions.get((self._kind.get(value, ""), self._name(value)), [])
            pairs = np.flatnonzero(wanted & (values == value))
            partners = programs[2 * pairs + 1]
            for k in pairs[~np.isin(partners, tokens).any(axis=1)].tolist():
                problem = "the partner's program does not ask for the value"
                check.fault(place.file, 2 * k, problem, self._name(value))

    def check_balance(
        self,
        place: SuitePlace,
        arrays: PairArrays,
        sides: Sides,
        mentions: Flags,
        source: SuiteSource | None,
        check: Check,
    ) -> None:
        """Checks that yes is as frequent as no for each value; `mentions` (K,) is about the originals."""
        n = len(sides.given)
        relations, values, tests = (
            arrays.columns[name][: 2 * n : 2].tolist() for name in ("relation", "value", "test")
        )
        partners = arrays.columns["answers"][1 : 2 * n : 2].tolist()
        asked: dict[tuple[int, str, bool], dict[int, Counter[bool]]] = {}
        for relation, value, test, partner, mention in zip(
            relations, values, tests, partners, mentions.tolist(), strict=True
        ):
            if relation in (IS, POSITIVE):
                group = asked.setdefault((test, self._kind.get(value, ""), mention), {})
                group.setdefault(value, Counter())[partner == self._yes] += 1
        for (test, _, mention), of_value in asked.items():
            name = arrays.tests[test] if 0 <= test < len(arrays.tests) else f"test {test}"
            total = sum(of_value.values(), Counter())
            rules = source.tests.get(name) if source else None
            if rules is None:  # it is unknown whether a coin decided
                note = f"{place.suite}: not checked without its files; --templates takes their folder"
                check.notes += [] if note in check.notes else [note]
                continue
            if rules.foils:
                continue  # `check_foils` checks what these ask for
            if not rules.is_balanced:
                note = f"{place.file}: {name} asks for no value with both answers"
                check.notes.append(note)
                continue
            check.n_checked += total.total()
            where = " of originals that mention the pair" if mention else ""
            for value, counts in of_value.items():
                if counts[True] != counts[False]:
                    what = "anything" if value < 0 else self._name(value)
                    problem = f"{name}{where} asks for {what} more often with one answer"
                    check.fault(place.file, None, problem, f"yes {counts[True]}, no {counts[False]} times")

    def check_verified(self, place: SuitePlace, arrays: PairArrays, sides: Sides, check: Check) -> None:
        """Checks that searched pairs of verify questions ask for each value with yes as often as with no."""
        values = {
            token: self._numbers.get(value, -1)
            for (kind, value), tokens in self._functions.items()
            for token in tokens
            if kind and token in self._verifying
        }
        first = arrays.tokens("programs", 0, len(arrays))[:, 1].reshape(-1, 2)
        pairs = np.flatnonzero(sides.searched & np.isin(first, list(values)).all(axis=1))
        check.n_checked += len(pairs)
        tests, cells = (arrays.columns[name][: 2 * len(first) : 2] for name in ("test", "cell"))
        is_yes = (arrays.columns["answers"] == self._yes).reshape(-1, 2)
        counts: dict[tuple[int, int], dict[int, Counter[bool]]] = {}
        for k in pairs.tolist():
            of_value = counts.setdefault((int(tests[k]), int(cells[k])), {})
            for token, truth in zip(first[k].tolist(), is_yes[k].tolist(), strict=True):
                of_value.setdefault(values[token], Counter())[truth] += 1
        for (test, cell), of_value in counts.items():
            if len(sum(of_value.values(), Counter[bool]())) < 2:
                continue  # the entry asks for one answer
            name = arrays.tests[test] if 0 <= test < len(arrays.tests) else f"test {test}"
            for value, found in of_value.items():
                if found[True] != found[False]:
                    where = f"cell {cell >> 1}{cell & 1} of {name}"
                    problem = f"{where} asks for {self._name(value)} more often with one answer"
                    check.fault(place.file, None, problem, f"yes {found[True]}, no {found[False]} times")

    def shares(self, place: SuitePlace, arrays: PairArrays, sides: Sides) -> dict[str, Counter[bool]]:
        """The numbers of originals answered yes and no, for tests in which a coin decides on the sides."""
        n = len(sides.given)
        tests, answers = (arrays.columns[name][: 2 * n : 2] for name in ("test", "answers"))
        found: dict[str, Counter[bool]] = {}
        for test in np.unique(tests[sides.swapped]).tolist():
            if 0 <= test < len(arrays.tests):
                mine = answers[tests == test]
                found[arrays.tests[test]] = Counter((mine == self._yes).tolist())
        return found

    def _name(self, answer: int) -> str:
        return self._names.get(int(answer), str(int(answer)))
