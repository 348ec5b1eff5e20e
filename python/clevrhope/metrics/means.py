"""Means over runs or HOPs, with the deviation that the paper's tables have."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over runs or HOPs, in per cent or percentage points.

    Attributes:
        value: the mean.
        deviation: the standard deviation with ddof 0, as in the paper's tables.
        n: the number of values.
    """

    value: float
    deviation: float
    n: int


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of one value or more."""
    return Mean(float(np.mean(values)), float(np.std(values)), len(values))
