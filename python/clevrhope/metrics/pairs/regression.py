"""Does RAD predict accuracy on other questions? Least squares as in RAD, section 4 and appendix E.

An instance is a trained model. The target is its accuracy on questions of another distribution; the features
are Accuracy(D), RAD(D, D') and RAD(D', D). The paper's equations show no intercept and its code is not
public, so there is a fit with an intercept and one without. The R2 of the latter compares with predicting 0
instead of the mean, so the two cannot be compared with each other.
"""

from dataclasses import dataclass

import numpy as np

from clevrhope.errors import PredictionsError
from clevrhope.metrics.bootstrap import Floats

_LEAST_FREE = 1e-9
"""Below this, a fit goes through an instance whatever its target is."""


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
