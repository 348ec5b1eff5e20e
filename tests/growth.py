"""How processor time grows with the size of the work: a measure that means the same on slow machines."""

import time
from collections.abc import Callable

LEAST_S = 0.02
"""Work that takes less is all noise."""

FACTOR = 8
MOST_GROWTH = FACTOR**1.5
"""Halfway, as factors go, between linear and quadratic work."""


def growth(work: Callable[[int], object]) -> float:
    """How many times as long `work(8 * n)` takes as `work(n)`: 8 if it is linear, 64 if it is quadratic."""
    n = 1_000
    while (small_s := _seconds(work, n)) < LEAST_S:
        n *= 2
    return _seconds(work, FACTOR * n) / small_s


def _seconds(work: Callable[[int], object], n: int) -> float:
    """The least of three times: what interrupts the work only adds to them."""
    taken = []
    for _ in range(3):
        began = time.thread_time()
        work(n)
        taken.append(time.thread_time() - began)
    return min(taken)
