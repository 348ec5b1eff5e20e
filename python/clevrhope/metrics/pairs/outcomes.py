"""Pairs of questions, and the outcome of a run's answers to each pair."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.pairs.relations import AnswerKind, Answers, AnswerSet, Flags, Relation


@dataclass(frozen=True)
class Pairs:
    """K pairs of questions: an original and its partner, both about one image."""

    originals: Ints
    """(K,) right answers to the originals."""
    partners: Ints
    """(K,) right answers to the partners."""
    relations: npt.NDArray[np.int8]
    """(K,) the `Relation` of each pair."""
    values: Ints
    """(K,) the answer that names the value V of an IS pair; unused for other pairs."""
    images: Ints
    """(K,) the number of each pair's image; the bootstrap draws images."""
    parts: Mapping[str, Ints] = field(default_factory=dict)
    """Breakdown ("test", "type", "tier", "cell", ...) -> (K,) the part of each pair, numbered from 0."""

    def __len__(self) -> int:
        return len(self.originals)


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of one run on K pairs, each of shape (K,).

    A pair is complete if both of its questions were answered. For incomplete pairs, all flags are false; only
    `unread` is still counted.
    """

    complete: Flags
    original_right: Flags
    partner_right: Flags
    both_right: Flags
    consistent: Flags
    """CONS of CARETS: equal answers to a SAME pair, different answers to any other pair. It does not use the
    right answers, so a model can be consistent and wrong. Two answers that are both outside the vocabulary
    are not consistent, because it is unknown whether they are equal."""
    strict: Flags
    """The relation holds between the two answers, and they are of the kinds that the questions ask for. This
    does not use the right answers either, only the relation and the kind of answer to each question."""
    unread: npt.NDArray[np.int8]
    """The number of answers, 0 to 2, that are not in the vocabulary."""


def pair_outcomes(pairs: Pairs, original: Answers, partner: Answers, answers: AnswerSet) -> Outcomes:
    """The outcomes of one run.

    Args:
        pairs: K pairs.
        original: (K,) the run's answers to the originals, NOT_GIVEN for those that it did not answer. Numbers
            outside the vocabulary are wrong answers.
        partner: (K,) the run's answers to the partners, likewise.
        answers: the vocabulary.
    """
    at_original, at_partner = answers.places(original), answers.places(partner)
    known_original = answers.kinds[at_original] != AnswerKind.UNKNOWN
    known_partner = answers.kinds[at_partner] != AnswerKind.UNKNOWN
    given_original, given_partner = original != NOT_GIVEN, partner != NOT_GIVEN
    complete = given_original & given_partner
    original_right = complete & known_original & (original == pairs.originals)
    partner_right = complete & known_partner & (partner == pairs.partners)
    equal = original == partner
    consistent = complete & (known_original | known_partner) & (equal == (pairs.relations == Relation.SAME))
    return Outcomes(
        complete=complete,
        original_right=original_right,
        partner_right=partner_right,
        both_right=original_right & partner_right,
        consistent=consistent,
        strict=complete & known_original & known_partner & _relation_holds(pairs, original, partner, answers),
        unread=(given_original & ~known_original).astype(np.int8) + (given_partner & ~known_partner),
    )


def _relation_holds(pairs: Pairs, original: Answers, partner: Answers, answers: AnswerSet) -> Flags:
    """(K,) whether answers from the vocabulary satisfy the pairs' relations and are of the right kinds.

    The answer to a partner has to be of the kind of its right answer, which is yes or no unless the relation
    is SAME. The answer to the original has to be yes or no for a FLIP pair, a number for a POSITIVE pair, and
    of the kind of the pair's value for an IS pair.
    """
    at_original = answers.places(original)
    kind = answers.kinds[at_original]
    flip, positive = pairs.relations == Relation.FLIP, pairs.relations == Relation.POSITIVE
    has_value = pairs.relations == Relation.IS
    right_kinds = answers.kinds[answers.places(partner)] == answers.kinds[answers.places(pairs.partners)]
    right_kinds &= ~flip | (kind == AnswerKind.YES_NO)
    right_kinds &= ~positive | (kind == AnswerKind.NUMBER)
    right_kinds &= ~has_value | (kind == answers.kinds[answers.places(pairs.values)])
    implies_yes = np.where(flip, original == answers.no, original == pairs.values)
    implies_yes = np.where(positive, answers.counts[at_original] > 0, implies_yes)
    directional = (partner == answers.yes) == implies_yes
    related = np.where(pairs.relations == Relation.SAME, original == partner, directional)
    holds: Flags = right_kinds & related
    return holds


def check_pairs(pairs: Pairs, answers: AnswerSet) -> None:
    """Checks that arrays fit together and that the right answers satisfy the pairs' relations.

    Raises:
        PredictionsError: an array differs in length from the others, a part is negative, a right answer is
            not in the vocabulary, or a relation does not hold between the right answers. The message names
            the first case.
    """
    columns = {name: getattr(pairs, name) for name in ("partners", "relations", "values", "images")}
    for name, column in {**columns, **pairs.parts}.items():
        if column.shape != (len(pairs),):
            raise PredictionsError(f'"{name}" has shape {column.shape}; expected ({len(pairs)},)')
    for name, part in pairs.parts.items():
        if (part < 0).any():
            raise PredictionsError(
                f'"{name}" of pair {int((part < 0).argmax())} is negative; expected 0 or more'
            )
    unknown = ~np.isin(pairs.relations, list(Relation))
    if unknown.any():
        k = int(unknown.argmax())
        raise PredictionsError(f"pair {k} has the unknown relation {pairs.relations[k]}")
    right = pair_outcomes(pairs, pairs.originals, pairs.partners, answers)
    wrong = ~right.strict
    if wrong.any():
        k = int(wrong.argmax())
        raise PredictionsError(
            f"pair {k}: the right answers {pairs.originals[k]} and {pairs.partners[k]} do not stand in the "
            f"relation {Relation(int(pairs.relations[k])).name}"
        )
