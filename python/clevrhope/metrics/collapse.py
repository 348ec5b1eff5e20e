"""Which runs collapsed in training, and means over runs with or without them.

A run has collapsed if its final accuracy on the complex IID split is below that of the question-only
baseline: it learned less than the questions alone give. It is never judged on an OOD split, since leaving out
runs that are bad there would make every gap smaller. The paper's tables hold such runs (8 of 87 cells of
LXMERT-p have a deviation over 20 points); the rule is a choice of this project.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over runs or HOPs, in per cent or percentage points.

    Attributes:
        value: the mean.
        deviation: the standard deviation with ddof 0, as in the paper's tables.
        n: the number of values.
    """

    value: float
    deviation: float
    n: int


def is_collapsed(iid: float, question_only: float) -> bool:
    """Whether a run with this final complex IID accuracy has collapsed, both in per cent."""
    return iid < question_only


def beats_question_only(iid: float, question_only: float) -> bool:
    """Whether a mean IID accuracy shows that images were used; reports grey the others out."""
    return iid > question_only


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of one value or more."""
    return Mean(float(np.mean(values)), float(np.std(values)), len(values))


def without_collapsed(values: Sequence[float], collapsed: Sequence[bool]) -> list[float]:
    """The values of the runs that did not collapse; `collapsed` has a flag for each run."""
    return [value for value, has_collapsed in zip(values, collapsed, strict=True) if not has_collapsed]
