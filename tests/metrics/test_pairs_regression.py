"""The regression of RAD, section 4, on simulated instances with known coefficients."""

from typing import Any

import numpy as np
import pytest

from clevrhope.metrics.bootstrap import Floats
from clevrhope.metrics.regression import least_squares

COEFFICIENTS = (0.4, 0.9, -0.3)


def simulated(seed: int, *, noise: float = 0.0, intercept: float = 0.0, n: int = 45) -> tuple[Floats, Floats]:
    """(n, 3) features and (n,) targets.

    By default as many as in the paper: a type of question of three at fifteen sizes of the train set.
    """
    generator = np.random.default_rng(seed)
    features = generator.uniform(0.2, 0.9, (3, n))
    target = np.array(COEFFICIENTS) @ features + intercept + noise * generator.standard_normal(n)
    return features.T, target


def test_targets_that_are_all_the_same_leave_nothing_to_explain() -> None:
    features, _ = simulated(1)
    assert least_squares(features, np.full(len(features), 2.0), intercept=True).r2 is None


@pytest.mark.parametrize("intercept", [True, False])
def test_r2_and_left_out_r2_are_those_of_fits_by_numpy(intercept: bool) -> None:
    """The left-out one is of a fit without each instance, which is then predicted."""
    features, target = simulated(5, noise=0.2, intercept=0.3, n=12)
    columns = np.column_stack([features, np.full(len(target), float(intercept))])

    def fitted(rows: Any) -> Floats:
        coefficients: Floats = np.linalg.lstsq(columns[rows], target[rows], rcond=None)[0]
        return columns @ coefficients

    missed, about = 0.0, 0.0
    for k in range(len(target)):
        others = np.delete(np.arange(len(target)), k)
        missed += (target[k] - fitted(others)[k]) ** 2
        about += (target[k] - target[others].mean() * intercept) ** 2
    fit = least_squares(features, target, intercept=intercept)
    assert fit.left_out_r2 == pytest.approx(1 - missed / about, abs=1e-9)
    residuals, deviations = target - fitted(slice(None)), target - target.mean() * intercept
    assert fit.r2 == pytest.approx(1 - (residuals**2).sum() / (deviations**2).sum(), abs=1e-9)


def test_an_instance_that_decides_a_coefficient_alone_leaves_no_left_out_r2() -> None:
    features = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 5.0], [1.0, 4.0]])
    fit = least_squares(features, np.array([1.0, 2.0, 3.5, 5.0, 9.0]), intercept=True)
    assert fit.r2 is not None
    assert fit.left_out_r2 is None
