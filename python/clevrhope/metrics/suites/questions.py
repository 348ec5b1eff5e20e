"""What the questions of a suite's pairs ask for, and how a run answers the yes/no questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clevrhope.dataset.pairs_h5 import PairFile
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers
from clevrhope.metrics.pairs import AnswerKind, AnswerSet, Relation
from clevrhope.metrics.pairs.relations import Flags

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

_STEP_TESTS = ("ontology", "extension_")
_OFFERS = "offer_"


def asked_for(file: PairFile, answers: AnswerSet, functions: Sequence[str]) -> Ints:
    """(K,) what the partner of each pair asks for, as an index into `ASKS`.

    Args:
        file: the pairs.
        answers: the vocabulary's answers.
        functions: the names of the suite's functions, by number.
    """
    rows = file.rows
    kinds = answers.kinds[answers.places(rows.answers[1::2])]
    is_offer = np.asarray([name.startswith(_OFFERS) for name in functions])
    n_offers = is_offer[rows.programs[1::2]].sum(axis=1)
    asks = np.select(
        [kinds == AnswerKind.YES_NO, kinds == AnswerKind.NUMBER, n_offers > 0],
        [0, 1, np.minimum(1 + n_offers, len(ASKS) - 1)],
        2,
    )
    found: Ints = asks.astype(np.int32)
    return found


def steps(file: PairFile, answers: AnswerSet) -> Ints:
    """(K,) the direction of each pair of an ontology test, as an index into `STEPS`; -1 for other pairs.

    A partner asks of things what is true of cubes, or asks of cubes what is true of no thing. So a pair with
    the answer yes goes to the hypernym, and a pair with the answer no to the hyponym.
    """
    rows = file.rows
    has_step = np.asarray([name.startswith(_STEP_TESTS) for name in file.tests])
    there = has_step[rows.test[::2]] & (rows.relation[::2] == Relation.SAME)
    found: Ints = np.where(there, rows.answers[::2] == answers.no, -1).astype(np.int32)
    return found


@dataclass(frozen=True, slots=True)
class Replies:
    """One run's answers to the questions of pairs whose right answer is yes or no; shares are in per cent."""

    yes: float | None
    """None, like the other shares, if no such question was answered."""
    no: float | None
    other: float | None
    """All other answers, including those outside the vocabulary."""
    right_yes: float | None
    """The share of these questions for which yes is right."""
    n: int
    """Number of yes/no questions with an answer, on both sides of the pairs."""


def replies(right: Ints, given: AnswerNumbers, answers: AnswerSet, chosen: Flags) -> Replies:
    """The replies of a run.

    Args:
        right: (N,) right answers.
        given: (N,) the run's answers, NOT_GIVEN where one is missing.
        answers: the vocabulary.
        chosen: (N,) the questions to count.
    """
    asked = chosen & (given != NOT_GIVEN) & (answers.kinds[answers.places(right)] == AnswerKind.YES_NO)
    n = int(np.count_nonzero(asked))
    if not n:
        return Replies(None, None, None, None, 0)

    def share(flags: Flags) -> float:
        return 100 * float(flags[asked].mean())

    yes, no = given == answers.yes, given == answers.no
    return Replies(share(yes), share(no), share(~yes & ~no), share(right == answers.yes), n)
