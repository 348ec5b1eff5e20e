"""Figures with intervals: the ends of normalised transfer, and bootstraps that cover what they should."""

from dataclasses import replace

import numpy as np
import pytest

from clevrhope.metrics.estimates import N_DRAWS, Estimate, mean_of_datasets, mean_of_runs, transfer


def estimate(value: float, *, spread: float = 0.0, seed: int = 0) -> Estimate:
    drawn = value + spread * np.random.default_rng(seed).standard_normal(N_DRAWS)
    return Estimate(value, drawn, 400)


def test_transfer_has_the_same_ends_whatever_the_question_gives_away() -> None:
    for blind_ood, blind_iid in ((34.0, 41.0), (50.0, 62.0)):
        blind = estimate(blind_ood), estimate(blind_iid)
        perfect = transfer(estimate(100), estimate(100), *blind)
        none = transfer(estimate(blind_ood), estimate(95), *blind)
        worse = transfer(estimate(blind_ood - 10), estimate(blind_iid + 40), *blind)
        assert none.value == 0
        assert worse.value == pytest.approx(-0.25), "negative transfer is kept"
        # An oracle's gap is 0; what remains is the gap of the question alone.
        assert perfect.value == pytest.approx((100 - blind_ood) / (100 - blind_iid))
    even = transfer(estimate(100), estimate(100), estimate(40), estimate(40))
    assert even.value == 1


def test_there_is_no_ratio_below_ten_points() -> None:
    blind = estimate(40), estimate(50)
    assert transfer(estimate(45), estimate(59.9), *blind) is None
    assert transfer(estimate(45), estimate(60), *blind) is not None


def test_a_denominator_that_may_be_nothing_leaves_no_interval() -> None:
    certain = transfer(estimate(45), estimate(61, spread=1), estimate(40), estimate(50))
    uncertain = transfer(estimate(45), estimate(61, spread=20), estimate(40), estimate(50))
    assert certain.interval.low < certain.value < certain.interval.high
    assert uncertain.interval is None


def test_runs_on_the_same_images_are_paired() -> None:
    first, second = estimate(50, spread=3, seed=1), estimate(54, spread=3, seed=1)
    difference = first.minus(second).interval
    assert -5 < difference.low < -4 < difference.high < -3, "the same draws cancel"
    assert np.array_equal(mean_of_datasets([first]).drawn, first.drawn)


def test_pairs_that_happen_to_agree_keep_the_noise_of_their_images() -> None:
    """Two gaps of -20 and almost -20, each known to some 6 points."""
    datasets = [replace(estimate(-20 + 0.001 * k, spread=3, seed=k), signed=True) for k in range(2)]
    found = mean_of_datasets(datasets).interval
    assert found.high - found.low == pytest.approx(4 * 3 / 2**0.5, rel=0.15)


def test_the_interval_over_runs_of_one_pair_covers_their_differences() -> None:
    """Gaps of three runs of one setting, whose images alone would leave a far smaller interval."""
    runs = [replace(estimate(value, spread=1), signed=True) for value in (-27.8, -18.0, -18.8)]
    mean = mean_of_runs(runs)
    assert mean.value == pytest.approx(-21.53, abs=0.01)
    assert mean.interval.low < -27.8
    assert mean.interval.high > -18
    same = mean_of_runs([estimate(50, spread=3), estimate(50, spread=3)]).interval
    assert same.high - same.low == pytest.approx(4 * 3, rel=0.15), "runs that do not differ add nothing"
    alone = mean_of_runs([estimate(50, spread=3)]).interval
    assert (alone.low, alone.high) == (same.low, same.high)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4, 8, 20])
def test_the_interval_of_a_mean_over_datasets_covers_the_truth(n: int) -> None:
    """Palettes with deviations of their own and the noise of their images: 95% intervals, 400 times."""
    covered = 0
    for number in range(400):
        generator = np.random.default_rng([7, number])
        truths = 70 + 5 * generator.standard_normal(n)
        found = truths + 2 * generator.standard_normal(n)
        datasets = [estimate(value, spread=2, seed=k + 100 * number) for k, value in enumerate(found)]
        interval = mean_of_datasets(datasets).interval
        covered += interval.low <= 70 <= interval.high
    assert 0.93 < covered / 400 < 0.98
