"""Describes the questions of a split: the properties and terms by which they can be held out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
TermPair = tuple[str, str]
"""Two terms in alphabetical order: pairs are unordered, because questions name terms in any order."""


@dataclass(frozen=True)
class Description:
    """The properties and terms of N questions, in the order of their file.

    Attributes:
        split: the split's name, for messages.
        properties: (N, R) int8, 1 if a question has a property.
        terms: (N,) int64 masks, with a bit for each term that a question names.
        property_names: R names, by column.
        term_names: names of terms, by bit number.
    """

    split: str
    properties: npt.NDArray[np.int8]
    terms: npt.NDArray[np.int64]
    property_names: Sequence[str]
    term_names: Sequence[str]

    def __len__(self) -> int:
        return len(self.terms)

    def has_property(self, name: str) -> Flags:
        """(N,) whether each question has a property."""
        has: Flags = self.properties[:, self.property_names.index(name)] == 1
        return has

    def names_term(self, name: str) -> Flags:
        """(N,) whether each question names a term."""
        has_bit: Flags = self.terms >> self.term_names.index(name) & 1 == 1
        return has_bit

    def names_pair(self, pair: TermPair) -> Flags:
        """(N,) whether each question names both terms of a pair."""
        return self.names_term(pair[0]) & self.names_term(pair[1])
