"""Scores pairs of questions from arrays of answers: accuracy, consistency, RAD and related measures.

A pair is an original and a partner about one image, with a known relation between their right answers.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import PredictionsError
from clevrhope.metrics.collector import NOT_GIVEN
from clevrhope.metrics.results import Scored
from clevrhope.metrics.shares import Flags, Measures, score_flags
from clevrhope.runtime.digits import read_digits

_FILTER = re.compile(r"filter_(?P<attribute>\w+)\[(?P<value>.+)\]")

Booleans = npt.NDArray[np.bool_]
Answers = npt.NDArray[np.integer[Any]]
"""Numbers of answers, of any integer type."""


class Relation(IntEnum):
    """How the right answer to the partner follows from the right answer to the original.

    All but SAME are directional, in the terms of CARETS.
    """

    SAME = 0
    """The two answers are equal."""
    FLIP = 1
    """One is yes and the other is no."""
    IS = 2
    """The partner's answer is yes if the original's answer is the pair's value V, and no otherwise."""
    POSITIVE = 3
    """The original's answer is a number; the partner's answer is yes if it is above 0, and no otherwise."""


class AnswerKind(IntEnum):
    """The kind of an answer, as far as a relation depends on it."""

    UNKNOWN = 0
    """It is not in the vocabulary."""
    YES_NO = 1
    NUMBER = 2
    OTHER = 3
    """A value of an unknown attribute. The kinds of values of known attributes are numbered from 4."""


@dataclass(frozen=True)
class AnswerSet:
    """The answers of a vocabulary, indexed by their numbers, of which the largest is A - 1."""

    no: int
    yes: int
    kinds: npt.NDArray[np.int8]
    """(A + 1,) the `AnswerKind` of each number, or 4 and more for values; the last is UNKNOWN."""
    counts: Ints
    """(A + 1,) the count that an answer gives; 0 for answers that are not numbers."""

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, int], functions: Iterable[str] = ()) -> "AnswerSet":
        """The answer set of a mapping text -> number, as in vocab.json. Special tokens are not answers.

        The functions of programs, such as "filter_color[red]", say which attribute an answer is a value of.

        Raises:
            PredictionsError: "yes" or "no" is missing.
        """
        for text in ("yes", "no"):
            if text not in numbers:
                raise PredictionsError(
                    f'the vocabulary has no answer "{text}", which pairs of questions need'
                )
        n = max(numbers.values()) + 1
        filters = [found for name in functions if (found := _FILTER.fullmatch(name))]
        attributes = list(dict.fromkeys(found["attribute"] for found in filters))
        attribute_of = {found["value"]: found["attribute"] for found in filters}
        kinds, counts = np.full(n + 1, AnswerKind.UNKNOWN, dtype=np.int8), np.zeros(n + 1, dtype=np.int32)
        for text, number in numbers.items():
            if text in ("yes", "no"):
                kinds[number] = AnswerKind.YES_NO
            elif (count := read_digits(text)) is not None and count < 1 << 31:
                kinds[number], counts[number] = AnswerKind.NUMBER, count
            elif text not in SPECIAL_TOKENS:
                of_value = attributes.index(attribute_of[text]) + 1 if text in attribute_of else 0
                kinds[number] = AnswerKind.OTHER + of_value
        return cls(numbers["no"], numbers["yes"], kinds, counts)

    def places(self, answers: Answers) -> npt.NDArray[np.intp]:
        """The index of each answer in `kinds` and `counts`; the last index if it is not in the vocabulary."""
        last = len(self.kinds) - 1
        is_outside = (answers < 0) | (answers > last)
        return np.where(is_outside, last, answers).astype(np.intp)

    def kind(self, answers: Answers) -> npt.NDArray[np.int8]:
        """The `AnswerKind` of each answer."""
        kinds: npt.NDArray[np.int8] = self.kinds[self.places(answers)]
        return kinds

    def knows(self, answers: Answers) -> Booleans:
        """Whether each answer is in the vocabulary."""
        known: Booleans = self.kind(answers) != AnswerKind.UNKNOWN
        return known

    def is_unread(self, answers: Answers) -> Booleans:
        """Whether each was given, but is not in the vocabulary."""
        unread: Booleans = ~self.knows(answers) & (answers != NOT_GIVEN)
        return unread


