"""The cluster bootstrap: sums over resampled images, and percentile intervals.

Answers to questions about one image are correlated, so images are drawn with replacement, each with all of
its questions (Davison and Hinkley, "Bootstrap Methods and their Application", section 3.8). For preliminary
sets, which ask for a single value, whole sets are drawn. Sums over drawn images are matrix products, so all
runs and parts share the draws: differences between them come from the models, not from the draws.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from clevrhope.metrics.results import Interval

Floats = npt.NDArray[np.float64]

LEVEL_PERCENT = 95.0

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
    tail = (100 - LEVEL_PERCENT) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    return Interval(float(low), float(high))
