"""The bootstrap against what can be worked out: all possible draws, the binomial law, what clusters do."""

from itertools import product
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clevrhope.metrics import Interval
from clevrhope.metrics.bootstrap import Floats, interval, ratio, resample


def drawn_rates(right: Floats, answered: Floats, *, n_samples: int, seed: int = 1) -> Floats:
    sums = np.stack([right, answered], axis=1).astype(np.float64)
    drawn = resample(sums, n_samples=n_samples, seed=[seed])
    return ratio(drawn[:, 0], drawn[:, 1])


def test_every_draw_has_its_probability() -> None:
    """Four images have 256 equally likely draws; each value comes as often as it should.

    A share p of 40,000 samples is off by less than five of its standard errors.
    """
    right, answered = np.array([0.0, 1.0, 2.0, 9.0]), np.array([1.0, 3.0, 2.0, 9.0])
    exact: dict[float, float] = {}
    for draw in product(range(4), repeat=4):
        value = right[list(draw)].sum() / answered[list(draw)].sum()
        exact[value] = exact.get(value, 0) + 1 / 256
    n = 40_000
    drawn = drawn_rates(right, answered, n_samples=n)
    assert set(drawn) <= set(exact)
    for value, p in exact.items():
        assert np.mean(drawn == value) == pytest.approx(p, abs=5 * sqrt(p * (1 - p) / n))


def test_a_question_an_image_gives_the_binomial_interval() -> None:
    """With 300 of 400 right, a draw has binomial (400, 3/4) right ones: its exact quantiles are known.

    The quantile at 2.5% of n samples lies between the exact ones at 2.5% -+ 5 sqrt(.025 x .975 / n).
    """
    n, n_right, n_samples = 400, 300, 20_000
    right = np.repeat([1.0, 0.0], [n_right, n - n_right])
    found = interval(drawn_rates(right, np.ones(n), n_samples=n_samples))
    law = np.cumsum([comb(n, k) * 3**k / 4**n for k in range(n + 1)])
    slack = 5 * sqrt(0.025 * 0.975 / n_samples)
    for bound, at in ((found.low, 0.025), (found.high, 0.975)):
        lowest, highest = (np.searchsorted(law, at + d) / n for d in (-slack, slack))
        assert lowest <= bound <= highest


@given(
    n_images=st.integers(1, 90),
    n_columns=st.sampled_from([1, 3, 256, 300]),
    n_samples=st.integers(0, 70),
    seed=st.integers(0, 2**40),
)
def test_the_product_in_pieces_is_the_sum_over_drawn_rows(
    n_images: int, n_columns: int, n_samples: int, seed: int
) -> None:
    """The last column is 1 for each image, so in each sample its sum is the number of images."""
    generator = np.random.default_rng(seed)
    sums = generator.integers(0, 9, size=(n_images, n_columns)).astype(np.float64)
    sums[:, -1] = 1
    drawn = resample(sums, n_samples=n_samples, seed=[seed])
    assert drawn.shape == (n_samples, n_columns)
    assert (drawn[:, -1] == n_images).all()
    # Columns that tell the rows apart give the draw away, and with it all other columns.
    times = resample(np.eye(n_images), n_samples=n_samples, seed=[seed])
    assert np.array_equal(times @ sums, drawn)


def test_the_seed_decides() -> None:
    sums = np.arange(20.0).reshape(10, 2)
    first, again = (resample(sums, n_samples=40, seed=[7, 1]) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, resample(sums, n_samples=40, seed=[8, 1]))


def test_samples_without_a_question_are_left_out_of_an_interval() -> None:
    assert interval(np.array([np.nan, 0.5, 0.5])) == Interval(0.5, 0.5)
    assert interval(np.array([np.nan])) is None
    assert interval(np.array([])) is None
    assert np.isnan(ratio(np.zeros(1), np.zeros(1))).all()
