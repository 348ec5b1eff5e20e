"""Accuracies of runs and of the question-only baseline in; who collapsed, and means over runs, out.

A run has collapsed where its final complex_iid accuracy is below the question-only baseline's: it learned
less than what can be had without images. It is never judged on an OOD set, since leaving out runs that are
bad there would make every gap smaller. The paper's tables hold such runs (8 of 87 cells of LXMERT-p have a
deviation over 20 points); the rule is a choice of this project.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over runs, in per cent or points: `value`, `deviation` with ddof 0, and of how many."""

    value: float
    deviation: float
    n: int


def is_collapsed(complex_iid: float, question_only: float) -> bool:
    """Whether a run with this final complex_iid accuracy has collapsed, both in per cent."""
    return complex_iid < question_only


def beats_question_only(complex_iid: float, question_only: float) -> bool:
    """Whether a cell's mean IID accuracy says that images were used; cells that do not are greyed."""
    return complex_iid > question_only


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of one value or more."""
    return Mean(float(np.mean(values)), float(np.std(values)), len(values))


def sound_of(values: Sequence[float], collapsed: Sequence[bool]) -> list[float]:
    """The values of the runs that did not collapse; `collapsed` says of each whether it did."""
    return [value for value, fell in zip(values, collapsed, strict=True) if not fell]
