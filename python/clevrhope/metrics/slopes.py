"""How accuracy changes with diversity: one slope for each palette, and tests of their mean.

A palette is an order of combinations of which the first K are seen in training, so the palette's models for
every K can answer the test set of the smallest K. Its slope is that of the least-squares line of accuracy on
log2 K. Palettes are drawn independently, so the tests use one slope for each.

This module needs scipy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from clevrhope.metrics.results import Interval

LEVEL = 0.95
POWER = 0.8

_MOST_FLIPS = 1 << 16
"""Maximum number of sign flips: all of them for up to 16 palettes, else this many at random."""


@dataclass(frozen=True, slots=True)
class MeanSlope:
    """The mean of the slopes of some palettes, in percentage points for each doubling of K.

    Attributes:
        value: the mean.
        slopes: the slope of each palette.
        interval: the 95% t interval of the mean.
        p_value: two-sided p value of the sign-flip test that slopes are symmetric about 0. For up to 16
            palettes the test is exact, and the value is at least 2 / 2**n for n of them; for more palettes,
            sign flips are drawn at random.
        detectable: the mean slope that a two-sided t test at 5% would detect in about 80% of experiments of
            this size, if slopes vary as much as they do here.
    """

    value: float
    slopes: tuple[float, ...]
    interval: Interval
    p_value: float
    detectable: float


def slope_on_diversity(accuracies: Mapping[int, float]) -> float:
    """Points of accuracy that each doubling of diversity adds, by least squares.

    Args:
        accuracies: combinations K, of which there are two or more -> accuracy in per cent.
    """
    return float(stats.linregress(np.log2(list(accuracies)), list(accuracies.values())).slope)


def mean_slope(slopes: Sequence[float]) -> MeanSlope:
    """The mean of the slopes of two or more palettes, with its tests."""
    n = len(slopes)
    values = np.array(slopes)
    error = float(values.std(ddof=1)) / np.sqrt(n)
    reach = t_reach(slopes)
    mean = float(values.mean())
    flips = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        n_resamples=_MOST_FLIPS,
        rng=np.random.default_rng(0),
    )
    return MeanSlope(
        value=mean,
        slopes=tuple(slopes),
        interval=Interval(mean - reach, mean + reach),
        p_value=float(flips.pvalue),
        detectable=error * _detectable_errors(n - 1),
    )


def detectable_difference(n: int, sd: float) -> float:
    """The difference of two models' means that a two-sided t test at 5% finds in about 80% of experiments.

    Args:
        n: runs of each of the models, two or more.
        sd: standard deviation of a run.
    """
    return sd * float(np.sqrt(2 / n)) * _detectable_errors(2 * n - 2)


def _detectable_errors(df: int) -> float:
    """The difference, in standard errors, that a t test finds in about 80% of experiments."""
    return float(stats.t.ppf(0.5 + LEVEL / 2, df) + stats.t.ppf(POWER, df))


def t_reach(values: Sequence[float]) -> float:
    """The half-width of the 95% t interval of the mean of two or more values."""
    n = len(values)
    return float(stats.t.ppf(0.5 + LEVEL / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0
