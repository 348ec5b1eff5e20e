"""The regression of RAD, section 4, on simulated instances with known coefficients."""

import numpy as np
import pytest

from clevrhope.errors import PredictionsError
from clevrhope.metrics.bootstrap import Floats
from clevrhope.metrics.regression import least_squares
from wording import refused

COEFFICIENTS = (0.4, 0.9, -0.3)


def simulated(seed: int, *, noise: float = 0.0, intercept: float = 0.0, n: int = 45) -> tuple[Floats, Floats]:
    """(n, 3) features and (n,) targets.

    By default as many as in the paper: a type of question of three at fifteen sizes of the train set.
    """
    generator = np.random.default_rng(seed)
    features = generator.uniform(0.2, 0.9, (3, n))
    target = np.array(COEFFICIENTS) @ features + intercept + noise * generator.standard_normal(n)
    return features.T, target


def test_known_features_explain_everything_together_and_not_alone() -> None:
    features, target = simulated(1)
    for intercept in (True, False):
        assert least_squares(features, target, intercept=intercept).r2 == pytest.approx(1, abs=1e-12)
    for k in range(3):
        alone = least_squares(features[:, [k]], target, intercept=True).r2
        assert alone is not None
        assert alone < 0.95


def test_an_intercept_is_fitted_where_it_is_needed() -> None:
    features, target = simulated(1, intercept=-0.8)
    line, ray = (least_squares(features, target, intercept=intercept) for intercept in (True, False))
    assert line.r2 == pytest.approx(1, abs=1e-12)
    assert ray.r2 is not None
    assert ray.r2 < 0.9


def test_noise_leaves_the_share_that_the_features_explain() -> None:
    """With the noise's variance equal to that of the rest, half is explained."""
    _, plain = simulated(2, n=20_000)
    features, target = simulated(2, n=20_000, noise=float(plain.std()))
    assert least_squares(features, target, intercept=True).r2 == pytest.approx(0.5, abs=0.03)


def test_r2_by_hand() -> None:
    """Targets 1, 2, 6 on 1, 2, 3: the line is 2.5 x - 2; without an intercept 23/14 x."""
    features, target = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 6.0])
    line = least_squares(features, target, intercept=True)
    assert line.r2 == pytest.approx(1 - 1.5 / 14)
    ray = least_squares(features, target, intercept=False)
    assert ray.r2 == pytest.approx(1 - (41 - 23**2 / 14) / 41)
    assert least_squares(features, np.full(3, 2.0), intercept=True).r2 is None


def test_instances_that_cannot_be_fitted_are_refused() -> None:
    with refused(PredictionsError):
        least_squares(*simulated(1, n=3), intercept=True)
    features, target = simulated(1)
    features[7, 1] = np.nan
    with refused(PredictionsError):
        least_squares(features, target, intercept=True)


@pytest.mark.parametrize("intercept", [True, False])
def test_left_out_r2_is_that_of_fits_without_the_instance(intercept: bool) -> None:
    features, target = simulated(5, noise=0.2, intercept=0.3, n=12)
    missed, about = 0.0, 0.0
    for k in range(len(target)):
        others = np.delete(np.arange(len(target)), k)
        columns = np.column_stack([features, np.full(len(target), float(intercept))])
        coefficients = np.linalg.lstsq(columns[others], target[others], rcond=None)[0]
        missed += (target[k] - columns[k] @ coefficients) ** 2
        about += (target[k] - target[others].mean() * intercept) ** 2
    found = least_squares(features, target, intercept=intercept).left_out_r2
    assert found == pytest.approx(1 - missed / about, abs=1e-9)


def test_a_feature_that_says_nothing_lowers_the_left_out_r2_and_not_the_r2() -> None:
    generator = np.random.default_rng(2)
    informative, target = np.arange(20.0), np.arange(20.0) + generator.standard_normal(20)
    nothing = generator.standard_normal((8, 20))
    few = least_squares(informative[:, None], target, intercept=True)
    many = least_squares(np.vstack([informative, nothing]).T, target, intercept=True)
    assert few.r2 is not None
    assert many.r2 is not None
    assert few.left_out_r2 is not None
    assert many.left_out_r2 is not None
    assert many.r2 > few.r2
    assert many.left_out_r2 < few.left_out_r2 < few.r2


def test_an_instance_that_decides_a_coefficient_alone_leaves_no_left_out_r2() -> None:
    features = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 5.0], [1.0, 4.0]])
    fit = least_squares(features, np.array([1.0, 2.0, 3.5, 5.0, 9.0]), intercept=True)
    assert fit.r2 is not None
    assert fit.left_out_r2 is None