def pair_flags(pairs: QuestionTable, given: Answers, answers: AnswerSet) -> dict[str, Flags]:
    """The flags of `measures.PAIRS`, each (R, K) for R runs on K pairs, and "unread".

    "pairs" are those with both questions answered; for others, all flags are false but "unread", which is
    the number of answers, 0 to 2, that are not in the vocabulary. "consistent" is CONS of CARETS: equal
    answers to a SAME pair, different ones to any other. It does not use the right answers, so a model can be
    consistent and wrong. Two answers that are both outside the vocabulary are not consistent, because it is
    unknown whether they are equal. For "strict", the relation holds between the two answers, and they are of
    the kinds that the questions ask for, so that no shape is an answer to a question for a color; it uses no
    right answers but the kind of each.

    Args:
        pairs: the 2K questions of the pairs.
        given: (R, 2K) the runs' answers, NOT_GIVEN for those that they did not answer. Numbers outside the
            vocabulary are wrong answers.
        answers: the vocabulary.
    """
    original, partner = (np.ascontiguousarray(given[:, side::2]) for side in (0, 1))
    known_original, known_partner = answers.knows(original), answers.knows(partner)
    complete = (original != NOT_GIVEN) & (partner != NOT_GIVEN)
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
        "unread": answers.is_unread(original).astype(np.int8) + answers.is_unread(partner),
    }


def reply_flags(right: Ints, given: Answers, answers: AnswerSet) -> dict[str, Flags]:
    """The flags of `measures.REPLIES`, each (R, Q): of questions for yes or no, what each run replied.

    Args:
        right: (Q,) right answers.
        given: (R, Q) answers of R runs, NOT_GIVEN where one is missing.
        answers: the vocabulary.
    """
    asked = (given != NOT_GIVEN) & (answers.kind(right) == AnswerKind.YES_NO)
    yes, no = asked & (given == answers.yes), asked & (given == answers.no)
    return {
        "asked": asked,
        "yes": yes,
        "no": no,
        "other": asked & ~yes & ~no,
        "right_yes": asked & (right == answers.yes),
    }


def _relation_holds(
    pairs: QuestionTable, original: Answers, partner: Answers, answers: AnswerSet
) -> Booleans:
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
    holds: Booleans = right_kinds & np.where(relations == Relation.SAME, original == partner, directional)
    return holds


def score_groups(
    flags: dict[str, Flags],
    measures: Measures,
    images: Ints,
    parts: Mapping[str, Answers] | None = None,
    *,
    seed: int,
    bootstrap: int = 0,
) -> dict[str, dict[int, Scored]]:
    """The scores of R runs on K pairs, originals or groups: breakdown -> part -> scores; "" -> 0 -> all.

    Intervals are percentiles of a bootstrap that draws images with replacement, each with all of its pairs.
    All parts and runs share the draws. The counts are those of what was answered, named by the first flag
    (n_pairs, n_originals, n_groups), of what was not (n_missing), and of answers that cannot be read
    (n_unread, from the flag "unread").

    Args:
        flags: name -> (R, K) flags, such as those of `pair_flags`.
        measures: a table of `clevrhope.metrics.measures`.
        images: (K,) the image of each.
        parts: breakdown ("test", "type", "tier", "cell", ...) -> (K,) the part of each, from 0.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.
    """
    name, answered = next(iter(flags.items()))
    figures = score_flags(
        {flag: values for flag, values in flags.items() if flag != "unread"},
        measures,
        {"": np.zeros(len(images), dtype=np.int32), **(parts or {})},
        images,
        bootstrap=bootstrap,
        seed=(seed, *b"pairs"),
        counts={f"n_{name}": answered, "n_missing": ~answered, "n_unread": flags["unread"]},
    )
    return {by: {number: group.scored() for number, group in of.items()} for by, of in figures.items()}
