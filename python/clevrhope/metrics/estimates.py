"""Figures with their uncertainty: a value, and what the bootstrap drew for it.

Within a run, images are drawn (see `bootstrap`): draw k has the same images for all models that answered the
same questions, so that differences between models are paired. Over several palettes, pairs or datasets, these
are drawn. Runs are not drawn, so intervals on a single sub-dataset are about other images alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.bootstrap import Floats, interval
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers
from clevrhope.metrics.results import Interval
from clevrhope.metrics.tallies import AnsweredSplit, Tallies, tally

N_DRAWS = 1_000

LEAST_DENOMINATOR = 10.0
"""Points by which IID accuracy has to exceed the question-only model's for a transfer to be given."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A percentage, a number of percentage points, or a ratio.

    Attributes:
        value: the figure itself.
        drawn: (`N_DRAWS`,) the figure in each draw of the bootstrap.
    """

    value: float
    drawn: Floats

    @property
    def interval(self) -> Interval | None:
        """The 95% interval; None where some draw leaves the figure undefined."""
        return None if np.isnan(self.drawn).any() else interval(self.drawn)

    def minus(self, other: "Estimate") -> "Estimate":
        """The difference, draw by draw."""
        return Estimate(self.value - other.value, self.drawn - other.drawn)


@dataclass(frozen=True, slots=True)
class QuestionOnly:
    """A model that reads the question alone, as means over its runs on a sub-dataset.

    Attributes:
        accuracies: test set -> accuracy in per cent.
        train_size: questions that it was trained on; None if unknown.
    """

    accuracies: Mapping[str, Estimate]
    train_size: int | None


def accuracies(key: AnswerKey, hop: str, given: Mapping[str, AnswerNumbers]) -> dict[str, Estimate]:
    """The accuracies of a run in per cent, by test set; sets without any prediction are left out.

    Args:
        key: the right answers.
        hop: the sub-dataset.
        given: test set -> (N,) the run's answers; questions without one are left out.
    """
    by_pool: dict[str, list[AnsweredSplit]] = {}
    for split in key.splits[hop]:
        if split in given and (given[split] != NOT_GIVEN).any():
            questions = key.test_set(hop, split)
            by_pool.setdefault(questions.pool, []).append(AnsweredSplit(questions, given[split][None], {}))
    tallies: dict[str, Tallies] = {}
    for pool, answered in by_pool.items():
        tallies |= tally(answered, n_samples=N_DRAWS, seed=draw_seed(hop, pool))
    return {
        split: Estimate(100 * float(tallies[split].runs.found[0]), 100 * tallies[split].runs.drawn[:, 0])
        for split in key.splits[hop]
        if split in tallies
    }


def draw_seed(hop: str, pool: str, seed: int = 0) -> tuple[int, ...]:
    """The seed of the draws of a pool's images, the same for all models."""
    return (seed, *f"{hop}/{pool}".encode())


def mean_of_runs(runs: Sequence[Estimate]) -> Estimate:
    """The mean over runs on one sub-dataset, whose draws are of the same images."""
    drawn = np.mean([each.drawn for each in runs], axis=0)
    return Estimate(float(np.mean([each.value for each in runs])), drawn)


def mean_of_datasets(datasets: Sequence[Estimate]) -> Estimate:
    """The mean over palettes, pairs or datasets, which are drawn with replacement.

    The noise of images is in how much these differ, so images are not drawn again; a single one has the
    interval of its images. The bootstrap of a few is too narrow: its draws spread by a factor of
    sqrt((n - 1) / n) too little, and have no heavier tails than a normal distribution. So draws are moved
    away from the mean by sqrt(n / (n - 1)) and by Student's t over the normal quantile.
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
    """Normalised transfer: (OOD - blind OOD) / (IID - blind IID), where "blind" reads the question alone.

    1: the image adds as many points out of distribution as in distribution. 0: there it adds nothing.
    Negative: there the model does worse than without an image. So gaps at different diversities, whose
    questions give away more or less, have one zero. They do not have one upper end: a model that is always
    right has (100 - blind OOD) / (100 - blind IID), which is 1 where the question gives away as much OOD as
    IID, and more than 1 where it gives away less.

    Source: a choice of this project.

    Returns:
        None where IID accuracy exceeds the question-only model's by less than `LEAST_DENOMINATOR` points.
    """
    gained, possible = ood.minus(blind_ood), iid.minus(blind_iid)
    if possible.value < LEAST_DENOMINATOR:
        return None
    is_positive = possible.drawn > 0
    drawn = np.divide(gained.drawn, possible.drawn, out=np.full(N_DRAWS, np.nan), where=is_positive)
    return Estimate(gained.value / possible.value, drawn)
