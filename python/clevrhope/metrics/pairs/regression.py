"""Does RAD predict accuracy on other questions? Least squares as in RAD, section 4 and appendix E.

An instance is a trained model. The target is its accuracy on questions of another distribution; the features
are Accuracy(D), RAD(D, D') and RAD(D', D). The paper's equations show no intercept and its code is not
public, so there is a fit with an intercept and one without. The R2 of the latter compares with predicting 0
instead of the mean, so the two cannot be compared with each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clevrhope.errors import PredictionsError
from clevrhope.metrics.bootstrap import Floats
from clevrhope.metrics.means import Mean, mean_of

_LEAST_FREE = 1e-9
"""Below this, a fit goes through an instance whatever its target is."""


@dataclass(frozen=True)
class Instances:
    """M trained models; all numbers in one unit, shares or per cent."""

    accuracy: Floats
    """(M,) Accuracy(D)."""
    rad: Floats
    """(M,) RAD(D, D')."""
    rad_backward: Floats
    """(M,) RAD(D', D)."""
    target: Floats
    """(M,) accuracy that is to be predicted."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A least-squares fit."""

    coefficients: tuple[float, ...]
    """One a feature."""
    intercept: float | None
    """None for a fit without one."""
    r2: float | None
    """1 - SS_res / SS_tot. SS_tot is about the mean of the targets, and about zero for a fit without an
    intercept. None where SS_tot is 0."""
    left_out_r2: float | None = None
    """The same with each target predicted by the fit on all other instances, or by their mean. It falls where
    R2 rises from a feature that says nothing, and can be below 0. None also where an instance alone decides a
    coefficient."""


@dataclass(frozen=True, slots=True)
class Fits:
    """The two fits on the same features."""

    with_intercept: Fit
    without_intercept: Fit


@dataclass(frozen=True, slots=True)
class Regression:
    """The fits on all three features together, and on each alone."""

    together: Fits
    """Coefficients of Accuracy(D), RAD(D, D') and RAD(D', D)."""
    accuracy: Fits
    rad: Fits
    rad_backward: Fits


@dataclass(frozen=True, slots=True)
class R2Means:
    """Means and deviations of R2 over configurations, None where an R2 is; the fields of `Regression`.

    A configuration is a choice of D, D' and target; RAD, table 4, has four. Its deviation does not say
    whether it is that of a population or of a sample; here it is that of a sample (ddof 1).
    """

    together: Mean | None
    accuracy: Mean | None
    rad: Mean | None
    rad_backward: Mean | None


def least_squares(features: Floats, target: Floats, *, intercept: bool) -> Fit:
    """The fit of (M,) targets on (M, F) features.

    Raises:
        PredictionsError: there are fewer instances than coefficients, or a number is not finite.
    """
    n_coefficients = features.shape[1] + intercept
    if len(target) < n_coefficients:
        raise PredictionsError(f"{len(target)} instances cannot give {n_coefficients} coefficients")
    finite = np.isfinite(features).all(axis=1) & np.isfinite(target)
    if not finite.all():
        raise PredictionsError(
            f"instance {int(finite.argmin())} has a feature or target that is not a number"
        )
    columns = np.column_stack([features, np.ones(len(target))]) if intercept else features
    solution = np.linalg.lstsq(columns, target, rcond=None)[0]
    total = float(((target - target.mean() * intercept) ** 2).sum())
    residual = float(((target - columns @ solution) ** 2).sum())
    return Fit(
        coefficients=tuple(solution[: features.shape[1]].tolist()),
        intercept=float(solution[-1]) if intercept else None,
        r2=1 - residual / total if total else None,
        left_out_r2=_left_out_r2(columns, target, columns @ solution, intercept=intercept),
    )


def _left_out_r2(columns: Floats, target: Floats, fitted: Floats, *, intercept: bool) -> float | None:
    """From the leverages h, the residual of a left-out instance is (y - fitted) / (1 - h)."""
    n = len(target)
    free = 1 - np.einsum("ij,ji->i", columns, np.linalg.pinv(columns))  # (n,)
    about = (target - target.mean()) * n / (n - 1) if intercept and n > 1 else target
    total = float((about**2).sum())
    if not total or (free < _LEAST_FREE).any():
        return None
    return 1 - float((((target - fitted) / free) ** 2).sum()) / total


def regress(instances: Instances) -> Regression:
    """All fits on one configuration's instances.

    Raises:
        PredictionsError: there are fewer than four instances, or one has a number that is not finite, as RAD
            is where a model has nothing right.
    """
    alone = (instances.accuracy, instances.rad, instances.rad_backward)

    def fits(*features: Floats) -> Fits:
        columns = np.column_stack(features)
        return Fits(
            least_squares(columns, instances.target, intercept=True),
            least_squares(columns, instances.target, intercept=False),
        )

    return Regression(fits(*alone), *(fits(each) for each in alone))


def r2_over_configurations(
    regressions: Sequence[Regression], *, intercept: bool, left_out: bool = False
) -> R2Means:
    """Means and deviations of R2 over one configuration or more, with or without the intercept.

    With `left_out`, of the R2 of instances that are left out of the fit.
    """

    def mean(of_features: Sequence[Fits]) -> Mean | None:
        fits = [each.with_intercept if intercept else each.without_intercept for each in of_features]
        r2 = [each.left_out_r2 if left_out else each.r2 for each in fits]
        there = [each for each in r2 if each is not None]
        return mean_of(there) if len(there) == len(r2) else None

    return R2Means(
        together=mean([each.together for each in regressions]),
        accuracy=mean([each.accuracy for each in regressions]),
        rad=mean([each.rad for each in regressions]),
        rad_backward=mean([each.rad_backward for each in regressions]),
    )
