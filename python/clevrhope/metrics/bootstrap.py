"""The cluster bootstrap: sums over resampled images, and percentile intervals.

Answers to questions about one image are correlated, so images are drawn with replacement, each with all of
its questions (Davison and Hinkley, "Bootstrap Methods and their Application", section 3.8). Of minimal sets,
whole places are drawn, and of preliminary sets, which ask for a single value, whole sets. Sums over drawn
images are matrix products, so all runs and parts share the draws: differences between them come from the
models, not from the draws.

Two kinds of noise are not in such draws and are added to them. Where all draws are equal (all answers right,
all wrong, or a single image), the spread is that of Wilson's interval (`with_wilson`). Where several runs of
one setting are averaged, the noise of runs is added (`noise_of_items`).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clevrhope.metrics.results import Interval

Floats = npt.NDArray[np.float64]

_SAMPLES_A_BLOCK = 32
"""Bootstrap samples held at once: 4 MB for 15,000 images."""

_ROWS_A_PRODUCT, _COLUMNS_A_PRODUCT = 32, 256
"""With 32 samples, the largest product that OpenBLAS computes without threads. Threads would not make it much
faster, but make it twenty times slower when other work occupies a core for which they wait."""


def resample(sums: Floats, *, n_samples: int, seed: Sequence[int]) -> Floats:
    """Column sums over drawn rows, (n_samples, K), from (M, K) sums of M images (or sets of images).

    Each sample draws M rows with replacement. Sums of integers below 2**53 are exact, so the result does not
    depend on the order of the additions.
    """
    drawn_sums = np.empty((n_samples, sums.shape[1]))
    begin = 0
    for times_drawn in draws(len(sums), n_samples=n_samples, seed=seed):
        _multiply(times_drawn, sums, out=drawn_sums[begin : begin + len(times_drawn)])
        begin += len(times_drawn)
    return drawn_sums


def draws(n: int, *, n_samples: int, seed: Sequence[int]) -> Iterator[Floats]:
    """How often each of n rows is drawn in each sample, in blocks (k, n) with `n_samples` rows in total."""
    generator = np.random.default_rng(seed)
    for begin in range(0, n_samples, _SAMPLES_A_BLOCK):
        k = min(_SAMPLES_A_BLOCK, n_samples - begin)
        rows = generator.integers(n, size=(k, n))
        rows += n * np.arange(k)[:, np.newaxis]
        yield np.bincount(rows.ravel(), minlength=k * n).reshape(k, n).astype(np.float64)


def _multiply(left: Floats, right: Floats, *, out: Floats) -> None:
    """Writes left @ right to `out`, in products small enough to stay on one core."""
    out[:] = 0
    for column in range(0, right.shape[1], _COLUMNS_A_PRODUCT):
        columns = slice(column, column + _COLUMNS_A_PRODUCT)
        for row in range(0, len(right), _ROWS_A_PRODUCT):
            rows = slice(row, row + _ROWS_A_PRODUCT)
            out[:, columns] += left[:, rows] @ right[rows, columns]


def ratio(right: Floats, answered: Floats) -> Floats:
    """Right over answered, elementwise; NaN where nothing was answered."""
    return np.divide(right, answered, out=np.full(right.shape, np.nan), where=answered > 0)


def interval(samples: Floats) -> Interval | None:
    """The percentile interval of (n_samples,) values without NaN; None if all are NaN.

    The questions of a small part are about few images, and a sample may include none of these.
    """
    defined = samples[~np.isnan(samples)]
    if not len(defined):
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return Interval(float(low), float(high))


def with_wilson(
    values: Floats, drawn: Floats, n_units: Floats, *, signed: bool = False, seed: Sequence[int]
) -> Floats:
    """The draws, (n_samples, ...), with the spread of Wilson's interval where all of them are equal.

    If all units agree, drawing them again shows no spread, but other units might have differed. Draw k is
    then the bound of Wilson's interval at the k-th of `n_samples` normal deviates, so that the percentile
    interval of the draws is Wilson's, and differences of such draws are about as wide as Newcombe's (Wilson
    1927; Newcombe 1998). A difference of shares that is the same in every unit is spread to both sides by
    what Wilson's interval allows for units of which none differs.

    Args:
        values: (..., R) shares from 0 to 1, or differences of them, of R runs; NaN where they are undefined.
        drawn: (n_samples, ..., R) the same in each bootstrap sample.
        n_units: (..., R) how many units each is of.
        signed: whether the values are differences.
        seed: seed for the order of the deviates.
    """
    if not len(drawn) or not values.size:
        return drawn
    hidden = ~np.isnan(values) & (np.fmax.reduce(drawn) - np.fmin.reduce(drawn) <= _NO_SPREAD) & (n_units > 0)
    if not hidden.any():
        return drawn
    drawn, generator = drawn.copy(), np.random.default_rng((*seed, *b"wilson"))
    # Runs are about the same units, which are the same in each draw.
    deviates_of: dict[tuple[int, ...], Floats] = {}
    for place in map(tuple, np.argwhere(hidden)):
        if place[:-1] not in deviates_of:
            deviates_of[place[:-1]] = generator.permutation(_deviates(len(drawn)))
        value, n, z = values[place], n_units[place], deviates_of[place[:-1]]
        if signed:
            reach = z**2 / (n + z**2)
            bounds = np.clip(value + np.sign(z) * reach, min(-1, value), max(1, value))
        else:
            middle, half = value + z**2 / (2 * n), z * np.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
            bounds = np.clip((middle + half) / (1 + z**2 / n), 0, 1)
        drawn[:, *place] = bounds
    return drawn


_NO_SPREAD = 1e-12


@cache
def _deviates(n: int) -> Floats:
    """(n,) quantiles of the normal distribution, whose percentiles are its own; the ends stay finite."""
    shares = np.clip(np.linspace(0, 1, n), 0.5 / n, 1 - 0.5 / n)
    return np.array([NormalDist().inv_cdf(share) for share in shares])


def within(drawn: Floats, values: Floats, signed: bool, whole: float = 1.0) -> Floats:
    """Draws of a share, or of a difference, no further out than it can be, or than its values are."""
    least, most = (float(of(values)) for of in (np.min, np.max))
    return np.clip(drawn, min(-whole if signed else 0.0, least), max(whole, most))


def noise_of_items(values: Floats, n_samples: int, *, stream: int = 0) -> Floats:
    """(n_samples,) what the mean of n items, (n,), gains or loses if other items had been taken.

    The items are runs, palettes, pairs or datasets. The deviations from their mean are multiplied by normal
    deviates (the multiplier bootstrap, which also works for two items), and widened so that percentile
    intervals are t intervals. A single item shows no noise: 0.

    Items of equal number share the deviates, so that differences between measures of the same items are
    paired; another `stream` is for items of another kind.
    """
    n = len(values)
    if n < 2 or not n_samples:
        return np.zeros(n_samples)
    student = _STUDENT[n - 2] if n - 2 < len(_STUDENT) else _NORMAL
    wider = student / _NORMAL / (n * (n - 1)) ** 0.5
    noise: Floats = wider * _multipliers(n, n_samples, stream) @ (values - values.mean())
    return noise


@cache
def _multipliers(n: int, n_samples: int, stream: int) -> Floats:
    """(n_samples, n) the quantiles of the normal distribution, in an order of its own for each item."""
    generator = np.random.default_rng((n, stream))
    return np.stack([generator.permutation(_deviates(n_samples)) for _ in range(n)], axis=1)


_NORMAL = 1.960
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
            2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
            2.045)  # fmt: skip
"""The 97.5th percentile of the normal distribution, and of Student's t with 1, 2, ... degrees of freedom."""
