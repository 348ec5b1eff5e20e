"""Least-squares fits of accuracy on other questions to RAD, as in RAD, section 4 and appendix E.

An instance is a trained model. The target is its accuracy on questions of another distribution; the features
are Accuracy(D), RAD(D, D') and RAD(D', D). The paper's equations show no intercept and its code is not
public, so we fit once with an intercept and once without. Without one, R2 compares the fit with predicting 0
instead of the mean, so the two values of R2 cannot be compared.
"""

from typing import NamedTuple

import numpy as np

from clevrhope.metrics.bootstrap import Floats

_LEAST_FREE = 1e-9
"""Below this 1 - leverage, the fit passes through the instance whatever its target is."""


class Fit(NamedTuple):
    """What a least-squares fit explains."""

    r2: float | None
    """1 - SS_res / SS_tot, where SS_tot is taken about the mean of the targets, or about zero for a fit
    without an intercept. None where SS_tot is 0."""
    left_out_r2: float | None
    """Leave-one-out R2: each target is predicted by the fit on all other instances, and SS_tot uses their
    mean. It falls when an uninformative feature makes R2 rise, and can be negative. None also where a single
    instance determines a coefficient."""


def least_squares(features: Floats, target: Floats, *, intercept: bool) -> Fit:
    """The fit of (M,) targets on (M, F) features, of which there are no more than instances."""
    n = len(target)
    columns = np.column_stack([features, np.ones(n)]) if intercept else features
    residuals = target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]
    about = target - target.mean() * intercept
    # From the leverages h, the residual of a left-out instance is (y - fitted) / (1 - h).
    free = 1 - np.einsum("ij,ji->i", columns, np.linalg.pinv(columns))  # (M,)
    about_others = about * n / (n - 1) if intercept and n > 1 else target
    is_determined = bool((free < _LEAST_FREE).any())
    return Fit(
        r2=_explained(residuals, about),
        left_out_r2=None if is_determined else _explained(residuals / free, about_others),
    )


def _explained(residuals: Floats, deviations: Floats) -> float | None:
    total = float((deviations**2).sum())
    return 1 - float((residuals**2).sum()) / total if total else None
