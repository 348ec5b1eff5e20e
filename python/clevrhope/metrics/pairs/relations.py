"""The relations between the answers to the two questions of a pair, and the kinds of answers they involve."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import PredictionsError

Flags = npt.NDArray[np.bool_]
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
    """A value of an attribute."""


@dataclass(frozen=True)
class AnswerSet:
    """The answers of a vocabulary, indexed by their numbers, of which the largest is A - 1."""

    no: int
    yes: int
    kinds: npt.NDArray[np.int8]
    """(A + 1,) the `AnswerKind` of each number; the last is UNKNOWN."""
    counts: Ints
    """(A + 1,) the count that an answer gives; 0 for answers that are not numbers."""

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, int]) -> "AnswerSet":
        """The answer set of a mapping text -> number, as in vocab.json. Special tokens are not answers.

        Raises:
            PredictionsError: "yes" or "no" is missing.
        """
        for text in ("yes", "no"):
            if text not in numbers:
                raise PredictionsError(
                    f'the vocabulary has no answer "{text}", which pairs of questions need'
                )
        n = max(numbers.values()) + 1
        kinds, counts = np.full(n + 1, AnswerKind.UNKNOWN, dtype=np.int8), np.zeros(n + 1, dtype=np.int32)
        for text, number in numbers.items():
            if text in ("yes", "no"):
                kinds[number] = AnswerKind.YES_NO
            elif text.isdecimal():
                kinds[number], counts[number] = AnswerKind.NUMBER, int(text)
            elif text not in SPECIAL_TOKENS:
                kinds[number] = AnswerKind.OTHER
        return cls(numbers["no"], numbers["yes"], kinds, counts)

    def places(self, answers: Answers) -> npt.NDArray[np.intp]:
        """The index of each answer in `kinds` and `counts`; the last index if it is not in the vocabulary."""
        last = len(self.kinds) - 1
        places: npt.NDArray[np.intp] = np.where((answers < 0) | (answers > last), last, answers).astype(
            np.intp
        )
        return places

    def kind(self, answers: Answers) -> npt.NDArray[np.int8]:
        """The `AnswerKind` of each answer."""
        kinds: npt.NDArray[np.int8] = self.kinds[self.places(answers)]
        return kinds

    def knows(self, answers: Answers) -> Flags:
        """Whether each answer is in the vocabulary."""
        known: Flags = self.kind(answers) != AnswerKind.UNKNOWN
        return known
