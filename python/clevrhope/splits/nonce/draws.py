"""Portable draws: the same numbers on every machine, from a seed, the name of a stream and an index."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

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

    def sample(self, items: Sequence[T], n: int) -> list[T]:
        """Some of the items, n, in drawn order."""
        order = list(items)
        for place in range(n):
            other = place + self.below(len(order) - place)
            order[place], order[other] = order[other], order[place]
        return order[:n]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in drawn order."""
        return self.sample(items, len(items))

    def order(self, n: int) -> npt.NDArray[np.integer[Any]]:
        """(n,) the numbers from 0 to below n, in drawn order."""
        return np.argsort(self._bits.random_raw(n), kind="stable")
