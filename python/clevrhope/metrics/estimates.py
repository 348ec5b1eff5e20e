"""Figures with their uncertainty: a mean and its deviation, or a value and its bootstrap samples.

Within a run, the bootstrap draws images (see `bootstrap`). Draw k has the same images for all models that
answered the same questions, so differences between models are paired. For means over several palettes, pairs
or datasets, it draws these instead. It does not draw runs, so an interval on a single sub-dataset covers only
the sampling of images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.bootstrap import Floats, interval
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers
from clevrhope.metrics.results import Interval
from clevrhope.metrics.scoring import accuracy_figures

N_DRAWS = 1_000

LEAST_DENOMINATOR = 10.0
"""Points by which IID accuracy must exceed the question-only model's for the transfer to be defined."""


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over runs, configurations or HOPs, in per cent or percentage points.

    Attributes:
        value: the mean.
        deviation: the standard deviation; 0 for a single value.
        n: the number of values.
    """

    value: float
    deviation: float
    n: int


def mean_of(values: Sequence[float], *, ddof: Literal[0, 1] = 1) -> Mean:
    """The mean of at least one value.

    `ddof` 1 gives the standard deviation of a sample; 0 gives that of a population, as in the paper's tables.
    """
    deviation = float(np.std(values, ddof=ddof)) if len(values) > 1 else 0.0
    return Mean(float(np.mean(values)), deviation, len(values))


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A percentage, a number of percentage points, or a ratio.

    Attributes:
        value: the figure itself.
        drawn: (`N_DRAWS`,) the figure in each bootstrap sample.
    """

    value: float
    drawn: Floats

    @property
    def interval(self) -> Interval | None:
        """The 95% interval; None if the figure is undefined in some draw."""
        return None if np.isnan(self.drawn).any() else interval(self.drawn)

    def minus(self, other: "Estimate") -> "Estimate":
        """The difference, draw by draw."""
        return Estimate(self.value - other.value, self.drawn - other.drawn)


@dataclass(frozen=True, slots=True)
class QuestionOnly:
    """A model that sees only the question, with means over its runs on a sub-dataset.

    Attributes:
        accuracies: test set -> accuracy in per cent.
        train_size: number of questions it was trained on; None if unknown.
    """

    accuracies: Mapping[str, Estimate]
    train_size: int | None


def accuracies(key: AnswerKey, hop: str, given: Mapping[str, AnswerNumbers]) -> dict[str, Estimate]:
    """The accuracies of a run in per cent, by test set; test sets without any prediction are left out.

    Args:
        key: the right answers.
        hop: the sub-dataset.
        given: test set -> (N,) the run's answers; unanswered questions are left out.
    """
    rows = {
        split: given[split][np.newaxis]
        for split in key.splits[hop]
        if split in given and (given[split] != NOT_GIVEN).any()
    }
    figures = accuracy_figures(key, hop, rows, bootstrap=N_DRAWS)
    return {
        split: Estimate(100 * float(each.runs.values[0]), 100 * each.runs.drawn[:, 0])
        for split, each in figures.items()
    }


def mean_of_runs(runs: Sequence[Estimate]) -> Estimate:
    """The mean over runs on one sub-dataset, which share the draws of images."""
    drawn = np.mean([each.drawn for each in runs], axis=0)
    return Estimate(float(np.mean([each.value for each in runs])), drawn)


def mean_of_datasets(datasets: Sequence[Estimate]) -> Estimate:
    """The mean over palettes, pairs or datasets, which are drawn with replacement.

    The differences between them already include the noise from images, so images are not drawn again; a
    single one keeps the interval over its images. A bootstrap over few items is too narrow: its spread is too
    small by a factor of sqrt((n - 1) / n), and its tails are no heavier than normal. So deviations from the
    mean are scaled by sqrt(n / (n - 1)) and by the ratio of Student's t quantile to the normal quantile.
    """
    n = len(datasets)
    if n == 1:
        return datasets[0]
    chosen = np.random.default_rng(n).integers(n, size=(N_DRAWS, n))
    values = np.array([each.value for each in datasets])
    mean = float(values.mean())
    student = _STUDENT[n - 2] if n - 2 < len(_STUDENT) else _NORMAL
    wider = (n / (n - 1)) ** 0.5 * student / _NORMAL
    return Estimate(mean, mean + wider * (values[chosen].mean(axis=1) - mean))


_NORMAL = 1.960
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
            2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
            2.045)  # fmt: skip
"""The 97.5th percentile of the normal distribution, and of Student's t with 1, 2, ... degrees of freedom."""


def transfer(ood: Estimate, iid: Estimate, blind_ood: Estimate, blind_iid: Estimate) -> Estimate | None:
    """Normalised transfer: (OOD - blind OOD) / (IID - blind IID), where "blind" sees only the question.

    At 1, the image adds as many points OOD as IID; at 0, it adds nothing OOD; below 0, the model does worse
    OOD than without an image. So 0 means the same at all diversities, although their questions give away more
    or less of the answers. The upper end does vary: a model that is always right has
    (100 - blind OOD) / (100 - blind IID), which is 1 if the question gives away as much OOD as IID, and more
    than 1 if it gives away less.

    Source: a choice of this project.

    Returns:
        The transfer; None if IID accuracy is less than `LEAST_DENOMINATOR` points above the question-only
        model's.
    """
    gained, possible = ood.minus(blind_ood), iid.minus(blind_iid)
    if possible.value < LEAST_DENOMINATOR:
        return None
    is_positive = possible.drawn > 0
    drawn = np.divide(gained.drawn, possible.drawn, out=np.full(N_DRAWS, np.nan), where=is_positive)
    return Estimate(gained.value / possible.value, drawn)
