"""The groups in which the pairs of a suite are scored, and what is known of its tests without a model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import TIERS, Numbers
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.describe.suites import n_right_by_words
from clevrhope.metrics.bootstrap import Floats, ratio
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.measures import CROSSINGS, GROUPS, JOINED
from clevrhope.metrics.pairs import AnswerKind, Answers, AnswerSet, Relation, score_groups
from clevrhope.metrics.published import papers_tests
from clevrhope.metrics.results import Constant, Measure, Part, Scored, Scores
from clevrhope.metrics.shares import Flags
from clevrhope.splits.kinds import SPLITS

ASKS = (
    "yes or no",
    "a number",
    "a value",
    "one of two values",
    "one of three values",
    "one of four or more values",
)
"""What partners ask for; in the last three, the question names the values."""

STEPS = ("hyponym to hypernym", "hypernym to hyponym")
"""The two directions of ontology tests, original to partner: from cube to thing, and from thing to cube."""

_STEP_TESTS = ("ontology", "extension_")
_OFFERS = "offer_"
_N_CELLS = 4

CAPABILITY = "paper's test"
"""The breakdown by the tests that a suite's paper reports, such as CARETS's six."""

CHOICES = "choices"
"""The breakdown of pairs of REPHRASE-INV and ORDER-INV in CARETS's table 4, with the paper's names."""

_OF_ASKS = {"yes or no": "binary", "one of two values": "2-choice", "one of three values": "3-choice"}
_MULTI_CHOICE = "multi-choice"

CONNECTIVE = "connective"
"""The breakdown of pairs of ORDER-INV in CARETS's table 3."""

CONNECTIVES = {"conjunction": "and", "disjunction": "or"}
"""Name there -> function."""

COVERAGE = "coverage"
"""The breakdown by tests of a paper in which runs are compared with each other (CARETS, tables 13 to 17)."""

Grouping = tuple[Numbers, Callable[[int], Part | None]]
"""(K,) the number of each pair's group, and what gives the group with a number; None for no group."""


