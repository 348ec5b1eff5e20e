"""What the questions of a suite's pairs ask for, and properties of its tests that affect their scores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import TIERS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.pairs import AnswerKind, AnswerSet, Relation
from clevrhope.metrics.results import Constant
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
"""The two directions of ontology tests: from cube to thing, and from thing to cube."""

CELL, N_CELLS = "cell", 4
"""The breakdown by test and cell, whose parts are numbered by test and then cell."""

_STEP_TESTS = ("ontology", "extension_")
_OFFERS = "offer_"


def parts_of_pairs(
    pairs: QuestionTable, answers: AnswerSet, functions: Sequence[str]
) -> tuple[dict[str, Sequence[str]], dict[str, Ints]]:
    """The names of the parts of each breakdown by number, and (K,) the part of each pair.

    Parts without a name are no parts: of pairs without a step. The cells have no names; they are there where
    a pair of values is held out.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        answers: the vocabulary.
        functions: the names of the suite's functions, by number.
    """
    tests = pairs.test[::2]
    types = list(dict.fromkeys(pairs.types))
    type_of_test = np.asarray([types.index(kind) for kind in pairs.types])
    step = steps(pairs, answers)
    named: dict[str, tuple[Sequence[str], npt.NDArray[np.integer[Any]]]] = {
        "test": (pairs.tests, tests),
        "type": ([kind or "no type" for kind in types], type_of_test[tests]),
        "tier": (TIERS, pairs.tier[::2]),
        "asks": (ASKS, asked_for(pairs, answers, functions)),
    }
    if (step >= 0).any():
        named["step"] = (STEPS, np.where(step < 0, len(STEPS), step))
    if "pair" in SPLITS[pairs.split].of:
        named[CELL] = ((), N_CELLS * tests + pairs.cell[::2])
    return (
        {by: names for by, (names, _) in named.items()},
        {by: part.astype(np.int32) for by, (_, part) in named.items()},
    )


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


def steps(pairs: QuestionTable, answers: AnswerSet) -> Ints:
    """(K,) the direction of each pair of an ontology test, as an index into `STEPS`; -1 for other pairs.

    A partner asks of things what is true of cubes, or asks of cubes what is true of no thing. So a pair with
    the answer yes goes to the hypernym, and a pair with the answer no to the hyponym.
    """
    has_step = np.asarray([name.startswith(_STEP_TESTS) for name in pairs.tests])
    is_step = has_step[pairs.test[::2]] & (pairs.relation[::2] == Relation.SAME)
    directions: Ints = np.where(is_step, pairs.answers[::2] == answers.no, -1).astype(np.int32)
    return directions


def constants(pairs: QuestionTable, answers: AnswerSet) -> Mapping[str, Constant]:
    """For each test with only yes/no partners, the constant answer that is right most often about them."""
    best = {}
    for test, is_of in _pairs_by_test(pairs):
        right = pairs.answers[1::2][is_of]
        n_yes, n_no = (int((right == number).sum()) for number in (answers.yes, answers.no))
        if n_yes + n_no == len(right):
            answer, n_right = max(("yes", n_yes), ("no", n_no), key=lambda guess: guess[1])
            best[test] = Constant(answer, 100 * n_right / len(right))
    return best


def traits(pairs: QuestionTable, answers: AnswerSet) -> Mapping[str, tuple[str, ...]]:
    """Trait -> the tests all of whose pairs have it.

    "beyond" pairs use words or functions that the dataset lacks. Of those with "same_programs", both
    questions have the same program and image: a model that is given programs gives both the same answer,
    whatever it has learned. In "entailments", yes is the right answer to both: there RAD is the share of
    pairs answered yes to the partner, among those answered yes to the original.
    """
    programs, images = pairs.programs, pairs.image_idxs
    having = {
        "beyond": pairs.tier[::2] == TIERS.index("beyond"),
        "same_programs": (programs[::2] == programs[1::2]).all(axis=1) & (images[::2] == images[1::2]),
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
