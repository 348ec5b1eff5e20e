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

Chosen = npt.NDArray[np.bool_]
"""(K,) the pairs of a file that are scored."""


def parts_of_pairs(
    file: QuestionTable, chosen: Chosen, answers: AnswerSet, functions: Sequence[str]
) -> tuple[dict[str, Sequence[str]], dict[str, Ints]]:
    """The names of the parts of each breakdown by number, and (K,) the part of each pair.

    Parts without a name are no parts: of pairs without a step. The cells have no names; they are there where
    a pair of values is held out.

    Args:
        file: the K pairs of a suite on a split.
        chosen: (K,) the pairs that are scored.
        answers: the vocabulary.
        functions: the names of the suite's functions, by number.
    """
    tests = file.test[::2]
    types = list(dict.fromkeys(file.types))
    type_of_test = np.asarray([types.index(kind) for kind in file.types])
    step = steps(file, answers)
    found: dict[str, tuple[Sequence[str], npt.NDArray[np.integer[Any]]]] = {
        "test": (file.tests, tests),
        "type": ([kind or "no type" for kind in types], type_of_test[tests]),
        "tier": (TIERS, file.tier[::2]),
        "asks": (ASKS, asked_for(file, answers, functions)),
    }
    if (step[chosen] >= 0).any():
        found["step"] = (STEPS, np.where(step < 0, len(STEPS), step))
    if "pair" in SPLITS[file.split].of:
        found[CELL] = ((), N_CELLS * tests + file.cell[::2])
    return (
        {by: names for by, (names, _) in found.items()},
        {by: part.astype(np.int32) for by, (_, part) in found.items()},
    )


def asked_for(file: QuestionTable, answers: AnswerSet, functions: Sequence[str]) -> Ints:
    """(K,) what the partner of each pair asks for, as an index into `ASKS`; arguments as above."""
    rows = file
    kinds = answers.kind(rows.answers[1::2])
    is_offer = np.asarray([name.startswith(_OFFERS) for name in functions])
    n_offers = is_offer[rows.programs[1::2]].sum(axis=1)
    asks = np.select(
        [kinds == AnswerKind.YES_NO, kinds == AnswerKind.NUMBER, n_offers > 0],
        [0, 1, np.minimum(1 + n_offers, len(ASKS) - 1)],
        2,
    )
    found: Ints = asks.astype(np.int32)
    return found


def steps(file: QuestionTable, answers: AnswerSet) -> Ints:
    """(K,) the direction of each pair of an ontology test, as an index into `STEPS`; -1 for other pairs.

    A partner asks of things what is true of cubes, or asks of cubes what is true of no thing. So a pair with
    the answer yes goes to the hypernym, and a pair with the answer no to the hyponym.
    """
    rows = file
    has_step = np.asarray([name.startswith(_STEP_TESTS) for name in file.tests])
    there = has_step[rows.test[::2]] & (rows.relation[::2] == Relation.SAME)
    found: Ints = np.where(there, rows.answers[::2] == answers.no, -1).astype(np.int32)
    return found


def constants(file: QuestionTable, chosen: Chosen, answers: AnswerSet) -> Mapping[str, Constant]:
    """For each test with only yes/no partners, the constant answer that is right most often about them."""
    found = {}
    right = file.answers[1::2]
    for test, pairs in _pairs_by_test(file, chosen):
        n_yes, n_no = (int((right[pairs] == each).sum()) for each in (answers.yes, answers.no))
        n = int(pairs.sum())
        if n_yes + n_no == n:
            answer, n_right = max(("yes", n_yes), ("no", n_no), key=lambda each: each[1])
            found[test] = Constant(answer, 100 * n_right / n)
    return found


def traits(file: QuestionTable, chosen: Chosen, answers: AnswerSet) -> Mapping[str, tuple[str, ...]]:
    """Trait -> the tests all of whose chosen pairs have it.

    "beyond" pairs use words or functions that the dataset lacks. Of those with "same_programs", both
    questions have the same program and image: a model that is given programs gives both the same answer,
    whatever it has learned. In "entailments", yes is the right answer to both: there RAD is the share of
    pairs answered yes to the partner, among those answered yes to the original.
    """
    rows = file
    programs, images = rows.programs, rows.image_idxs
    having = {
        "beyond": rows.tier[::2] == TIERS.index("beyond"),
        "same_programs": (programs[::2] == programs[1::2]).all(axis=1) & (images[::2] == images[1::2]),
        "entailments": (rows.answers.reshape(-1, 2) == answers.yes).all(axis=1),
    }
    return {
        name: tuple(test for test, pairs in _pairs_by_test(file, chosen) if flags[pairs].all())
        for name, flags in having.items()
    }


def _pairs_by_test(file: QuestionTable, chosen: Chosen) -> Iterator[tuple[str, Chosen]]:
    """Each test that has chosen pairs, with the (K,) flags of these pairs."""
    tests = file.test[::2]
    for number, name in enumerate(file.tests):
        pairs: Chosen = chosen & (tests == number)
        if pairs.any():
            yield name, np.asarray(pairs)
