"""Flags of the answers of runs to pairs of questions, from which `measures.PAIRS` and others follow."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.pairs.relations import AnswerKind, Answers, AnswerSet, Relation
from clevrhope.metrics.shares import Flags


@dataclass(frozen=True)
class ValueGroups:
    """G originals with P partners in total.

    The original asks for the value, as in "What color is the cube?". It has one partner for each value V, as
    in "Is the cube red?", to which yes is right exactly if V is the answer. So exactly one partner should get
    yes, and its value can be compared with the model's own answer to the original: no right answers are
    needed. RAD, by contrast, has one partner for each original.
    """

    groups: Ints
    """(P,) the index of each partner's original, 0 to G - 1; every original has a partner."""
    values: Ints
    """(P,) the answer that names the partner's value V."""


def pair_flags(pairs: QuestionTable, given: Answers, answers: AnswerSet) -> dict[str, Flags]:
    """The flags of `measures.PAIRS`, each (R, K) for R runs on K pairs, and "unread".

    "pairs" are those with both questions answered; for others, all flags are false but "unread", which is
    the number of answers, 0 to 2, that are not in the vocabulary. "consistent" is CONS of CARETS: equal
    answers to a SAME pair, different ones to any other. It does not use the right answers, so a model can be
    consistent and wrong. Two answers that are both outside the vocabulary are not consistent, because it is
    unknown whether they are equal. For "strict", the relation holds between the two answers, and they are of
    the kinds that the questions ask for; it uses no right answers but the kind of each.

    Args:
        pairs: the 2K questions of the pairs.
        given: (R, 2K) the runs' answers, NOT_GIVEN for those that they did not answer. Numbers outside the
            vocabulary are wrong answers.
        answers: the vocabulary.
    """
    original, partner = (np.ascontiguousarray(given[:, side::2]) for side in (0, 1))
    known_original, known_partner = answers.knows(original), answers.knows(partner)
    given_original, given_partner = original != NOT_GIVEN, partner != NOT_GIVEN
    complete = given_original & given_partner
    original_right = complete & known_original & (original == pairs.answers[::2])
    partner_right = complete & known_partner & (partner == pairs.answers[1::2])
    alike = (original == partner) == (pairs.relation[::2] == Relation.SAME)
    holds = known_original & known_partner & _relation_holds(pairs, original, partner, answers)
    return {
        "pairs": complete,
        "original": original_right,
        "partner": partner_right,
        "both": original_right & partner_right,
        "consistent": complete & (known_original | known_partner) & alike,
        "strict": complete & holds,
        "unread": (given_original & ~known_original).astype(np.int8) + (given_partner & ~known_partner),
    }


def _relation_holds(
    pairs: QuestionTable, original: Answers, partner: Answers, answers: AnswerSet
) -> npt.NDArray[np.bool_]:
    """(R, K) whether answers from the vocabulary satisfy the pairs' relations and are of the right kinds.

    The answer to a partner has to be of the kind of its right answer, which is yes or no unless the relation
    is SAME. The answer to the original has to be yes or no for a FLIP pair, a number for a POSITIVE pair, and
    of the kind of the pair's value for an IS pair.
    """
    relations, values, kind = pairs.relation[::2], pairs.value[::2], answers.kind(original)
    flip, positive = relations == Relation.FLIP, relations == Relation.POSITIVE
    right_kinds = answers.kind(partner) == answers.kind(pairs.answers[1::2])
    right_kinds &= ~flip | (kind == AnswerKind.YES_NO)
    right_kinds &= ~positive | (kind == AnswerKind.NUMBER)
    right_kinds &= (relations != Relation.IS) | (kind == answers.kind(values))
    implies_yes = np.where(flip, original == answers.no, original == values)
    implies_yes = np.where(positive, answers.counts[answers.places(original)] > 0, implies_yes)
    directional = (partner == answers.yes) == implies_yes
    holds: npt.NDArray[np.bool_] = right_kinds & np.where(
        relations == Relation.SAME, original == partner, directional
    )
    return holds


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
    unread = (~answers.knows(given) & (given != NOT_GIVEN)).sum(axis=0)
    return {"originals": complete, "crossing": is_right[0], "control": is_right[1], "unread": unread}


def value_flags(
    questions: ValueGroups, originals: Answers, partners: Answers, answers: AnswerSet
) -> dict[str, Flags]:
    """The flags of `measures.GROUPS`, each (R, G), and "unread", the number of answers that cannot be read.

    Only the answer yes counts as yes. Groups with all questions answered are scored.

    Args:
        questions: the groups.
        originals: (R, G) the runs' answers to the originals, NOT_GIVEN where one is missing.
        partners: (R, P) the runs' answers to the partners, likewise.
        answers: the vocabulary.
    """

    def by_group(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        n = originals.shape[1]
        return np.stack([np.bincount(questions.groups, row, minlength=n) for row in flags]).astype(np.int64)

    def unread(given: Answers) -> npt.NDArray[np.bool_]:
        flags: npt.NDArray[np.bool_] = ~answers.knows(given) & (given != NOT_GIVEN)
        return flags

    says_yes = partners == answers.yes
    names = says_yes & (questions.values == originals[:, questions.groups])
    complete = (originals != NOT_GIVEN) & (by_group(partners == NOT_GIVEN) == 0)
    one_yes = complete & (by_group(says_yes) == 1)
    return {
        "groups": complete,
        "one_yes": one_yes,
        "named_yes": one_yes & (by_group(names) == 1),
        "unread": unread(originals) + by_group(unread(partners)),
    }
