"""Measures as formulas over flags of questions: one function scores every kind of question.

A flag says something of each question that each run answered, such as that the answer is right. A measure is
a formula over the sums of flags, such as a share. Groups give breakdowns, and units (images, sets of images)
are what the bootstrap draws, each with all of its questions. All groups, measures and runs of a call share
the draws.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.question_kinds import Numbers
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.bootstrap import Floats, interval, ratio, resample
from clevrhope.metrics.results import Measure, Scored, Scores

Flags = npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]
"""(R, K) what is summed: of each of R runs, a flag or a small number for each of K questions."""

Formula = Callable[[Mapping[str, Floats]], tuple[Floats, Floats]]
"""From sums of flags by name, each (..., R), to a measure in [-1, 1], NaN where it is undefined, and its
denominator."""


@dataclass(frozen=True)
class Kind:
    """A measure: its heading in tables, and its formula over the sums of flags."""

    heading: str
    formula: Formula
    signed: bool = False
    """Whether it is a difference, shown with its sign."""


Measures = Mapping[str, Kind]
"""Name -> measure, in the order of `score --json`."""


def share(part: str, of: str) -> Formula:
    """The share that the sum of one flag is of another's."""
    return lambda sums: (ratio(sums[part], sums[of]), sums[of])


def difference(one: Formula, other: Formula) -> Formula:
    """One measure minus another, with the denominator of the first."""
    return lambda sums: (one(sums)[0] - other(sums)[0], one(sums)[1])


@dataclass(frozen=True)
class Figure:
    """A measure of R runs, and what it is in each bootstrap sample.

    Attributes:
        values: (R,) shares or differences of shares; NaN where the measure is undefined.
        n: (R,) denominators.
        drawn: (n_samples, R) likewise in each sample; `n_samples` is 0 without a bootstrap.
    """

    values: Floats
    n: Floats
    drawn: Floats

    def minus(self, other: "Figure") -> "Figure":
        """The difference, run by run and draw by draw."""
        return Figure(self.values - other.values, self.n, self.drawn - other.drawn)

    def measure(self, runs: slice = slice(None)) -> Measure:
        """The mean over those of the given runs that define it, in per cent or percentage points."""
        values, n = self.values[runs], int(self.n[runs].sum())
        defined = ~np.isnan(values)
        if not defined.any():
            return Measure(None, n)
        found, drawn = values[defined], self.drawn[:, runs][:, defined]
        return Measure(
            value=100 * float(found.mean()),
            n=n,
            interval=interval(100 * drawn.mean(axis=1)) if len(drawn) else None,
            deviation=100 * float(found.std(ddof=1)) if len(found) > 1 else None,
        )


@dataclass(frozen=True)
class GroupFigures:
    """The measures of a group of questions by name, and its counts by name, each (R,)."""

    figures: Mapping[str, Figure]
    counts: Mapping[str, Ints] = field(default_factory=dict)

    def scores(self, runs: slice = slice(None)) -> Scores:
        """The means over the given runs, and the sums of their counts."""
        return Scores(
            {name: figure.measure(runs) for name, figure in self.figures.items()},
            {name: int(count[runs].sum()) for name, count in self.counts.items()},
        )

    def scored(self) -> Scored:
        """The scores of each run, and their mean."""
        n_runs = len(next(iter(self.figures.values())).values)
        return Scored(tuple(self.scores(slice(k, k + 1)) for k in range(n_runs)), self.scores())


def score_flags(
    flags: Mapping[str, Flags],
    measures: Measures,
    groups: Mapping[str, Numbers],
    units: Ints,
    *,
    bootstrap: int = 0,
    seed: Sequence[int] = (0,),
    counts: Mapping[str, Flags] | None = None,
) -> dict[str, dict[int, GroupFigures]]:
    """For each breakdown and group that has a question: the measures of each run.

    Args:
        flags: name -> (R, K) what formulas sum; the first says what a run answered. Units of which no run
            answered a question are not drawn.
        measures: a table of `clevrhope.metrics.measures`.
        groups: breakdown -> (K,) the group of each question, numbered from 0.
        units: (K,) what the bootstrap draws with replacement.
        bootstrap: number of bootstrap samples; 0 for no intervals.
        seed: seed of the bootstrap.
        counts: name -> (R, K) what is summed and shown beside the measures.
    """
    counts = counts or {}
    answered = next(iter(flags.values())).any(axis=0)
    numbers, at = np.unique(units[answered] if bootstrap else units[:0], return_inverse=True)
    places = {by: np.unique(group, return_inverse=True) for by, group in groups.items()}
    tables = []
    for present, place in places.values() if len(numbers) else ():
        cells = at * len(present) + place[answered]
        n_cells = len(numbers) * len(present)
        table = np.stack([_sums(each[:, answered], cells, n_cells) for each in flags.values()], axis=-1)
        tables.append(table.reshape(len(numbers), -1))
    if tables:
        drawn = resample(np.concatenate(tables, axis=1), n_samples=bootstrap, seed=seed)
        by_group = np.split(drawn, np.cumsum([table.shape[1] for table in tables])[:-1], axis=1)
    else:
        by_group = [np.zeros(0)] * len(places)
    found: dict[str, dict[int, GroupFigures]] = {}
    for (by, (present, place)), of_group in zip(places.items(), by_group, strict=True):
        sums = {name: _sums(each, place, len(present)) for name, each in {**flags, **counts}.items()}
        n_runs = len(next(iter(flags.values())))
        cube = of_group.reshape(-1, len(present), n_runs, len(flags))
        samples = {name: cube[..., k] for k, name in enumerate(flags)}
        measured = {name: (*kind.formula(sums), kind.formula(samples)[0]) for name, kind in measures.items()}
        found[by] = {
            number: GroupFigures(
                {name: Figure(values[g], n[g], drawn[:, g]) for name, (values, n, drawn) in measured.items()},
                {name: sums[name][g].astype(np.int64) for name in counts},
            )
            for g, number in enumerate(present.tolist())
        }
    return found


def _sums(flags: Flags, place: npt.NDArray[np.integer[Any]], n_places: int) -> Floats:
    """(n_places, R) sums of (R, K) flags over the questions in each place."""
    return np.stack([np.bincount(place, row, minlength=n_places) for row in flags], axis=1)
