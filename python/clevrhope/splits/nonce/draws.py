"""Portable draws: the same numbers on every machine, from a seed, the name of a stream and an index."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_AT_ONCE = 64
"""Numbers that are drawn together."""


class Draws:
    """Draws of one item of a stream."""

    def __init__(self, seed: int, stream: str, index: int) -> None:
        self._bits = np.random.PCG64([seed, *stream.encode(), index])
        self._numbers: list[int] = []

    def below(self, n: int) -> int:
        """A whole number from 0 to below n."""
        if not self._numbers:
            self._numbers = self._bits.random_raw(_AT_ONCE).tolist()
        return self._numbers.pop() % n

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in drawn order."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
