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
from clevrhope.metrics.bootstrap import Floats, interval, noise_of_items, ratio, resample, with_wilson, within
from clevrhope.metrics.results import Measure, Scored, Scores

Flags = npt.NDArray[np.bool_] | npt.NDArray[np.integer[Any]]
"""(R, K) what is summed: of each of R runs, a flag or a small number for each of K questions."""

Formula = Callable[[Mapping[str, Floats]], tuple[Floats, Floats]]
"""From sums of flags by name, each (..., R), to a measure, NaN where it is undefined, and its denominator."""


@dataclass(frozen=True)
class Kind:
    """A measure: its heading in tables, and its formula over the sums of flags."""

    heading: str
    formula: Formula
    signed: bool = False
    """Whether it is a difference, from -1 to 1, shown with its sign."""
    is_share: bool = True
    """Whether it is a share or a difference of shares; a quotient of differences has no bounds."""


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
        n_units: (R,) how many units that the bootstrap draws it is of.
        signed: whether it is a difference of shares, from -1 to 1, and not a share.
    """

    values: Floats
    n: Floats
    drawn: Floats
    n_units: Floats
    signed: bool = False

    def minus(self, other: "Figure") -> "Figure":
        """The difference, run by run and draw by draw."""
        values, n_units = self.values - other.values, np.minimum(self.n_units, other.n_units)
        drawn = with_wilson(values, self.drawn - other.drawn, n_units, signed=True, seed=(0,))
        return Figure(values, self.n, drawn, n_units, signed=True)

    def measure(self, runs: slice = slice(None)) -> Measure:
        """The mean over those of the given runs that define it, in per cent or percentage points."""
        values, n = self.values[runs], int(self.n[runs].sum())
        defined = ~np.isnan(values)
        if not defined.any():
            return Measure(None, n)
        of_runs, drawn = values[defined], self.drawn[:, runs][:, defined]
        in_samples = drawn.mean(axis=1)
        if len(of_runs) > 1:
            noise = noise_of_items(of_runs, len(drawn))
            in_samples = within(in_samples + noise, of_runs, self.signed)
        return Measure(
            value=100 * float(of_runs.mean()),
            n=n,
            interval=interval(100 * in_samples) if len(drawn) else None,
            deviation=100 * float(of_runs.std(ddof=1)) if len(of_runs) > 1 else None,
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
    tables, n_units = [], []
    for present, place in places.values() if len(numbers) else ():
        cells = at * len(present) + place[answered]
        n_cells = len(numbers) * len(present)
        table = np.stack([_sums(each[:, answered], cells, n_cells) for each in flags.values()], axis=-1)
        tables.append(table.reshape(len(numbers), -1))
        n_units.append((table[..., 0] > 0).reshape(len(numbers), len(present), -1).sum(axis=0))
    if tables:
        drawn = resample(np.concatenate(tables, axis=1), n_samples=bootstrap, seed=seed)
        by_group = np.split(drawn, np.cumsum([table.shape[1] for table in tables])[:-1], axis=1)
    else:
        by_group = [np.zeros(0)] * len(places)
        n_units = [np.zeros((1, 1))] * len(places)
    found: dict[str, dict[int, GroupFigures]] = {}
    for (by, (present, place)), of_group, units_of in zip(places.items(), by_group, n_units, strict=True):
        sums = {name: _sums(each, place, len(present)) for name, each in {**flags, **counts}.items()}
        n_runs = len(next(iter(flags.values())))
        cube = of_group.reshape(-1, len(present), n_runs, len(flags))
        samples = {name: cube[..., k] for k, name in enumerate(flags)}
        measured = {}
        for k, (name, kind) in enumerate(measures.items()):
            values, n = kind.formula(sums)  # (G, R)
            at_most = np.minimum(units_of, n)
            drawn = kind.formula(samples)[0]  # (n_samples, G, R)
            if kind.is_share:
                drawn = with_wilson(values, drawn, at_most, signed=kind.signed, seed=(*seed, k))
            measured[name] = (values, n, drawn, at_most)
        found[by] = {
            number: GroupFigures(
                {
                    name: Figure(values[g], n[g], drawn[:, g], at_most[g], measures[name].signed)
                    for name, (values, n, drawn, at_most) in measured.items()
                },
                {name: sums[name][g].astype(np.int64) for name in counts},
            )
            for g, number in enumerate(present.tolist())
        }
    return found


def _sums(flags: Flags, place: npt.NDArray[np.integer[Any]], n_places: int) -> Floats:
    """(n_places, R) sums of (R, K) flags over the questions in each place."""
    return np.stack([np.bincount(place, row, minlength=n_places) for row in flags], axis=1)
