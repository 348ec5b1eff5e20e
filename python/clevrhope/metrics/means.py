"""Means over runs, configurations or held-out pairs, with their standard deviation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over runs, configurations or HOPs, in per cent or percentage points.

    Attributes:
        value: the mean.
        deviation: the standard deviation; 0 for a single value.
        n: the number of values.
    """

    value: float
    deviation: float
    n: int


def mean_of(values: Sequence[float], *, ddof: Literal[0, 1] = 1) -> Mean:
    """The mean of at least one value.

    `ddof` 1 gives the standard deviation of a sample; 0 gives that of a population, as in the paper's tables.
    """
    deviation = float(np.std(values, ddof=ddof)) if len(values) > 1 else 0.0
    return Mean(float(np.mean(values)), deviation, len(values))
