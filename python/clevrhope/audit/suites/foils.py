"""The check of what partners ask for if no coin decides it: crossings, their controls, groups, and cells."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import SuitePlace
from clevrhope.audit.report import Check
from clevrhope.audit.suites.questions import QuestionCheck
from clevrhope.audit.suites.sides import Places, Sides
from clevrhope.audit.suites.source import SEEN, UNSEEN, SuiteSource, TestRules
from clevrhope.dataset.split_files import PairArrays, Vocab


def check_foils(
    place: SuitePlace,
    arrays: PairArrays,
    sides: Sides,
    source: SuiteSource,
    questions: QuestionCheck,
    vocab: Vocab,
    check: Check,
) -> None:
    """Checks the pairs of tests whose entries ask for unseen or seen foils or every value, or name cells."""
    n = len(sides.given)
    columns = {name: arrays.columns[name][: 2 * n : 2] for name in ("test", "value", "cell")}
    numbers = {name: number for number, name in enumerate(arrays.tests)}
    of_test = {
        name: np.flatnonzero(columns["test"] == numbers[name]) for name in source.tests if name in numbers
    }
    names = {number: name for name, number in vocab.answers.items()}
    has_foils = any(rules.foils for rules in source.tests.values())
    completed = questions.completed(sides, columns["value"]) if has_foils else np.zeros(n, bool)
    originals = sides.numbers(arrays) if has_foils else sides.originals

    for name, rules in source.tests.items():
        pairs = of_test.get(name, np.zeros(0, dtype=np.int64))
        if len(rules.cells) < 4:
            check.n_checked += len(pairs)
            for k in pairs[~np.isin(columns["cell"][pairs], list(rules.cells))].tolist():
                wanted = " or ".join(f"{cell:02b}" for cell in sorted(rules.cells))
                check.fault(
                    place.file, 2 * k, f"cell is not {wanted}, as {name} wants it", columns["cell"][k]
                )
        if not rules.foils:
            continue
        check.n_checked += len(pairs)
        beside = set(originals[of_test.get(rules.control_of, pairs[:0])].tolist())
        partners = arrays.columns["answers"][1 : 2 * n : 2]
        for k in pairs.tolist():
            foil = _foil(arrays, sides, rules, k)
            value = names.get(int(columns["value"][k]), columns["value"][k])
            if foil == UNSEEN and not completed[k]:
                problem = "its value does not complete what is held out, with what the original says"
                check.fault(place.file, 2 * k, problem, value)
            if foil == SEEN and completed[k]:
                check.fault(place.file, 2 * k, "its value completes what is held out, in a control", value)
            if foil in (UNSEEN, SEEN) and partners[k] != vocab.answers.get("no"):
                problem = "it asks for another value than the answer, but is not answered no"
                check.fault(place.file, 2 * k, problem, value)
            if rules.control_of and int(originals[k]) not in beside:
                problem = f"no pair of {rules.control_of} is made of its original, beside which it stands"
                check.fault(place.file, 2 * k, problem, sides.originals[k])
        if rules.has_groups:
            _check_groups(place, arrays, originals, pairs, vocab, names, check)
            continue
        searched = pairs[sides.searched[pairs]]
        _, first = np.unique(originals[searched], return_index=True)
        for k in np.delete(searched, first).tolist():
            value = columns["value"][k]
            check.fault(place.file, 2 * k, f"an earlier pair of {name} is made of its original", value)
        for control, of_control in source.tests.items():
            if of_control.control_of == name:
                there = originals[of_test.get(control, pairs[:0])]
                alone = searched[~np.isin(originals[searched], there)]
                for k in alone[_can_have(of_control, arrays, sides, vocab, alone)].tolist():
                    problem = f"its original was searched for, but has no pair of {control} beside it"
                    check.fault(place.file, 2 * k, problem, columns["value"][k])


def _can_have(
    control: TestRules, arrays: PairArrays, sides: Sides, vocab: Vocab, pairs: Places
) -> npt.NDArray[np.bool_]:
    """Whether a control can ask for a third value, besides the answer and the one that completes the pair."""
    families = [given for (given, _), foil in control.foils.items() if foil == SEEN]
    n_values = Counter(kind for kind, _ in vocab.values())
    enough = [vocab.answers.get(value, -1) for kind, value in vocab.values() if n_values[kind] > 2]
    given = sides.given[pairs]
    found: npt.NDArray[np.bool_] = np.isin(arrays.columns["question_families"][given], families)
    return found & np.isin(arrays.columns["answers"][given], enough)


def _foil(arrays: PairArrays, sides: Sides, rules: TestRules, k: int) -> str:
    families = arrays.columns["question_families"]
    return rules.foils.get((int(families[sides.given[k]]), int(families[sides.made[k]])), "")


def _check_groups(
    place: SuitePlace,
    arrays: PairArrays,
    originals: Places,
    pairs: Places,
    vocab: Vocab,
    names: Mapping[int, str],
    check: Check,
) -> None:
    """Checks that each original's pairs ask for every value of one attribute once, and that one is yes."""
    values, answers = arrays.columns["value"], arrays.columns["answers"]
    types: dict[str, set[int]] = {}
    for kind, value in vocab.values():
        types.setdefault(kind, set()).add(vocab.answers.get(value, -1))
    types[""] = {number for name, number in vocab.answers.items() if name.isdecimal()}
    # Pairs are in the order of originals.
    starts = 1 + np.flatnonzero(np.diff(originals[pairs]))
    for group in np.split(pairs, starts) if len(pairs) else ():
        asked = values[2 * group].tolist()
        wanted = next((each for each in types.values() if asked and asked[0] in each), set[int]())
        first = 2 * int(group[0])
        if sorted(asked) != sorted(wanted):
            problem = f"its group does not ask once for each of {len(wanted)} values"
            check.fault(place.file, first, problem, ", ".join(names.get(each, str(each)) for each in asked))
        n_yes = int((answers[2 * group + 1] == vocab.answers.get("yes")).sum())
        if n_yes != 1:
            check.fault(place.file, first, "not one question of its group is answered yes", n_yes)
