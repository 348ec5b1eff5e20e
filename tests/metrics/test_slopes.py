"""Slopes on diversity: by hand, and on simulated palettes with and without an effect."""

import math

import numpy as np
import pytest

pytest.importorskip("scipy")

from clevrhope.metrics.slopes import mean_slope, slope_on_diversity

DIVERSITIES = (4, 8, 16)


def test_a_line_has_its_slope() -> None:
    assert slope_on_diversity({4: 50, 8: 53, 16: 56}) == pytest.approx(3)
    assert slope_on_diversity({16: 56, 4: 50, 8: 60}) == pytest.approx(3), "the order does not matter"
    # y = 50, 50, 59 on x = 2, 3, 4: sum (x - 3) (y - 53) / sum (x - 3)^2.
    assert slope_on_diversity({4: 50, 8: 50, 16: 59}) == pytest.approx((-1 * -3 + 1 * 6) / 2)


def test_the_mean_by_hand() -> None:
    found = mean_slope([1.0, 2.0, 3.0, 6.0])
    deviation = math.sqrt(14 / 3)
    assert found.value == 3
    # 3.1824 is t's 97.5th percentile with three degrees of freedom, 0.9785 its 80th.
    assert found.interval.high - 3 == pytest.approx(3.1824 * deviation / 2, rel=1e-4)
    assert found.detectable == pytest.approx((3.1824 + 0.9785) * deviation / 2, rel=1e-4)
    assert found.p_value == 2 / 16, "no other flip of signs has a mean as far from 0"
    assert mean_slope([1.0] * 7 + [2.0]).p_value == pytest.approx(2 / 256)


def simulated(effect: float, n: int, generator: np.random.Generator) -> list[float]:
    """The slopes of n palettes, each with its own level and slope (with heavy tails) and noisy runs."""
    slopes = []
    for _ in range(n):
        level = 55 + 8 * generator.standard_normal()
        own = effect + 3 * generator.standard_t(4)
        slopes.append(
            slope_on_diversity(
                {k: level + own * math.log2(k) + 4 * generator.standard_normal() for k in DIVERSITIES}
            )
        )
    return slopes


@pytest.mark.slow
def test_simulated_nulls_are_rejected_at_no_more_than_five_per_cent() -> None:
    generator = np.random.default_rng(11)
    n_flips = n_interval = 0
    n_experiments = 1_500
    for _ in range(n_experiments):
        found = mean_slope(simulated(0.0, 8, generator))
        n_flips += found.p_value <= 0.05
        n_interval += not found.interval.low <= 0 <= found.interval.high
    # The flip test is exact: of 256 flips 12 are allowed, 4.7%; three deviations of 1,500 shares are 1.7%.
    assert n_flips / n_experiments <= 0.05 + 0.017
    assert n_flips / n_experiments >= 0.03
    assert n_interval / n_experiments <= 0.05 + 0.017