def groupings(pairs: QuestionTable, answers: AnswerSet, functions: Sequence[str]) -> dict[str, Grouping]:
    """The breakdowns of pairs; a test's cells are there where a pair of values is held out.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        answers: the vocabulary.
        functions: the names of the suite's functions, by number.
    """

    def named(by: str, names: Sequence[str], numbers: Numbers) -> Grouping:
        return numbers, lambda number: Part(by, names[number]) if number >= 0 else None

    def cell(number: int) -> Part:
        return Part("test", pairs.tests[number // _N_CELLS], f"{number % _N_CELLS:02b}")

    tests = pairs.test[::2]
    asks = asked_for(pairs, answers, functions)
    capabilities, of_paper = capability(pairs)
    choices = np.where(np.isin(of_paper, _places(capabilities, "REPHRASE-INV", "ORDER-INV")), asks, -1)
    choices = np.where(np.isin(choices, _places(ASKS, *_OF_ASKS)), choices, -1)
    types = list(dict.fromkeys(pairs.types))
    type_of_test = np.asarray([types.index(kind) for kind in pairs.types])
    found = {
        "test": named("test", pairs.tests, tests),
        CAPABILITY: named(CAPABILITY, capabilities, of_paper),
        CHOICES: named(CHOICES, [_OF_ASKS.get(each, "") for each in ASKS], choices),
        _MULTI_CHOICE: named(CHOICES, [_MULTI_CHOICE], np.where(choices > 0, 0, -1)),
        "type": named("type", [kind or "no type" for kind in types], type_of_test[tests]),
        "tier": named("tier", TIERS, pairs.tier[::2]),
        "asks": named("asks", ASKS, asks),
        "step": named("step", STEPS, steps(pairs)),
    }
    if pairs.split not in SPLITS or "pair" in SPLITS[pairs.split].of:
        found["cell"] = (_N_CELLS * tests + pairs.cell[::2], cell)
    return found


def capability(pairs: QuestionTable) -> tuple[list[str], Ints]:
    """The tests of the suite's paper, and (K,) the one that each pair belongs to; -1 for none."""
    of_test = papers_tests(pairs.suite)
    names = list(dict.fromkeys(of_test.values()))
    numbers = [names.index(of_test[name]) if name in of_test else -1 for name in pairs.tests]
    return names, np.asarray(numbers, dtype=np.int32)[pairs.test[::2]]


def _places(names: Sequence[str], *wanted: str) -> list[int]:
    return [place for place, name in enumerate(names) if name in wanted]


def asked_for(pairs: QuestionTable, answers: AnswerSet, functions: Sequence[str]) -> Ints:
    """(K,) what the partner of each pair asks for, as an index into `ASKS`; arguments as above."""
    kinds = answers.kind(pairs.answers[1::2])
    is_offer = np.asarray([name.startswith(_OFFERS) for name in functions])
    n_offers = is_offer[pairs.programs[1::2]].sum(axis=1)
    asks: Ints = np.select(
        [kinds == AnswerKind.YES_NO, kinds == AnswerKind.NUMBER, n_offers > 0],
        [0, 1, np.minimum(1 + n_offers, len(ASKS) - 1)],
        2,
    ).astype(np.int32)
    return asks


def steps(pairs: QuestionTable) -> Ints:
    """(K,) the direction of each pair of an ontology test, as an index into `STEPS`; -1 for other pairs.

    The question with the hyponym names one value more, so its program has one step more. In the test of a
    hypernym of one's own, `ontology_NAME`, the one with the hypernym is longer: it has all of its shapes.
    """
    tests = pairs.tests
    has_step = np.asarray([name.startswith(_STEP_TESTS) for name in tests])
    is_step = has_step[pairs.test[::2]] & (pairs.relation[::2] == Relation.SAME)
    lengths = (pairs.programs > 0).sum(axis=1)
    is_of_shapes = [name.startswith("ontology_") and not name.endswith("_thing") for name in tests]
    is_down = (lengths[::2] < lengths[1::2]) != np.asarray(is_of_shapes)[pairs.test[::2]]
    directions: Ints = np.where(is_step, is_down, -1).astype(np.int32)
    return directions


def connectives(
    pairs: QuestionTable,
    flags: Mapping[str, Flags],
    replies: Mapping[str, Flags],
    functions: Sequence[str],
    **draws: Any,
) -> Iterator[tuple[str, Scored]]:
    """The names of `CONNECTIVES`, and the scores on pairs of ORDER-INV whose descriptions are joined so.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        flags: those of `pairs.pair_flags`, each (R, K).
        replies: those of `pairs.reply_flags`, each (R, 2K); they are added up over the sides of a pair.
        functions: the names of the suite's functions, by number.
        draws: the keyword arguments `seed` and `bootstrap`.
    """
    names, of_paper = capability(pairs)
    is_order = np.isin(of_paper, _places(names, "ORDER-INV"))
    of_sides = {name: each.reshape(len(each), -1, 2).sum(axis=2) for name, each in replies.items()}
    for name, function in CONNECTIVES.items():
        joins = is_order & np.isin(pairs.programs[::2], _places(functions, function)).any(axis=1)
        if joins.any():
            of_joined = {flag: each[:, joins] for flag, each in {**flags, **of_sides}.items()}
            answered = of_joined["pairs"]
            of_joined |= {flag: of_joined[flag] * answered for flag in of_sides}
            yield name, score_groups(of_joined, JOINED, pairs.image_idxs[::2][joins], **draws)[""][0]


def coverage(pairs: QuestionTable, flags: Mapping[str, Flags], names: Sequence[str]) -> dict[Part, Scored]:
    """By test of the suite's paper: the share that a run has right of what other runs have right.

    The measures of a run are named by the other runs. Those that share a name, such as the runs of one model,
    are averaged, and none is compared with itself. A pair counts if all runs answered both of its questions.
    There is nothing to compare with one run.

    Source: Jimenez et al., "CARETS", tables 13 to 17.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        flags: those of `pairs.pair_flags`, each (R, K).
        names: the names of the R runs.
    """
    capabilities, of_paper = capability(pairs)
    answered = flags["pairs"].all(axis=0)
    found: dict[Part, Scored] = {}
    for number in np.unique(of_paper[answered & (of_paper >= 0)]).tolist() if len(names) > 1 else ():
        is_of = answered & (of_paper == number)
        right = np.concatenate([flags[side][:, is_of] for side in ("original", "partner")], axis=1)
        both = right.astype(float) @ right.T.astype(float)  # (R, R)
        n_right = np.broadcast_to(both.diagonal(), both.shape)
        shares = ratio(both, n_right)
        np.fill_diagonal(shares, np.nan)
        n_pairs = {"n_pairs": int(is_of.sum())}
        runs = tuple(
            Scores(_covered(shares[[run]], n_right[[run]], names), n_pairs) for run in range(len(names))
        )
        mean = Scores(_covered(shares, n_right, names), n_pairs)
        found[Part(COVERAGE, capabilities[number])] = Scored(runs, mean)
    return found


def _covered(shares: Floats, n_right: Floats, names: Sequence[str]) -> dict[str, Measure]:
    """Name of other runs -> the mean of shares (runs, R) in their columns that are not NaN, in per cent."""
    measured = {}
    for name in dict.fromkeys(names):
        columns = np.asarray(names) == name
        of_name = shares[:, columns]
        defined = ~np.isnan(of_name)
        value = 100 * float(of_name[defined].mean()) if defined.any() else None
        measured[name] = Measure(value, int(n_right[:, columns][defined].sum()))
    return measured


# What is known without a model


def known_without_images(
    pairs: QuestionTable, answers: AnswerSet, measured: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Constant], dict[str, float | None]]:
    """What is right about the partners of each test that has only yes/no partners.

    First the constant answer that is right most often; then the share that a bag of their words answers, in
    per cent, which is None if all pairs are about one image.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        answers: the vocabulary.
        measured: the tests in measured.json; one that is missing there, or has other pairs, is measured.
    """
    best: dict[str, Constant] = {}
    words: dict[str, float | None] = {}
    is_yes, is_no = (pairs.answers[1::2] == number for number in (answers.yes, answers.no))
    for test, is_of in _pairs_by_test(pairs):
        if not (is_yes | is_no)[is_of].all():
            continue
        n, n_yes = int(is_of.sum()), int(is_yes[is_of].sum())
        answer, n_right = ("yes", n_yes) if 2 * n_yes >= n else ("no", n - n_yes)
        best[test] = Constant(answer, 100 * n_right / n)
        known = measured.get(test, {})
        if "partners_by_words" in known and known["pairs"] == n:
            of_words = known["partners_by_words"]
        else:
            of_words = n_right_by_words(pairs, is_of, is_yes)
        words[test] = None if of_words is None else 100 * (of_words / n)
    return best, words


def traits(pairs: QuestionTable, answers: AnswerSet) -> Mapping[str, tuple[str, ...]]:
    """Trait -> the tests all of whose pairs have it.

    "beyond" pairs use words or functions that the dataset lacks. Of those with "same_programs", both
    questions have the same program and image: a model that is given programs gives both the same answer,
    whatever it has learned. In "entailments", yes is the right answer to both: there RAD is the share of
    pairs answered yes to the partner, among those answered yes to the original.
    """
    programs, images = pairs.programs, np.atleast_2d(pairs.image_idxs.T)
    of_same_images = (images[:, ::2] == images[:, 1::2]).all(axis=0)
    having = {
        "beyond": pairs.tier[::2] == TIERS.index("beyond"),
        "same_programs": (programs[::2] == programs[1::2]).all(axis=1) & of_same_images,
        "entailments": (pairs.answers.reshape(-1, 2) == answers.yes).all(axis=1),
    }
    return {
        name: tuple(test for test, is_of in _pairs_by_test(pairs) if flags[is_of].all())
        for name, flags in having.items()
    }


def _pairs_by_test(pairs: QuestionTable) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Each test that has pairs, with (K,) whether each pair is of it."""
    for number in np.unique(pairs.test).tolist():
        yield pairs.tests[number], pairs.test[::2] == number


# Pairs that share an original: crossings with their controls, and groups with a partner for every value


def crossings(
    pairs: QuestionTable, given: Answers, answers: AnswerSet, **draws: Any
) -> Iterator[tuple[str, str, Scored]]:
    """The tests that have a control, their controls, and the scores on the originals with pairs of both.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        given: (R, 2K) answers of R runs to them.
        answers: the vocabulary.
        draws: the keyword arguments `seed` and `bootstrap`.
    """
    for control, name in enumerate(pairs.controls):
        if name not in pairs.tests:
            continue
        of_control, of_test = (_by_original(pairs, test) for test in (control, pairs.tests.index(name)))
        both = [(pair, of_control[original]) for original, pair in of_test.items() if original in of_control]
        if not both:
            continue
        one, other = 2 * np.asarray(both, dtype=np.int64).T + 1  # (2, K)
        right = pairs.answers[one], pairs.answers[other]
        flags = crossing_flags(right, given[:, one], given[:, other], answers)
        scored = score_groups(flags, CROSSINGS, pairs.image_idxs[one], **draws)
        yield name, pairs.tests[control], scored[""][0]


def crossing_flags(
    right: tuple[Ints, Ints], crossings: Answers, controls: Answers, answers: AnswerSet
) -> dict[str, Flags]:
    """The flags of `measures.CROSSINGS`, each (R, K), and "unread", which counts answers that cannot be read.

    An original such as "What shape is the rubber thing?" (cube) has two partners to which no is the right
    answer: "Is there a rubber cylinder?", which completes the held-out pair rubber cylinder, and its control
    "Is there a rubber sphere?". A model that says yes more often to the first mistakes other objects for the
    held-out pair; one that says yes less often avoids the pair.

    Args:
        right: (K,) right answers to the crossings, and to the controls.
        crossings: (R, K) the runs' answers to the crossings, NOT_GIVEN where one is missing.
        controls: (R, K) the runs' answers to the controls, likewise.
        answers: the vocabulary.
    """
    given = np.stack([crossings, controls])  # (2, R, K)
    complete = (given != NOT_GIVEN).all(axis=0)  # (R, K)
    is_right = (given == np.stack(right)[:, np.newaxis]) & complete
    unread = answers.is_unread(given).sum(axis=0)
    return {"originals": complete, "crossing": is_right[0], "control": is_right[1], "unread": unread}


def groups(
    pairs: QuestionTable, given: Answers, answers: AnswerSet, **draws: Any
) -> Iterator[tuple[str, Scored]]:
    """The tests whose originals have a partner for each of several values; arguments as in `crossings`."""
    tests, is_value = pairs.test[::2], pairs.relation[::2] == Relation.IS
    for test in np.unique(tests[is_value]).tolist():
        places = np.flatnonzero(is_value & (tests == test))
        images, questions = pairs.image_idxs[2 * places], pairs.questions[2 * places]
        first = np.ones(len(places), dtype=np.bool_)  # of its original; pairs with one original are adjacent
        first[1:] = (images[1:] != images[:-1]) | (questions[1:] != questions[:-1]).any(axis=1)
        if first.all():
            continue
        flags = value_flags(
            np.cumsum(first) - 1,
            pairs.value[2 * places],
            given[:, 2 * places[first]],
            given[:, 2 * places + 1],
            answers,
        )
        scored = score_groups(flags, GROUPS, images[first], **draws)
        yield pairs.tests[test], scored[""][0]


def value_flags(
    original_of: Numbers,
    values: Ints,
    originals: Answers,
    partners: Answers,
    answers: AnswerSet,
) -> dict[str, Flags]:
    """The flags of `measures.GROUPS`, each (R, G), and "unread", the number of answers that cannot be read.

    An original asks for a value, as in "What color is the cube?". It has one partner for each value V, as in
    "Is the cube red?", to which yes is right exactly if V is the answer. So exactly one partner should get
    yes, and its value can be compared with the model's own answer to the original: no right answers are
    needed. RAD, by contrast, has one partner for each original. Only the answer yes counts as yes. Groups
    with all questions answered are scored.

    Args:
        original_of: (P,) the index of each partner's original, 0 to G - 1; every original has a partner.
        values: (P,) the answer that names the partner's value V.
        originals: (R, G) the runs' answers to the originals, NOT_GIVEN where one is missing.
        partners: (R, P) the runs' answers to the partners, likewise.
        answers: the vocabulary.
    """

    def by_group(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        n = originals.shape[1]
        return np.stack([np.bincount(original_of, row, minlength=n) for row in flags]).astype(np.int64)

    says_yes = partners == answers.yes
    names = says_yes & (values == originals[:, original_of])
    complete = (originals != NOT_GIVEN) & (by_group(partners == NOT_GIVEN) == 0)
    one_yes = complete & (by_group(says_yes) == 1)
    return {
        "groups": complete,
        "one_yes": one_yes,
        "named_yes": one_yes & (by_group(names) == 1),
        "unread": answers.is_unread(originals) + by_group(answers.is_unread(partners)),
    }


def _by_original(pairs: QuestionTable, test: int) -> dict[tuple[int, bytes], int]:
    """Image and tokens of an original -> the index of its pair, among the pairs of a test."""
    places = np.flatnonzero(pairs.test[::2] == test)
    images, questions = pairs.image_idxs[2 * places].tolist(), pairs.questions[2 * places]
    return {
        (image, question.tobytes()): pair
        for image, question, pair in zip(images, questions, places.tolist(), strict=True)
    }
