"""Describes the questions of a split by what they are held out by: programs, answers, templates and terms."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.splits.covr.fragments import Flags, Steps, steps_of

TermPair = tuple[str, str]
"""Two terms in alphabetical order: pairs are unordered, because questions name terms in any order."""


@dataclass(frozen=True)
class Words:
    """The names that predicates may use, each by its number in the columns of questions.

    Attributes:
        functions: of programs, such as `filter_color[red]`, and the special tokens.
        answers: answers, and the special tokens.
        templates: such as `verify_count`.
        terms: by bit number.
    """

    functions: Sequence[str]
    answers: Sequence[str]
    templates: Sequence[str]
    terms: Sequence[str]


@dataclass(frozen=True)
class Description:
    """What predicates read of N questions, in the order of their file.

    Attributes:
        split: the split's name, for messages.
        words: the names of the numbers below.
        programs: (N, P) tokens in prefix order.
        answers: (N,) numbers of answers.
        templates: (N,) numbers of templates.
        terms: (N,) int64 masks, with a bit for each term that a question names.
        in_program_split: (N,) whether each question has the property `program` of its file, the draw of
            anonymised programs that is made with the questions.
    """

    split: str
    words: Words
    programs: npt.NDArray[np.integer[Any]]
    answers: npt.NDArray[np.integer[Any]]
    templates: npt.NDArray[np.integer[Any]]
    terms: npt.NDArray[np.int64]
    in_program_split: Flags

    def __len__(self) -> int:
        return len(self.terms)

    @cached_property
    def steps(self) -> Steps:
        """The programs with COVR's `find`."""
        return steps_of(self.programs, self.words.functions)

    def names_term(self, name: str) -> Flags:
        """(N,) whether each question names a term."""
        has_bit: Flags = self.terms >> self.words.terms.index(name) & 1 == 1
        return has_bit

    def names_pair(self, pair: TermPair) -> Flags:
        """(N,) whether each question names both terms of a pair."""
        return self.names_term(pair[0]) & self.names_term(pair[1])
