"""Figures with their uncertainty: a mean and its deviation, or a value and its bootstrap samples.

Within a run, the bootstrap draws images (see `bootstrap`). Draw k has the same images for all models that
answered the same questions, so differences between models are paired. Means over several runs on one
sub-dataset also have the noise of runs; those over several palettes, pairs or datasets have that of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.bootstrap import Floats, interval, noise_of_items, with_wilson, within
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
        n_units: how many images, or groups of them, it is of.
        signed: whether it is a difference, and not an accuracy.
        n: how many questions or groups a run's figure is of, of a difference those of the first; else 0.
    """

    value: float
    drawn: Floats
    n_units: float
    signed: bool = False
    n: int = 0

    @property
    def interval(self) -> Interval | None:
        """The 95% interval of the draws in which the figure is defined; None if there are none."""
        return interval(self.drawn)

    def minus(self, other: "Estimate") -> "Estimate":
        """The difference, draw by draw."""
        value, n_units = self.value - other.value, min(self.n_units, other.n_units)
        drawn = _with_wilson(value, self.drawn - other.drawn, n_units, signed=True)
        return Estimate(value, drawn, n_units, signed=True, n=self.n)

    @classmethod
    def of_share(
        cls, value: float, drawn: Floats, n_units: float, *, seed: Sequence[int] = (0,)
    ) -> "Estimate":
        """An accuracy in per cent, whose draws show Wilson's spread where all of them are equal.

        Accuracies on different images need different seeds: their difference varies as both of them do.
        """
        return cls(value, _with_wilson(value, drawn, n_units, signed=False, seed=seed), n_units)


def _with_wilson(
    percent: float, drawn: Floats, n_units: float, *, signed: bool, seed: Sequence[int] = (0,)
) -> Floats:
    share, units = np.array(percent / 100), np.array(n_units)
    return 100 * with_wilson(share, drawn / 100, units, signed=signed, seed=tuple(seed))


@dataclass(frozen=True, slots=True)
class QuestionOnly:
    """A model that sees only the question, with means over its runs on a sub-dataset.

    Attributes:
        accuracies: test set -> accuracy in per cent.
        train_size: number of questions it was trained on; None if unknown.
        name: "question_only", or a baseline that stands in for it.
    """

    accuracies: Mapping[str, Estimate]
    train_size: int | None
    name: str = "question_only"


def estimates(key: AnswerKey, hop: str, given: Mapping[str, AnswerNumbers]) -> dict[str, dict[str, Estimate]]:
    """The measures of a run in per cent, by name and test set; those without any prediction are left out.

    They are "accuracy" and, of minimal sets, those of `measures.MINIMAL_GROUPS`.

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
    found: dict[str, dict[str, Estimate]] = {"accuracy": {}}
    for split, of_split in accuracy_figures(key, hop, rows, bootstrap=N_DRAWS).items():
        for name, figure in of_split.whole.items():
            if figure.n[0]:
                value, drawn = 100 * float(figure.values[0]), 100 * figure.drawn[:, 0]
                estimate = Estimate(value, drawn, float(figure.n_units[0]), n=int(figure.n[0]))
                found.setdefault(name, {})[split] = estimate
    return found


def mean_of_runs(runs: Sequence[Estimate], *, stream: int = 0) -> Estimate:
    """The mean over runs on one sub-dataset, which share the draws of images.

    The noise of runs is added. Those of models that are compared by run need the same `stream`, others
    another.
    """
    values = np.array([each.value for each in runs])
    drawn = np.mean([each.drawn for each in runs], axis=0) + noise_of_items(values, N_DRAWS, stream=stream)
    signed = runs[0].signed
    drawn = within(drawn, values, signed, whole=100.0)
    return Estimate(float(values.mean()), drawn, min(each.n_units for each in runs), signed)


def mean_of_datasets(datasets: Sequence[Estimate]) -> Estimate:
    """The mean over palettes, pairs or datasets, with a t interval over them.

    The differences between them already include the noise from images and runs, so this is not added again.
    It counts if it is larger, as where all values happen to be alike; a single one keeps its interval.
    """
    values = np.array([each.value for each in datasets])
    n_units = sum(each.n_units for each in datasets)
    mean, signed = float(values.mean()), datasets[0].signed
    over_datasets = mean + noise_of_items(values, N_DRAWS)
    within_them = np.mean([each.drawn for each in datasets], axis=0)
    drawn = over_datasets if np.nanstd(over_datasets) > np.nanstd(within_them) else within_them
    return Estimate(mean, within(drawn, values, signed, whole=100.0), n_units, signed)


def transfer(ood: Estimate, iid: Estimate, blind_ood: Estimate, blind_iid: Estimate) -> Estimate | None:
    """Normalised transfer: (OOD - blind OOD) / (IID - blind IID), where "blind" sees only the question.

    At 1, the image adds as many points OOD as IID; at 0, it adds nothing OOD; below 0, the model does worse
    OOD than without an image. So 0 means the same at all diversities, although their questions give away more
    or less of the answers. The upper end does vary: a model that is always right has
    (100 - blind OOD) / (100 - blind IID), which is 1 if the question gives away as much OOD as IID, and more
    than 1 if it gives away less.

    Source: a choice of this project.

    Returns:
        The transfer, without an interval if some draw has no higher IID accuracy than the question-only
        model's; None if it is less than `LEAST_DENOMINATOR` points above that.
    """
    gained, possible = ood.minus(blind_ood), iid.minus(blind_iid)
    if possible.value < LEAST_DENOMINATOR:
        return None
    is_defined = bool((possible.drawn > 0).all())
    drawn = gained.drawn / possible.drawn if is_defined else np.full(N_DRAWS, np.nan)
    return Estimate(gained.value / possible.value, drawn, gained.n_units, signed=True)
