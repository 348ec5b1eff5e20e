"""Which differences an experiment can find, by how much the runs of the experiment hour differed."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from clevrhope.experiments.plan import Plan
from clevrhope.runtime import assets
from clevrhope.splits.palettes import MARK, parse_diversity

FILE = "hour/noise.csv"
"""Below the experiments' folder: the components of a run's variance, as benchmarks/noise.py writes them."""


class Detectable(NamedTuple):
    """What n runs of either of two models find, with K combinations.

    Attributes:
        combinations: K.
        runs: n, on palettes of their own or, where there is one palette, with seeds of their own.
        points: the difference of their OOD accuracies that 80% of experiments find, in percentage points.
        at_most: the same at the upper bound of the noise.
    """

    combinations: int
    runs: int
    points: float
    at_most: float


def detectable(plan: Plan) -> list[Detectable]:
    """The differences that the experiment finds, for each K of nested diversities whose noise is known.

    It is empty if scipy is not installed.
    """
    with suppress(ImportError):
        return [*_detectable(plan)]
    return []


def in_words(found: Iterable[Detectable]) -> str:
    """The sentence of a plan."""
    parts = [f"{e.points:.1f} to {e.at_most:.1f} at K = {e.combinations} ({e.runs} runs each)" for e in found]
    return (
        "Points of OOD accuracy by which two models have to differ for 80% of such experiments to tell them "
        f"apart, if runs differ as those of hour do, and at the upper bound of that: {', '.join(parts)}"
    )


def _detectable(plan: Plan) -> Iterator[Detectable]:
    from clevrhope.metrics.slopes import detectable_difference

    path = assets.experiments() / FILE
    if not path.exists():
        return
    with path.open(newline="") as file:
        noise = {(int(row["combinations"]), row["component"]): row for row in csv.DictReader(file)}
    datasets, seeds = defaultdict[int, set[str]](set), defaultdict[int, set[str]](set)
    for run in plan.runs:
        arguments = run.steps[0].arguments
        hop, seed = (arguments[arguments.index(option) + 1] for option in ("--hop", "--seed"))
        diversity = parse_diversity(hop.partition(MARK)[2])
        if diversity is not None and diversity[1] == "nested":
            datasets[diversity[0]].add(run.dataset)
            seeds[diversity[0]].add(seed)
    for k in sorted(datasets):
        several = len(datasets[k]) > 1
        row, n = noise.get((k, "all" if several else "seed")), len((datasets if several else seeds)[k])
        if row is not None and n > 1:
            yield Detectable(k, n, *(detectable_difference(n, float(row[e])) for e in ("sd", "high")))
