"""The regression of RAD, section 4, on simulated instances with known coefficients."""

import numpy as np
import pytest

from clevrhope.errors import PredictionsError
from clevrhope.metrics.pairs import Instances, least_squares, r2_over_configurations, regress

COEFFICIENTS = (0.4, 0.9, -0.3)


def simulated(seed: int, *, noise: float = 0.0, intercept: float = 0.0, n: int = 45) -> Instances:
    """As many instances as in the paper: a type of question of three at fifteen sizes of the train set."""
    generator = np.random.default_rng(seed)
    features = generator.uniform(0.2, 0.9, (3, n))
    target = np.array(COEFFICIENTS) @ features + intercept + noise * generator.standard_normal(n)
    return Instances(*features, target)


def test_known_coefficients_are_recovered() -> None:
    found = regress(simulated(1))
    for fit in (found.together.with_intercept, found.together.without_intercept):
        assert fit.coefficients == pytest.approx(COEFFICIENTS, abs=1e-10)
        assert fit.r2 == pytest.approx(1, abs=1e-12)
    assert found.together.with_intercept.intercept == pytest.approx(0, abs=1e-10)
    assert found.together.without_intercept.intercept is None
    assert all(each.with_intercept.r2 < 0.95 for each in (found.accuracy, found.rad, found.rad_backward))


def test_an_intercept_is_recovered_and_needed() -> None:
    together = regress(simulated(1, intercept=-0.8)).together
    assert together.with_intercept.intercept == pytest.approx(-0.8, abs=1e-10)
    assert together.with_intercept.coefficients == pytest.approx(COEFFICIENTS, abs=1e-10)
    assert together.without_intercept.r2 is not None
    assert together.without_intercept.r2 < 0.9


def test_noise_leaves_the_share_that_the_features_explain() -> None:
    """With the noise's variance equal to that of the rest, half is explained."""
    plain = simulated(2, n=20_000)
    noise = float(plain.target.std())
    r2 = regress(simulated(2, n=20_000, noise=noise)).together.with_intercept.r2
    assert r2 == pytest.approx(0.5, abs=0.03)


def test_r2_by_hand() -> None:
    """Targets 1, 2, 6 on 1, 2, 3: the line is 2.5 x - 2; without an intercept 23/14 x."""
    features, target = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 6.0])
    line = least_squares(features, target, intercept=True)
    assert (line.coefficients[0], line.intercept) == pytest.approx((2.5, -2))
    assert line.r2 == pytest.approx(1 - 1.5 / 14)
    ray = least_squares(features, target, intercept=False)
    assert ray.coefficients == pytest.approx((23 / 14,))
    assert ray.r2 == pytest.approx(1 - (41 - 23**2 / 14) / 41)
    assert least_squares(features, np.full(3, 2.0), intercept=True).r2 is None


def test_mean_and_deviation_over_configurations() -> None:
    configurations = [regress(simulated(seed, noise=0.1)) for seed in range(4)]
    r2 = [each.rad.with_intercept.r2 for each in configurations]
    found = r2_over_configurations(configurations, intercept=True)
    assert found.rad is not None
    assert found.together is not None
    assert (found.rad.value, found.rad.deviation, found.rad.n) == (np.mean(r2), np.std(r2, ddof=1), 4)
    assert found.together.value > found.rad.value
    without = r2_over_configurations(configurations, intercept=False)
    assert without.rad is not None
    assert without.rad.value != found.rad.value


def test_an_r2_that_is_not_there_leaves_no_mean() -> None:
    constant = simulated(1)
    constant.target[:] = 0
    found = r2_over_configurations([regress(simulated(1)), regress(constant)], intercept=True)
    assert found.rad is None


def test_instances_that_cannot_be_fitted_are_refused() -> None:
    with pytest.raises(PredictionsError, match="3 instances cannot give 4 coefficients"):
        regress(simulated(1, n=3))
    without_rad = simulated(1)
    without_rad.rad[7] = np.nan
    with pytest.raises(PredictionsError, match="instance 7 has a feature or target that is not a number"):
        regress(without_rad)


@pytest.mark.parametrize("intercept", [True, False])
def test_left_out_r2_is_that_of_fits_without_the_instance(intercept: bool) -> None:
    instances = simulated(5, noise=0.2, intercept=0.3, n=12)
    features = np.column_stack([instances.accuracy, instances.rad, instances.rad_backward])
    target = instances.target
    missed, about = 0.0, 0.0
    for k in range(len(target)):
        others = np.delete(np.arange(len(target)), k)
        fit = least_squares(features[others], target[others], intercept=intercept)
        missed += (target[k] - features[k] @ np.array(fit.coefficients) - (fit.intercept or 0)) ** 2
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
    found = r2_over_configurations([regress(simulated(1, noise=0.1))], intercept=True, left_out=True)
    assert found.together is not None
