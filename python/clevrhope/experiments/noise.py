"""Which differences an experiment can detect, by how much the runs of the experiment hour differed."""

import csv
from collections import defaultdict
from collections.abc import Iterable
from importlib.util import find_spec
from typing import NamedTuple

from clevrhope.experiments.plan import Plan
from clevrhope.runtime import assets
from clevrhope.splits.palettes import MARK, parse_diversity

FILE = "hour/noise.csv"
"""Below the experiments' folder: the components of a run's variance, as benchmarks/noise.py writes them."""


class Detectable(NamedTuple):
    """What `runs` of either of two models, on palettes of their own, find with K `combinations`.

    `points` is the difference of OOD accuracies in points that 80% of experiments find, `at_most` the
    same at the upper bound of the noise.
    """

    combinations: int
    runs: int
    points: float
    at_most: float


def detectable(plan: Plan) -> list[Detectable]:
    """What the experiment finds at each K of nested diversities that several palettes have and hour had.

    It is empty where scipy is not installed, or there is no file of the noise.
    """
    path = assets.experiments() / FILE
    if find_spec("scipy") is None or not path.exists():
        return []
    from clevrhope.metrics.slopes import detectable_difference

    palettes = defaultdict[tuple[int, str] | None, set[str]](set)
    for run in plan.runs:
        arguments = run.steps[0].arguments
        hop = arguments[arguments.index("--hop") + 1]
        palettes[parse_diversity(hop.partition(MARK)[2])].add(run.dataset)
    with path.open(newline="") as file:
        noise = {int(row["combinations"]): row for row in csv.DictReader(file) if row["component"] == "all"}
    runs = {k: len(palettes[k, "nested"]) for k in noise}
    return [
        Detectable(k, n, *(detectable_difference(n, float(noise[k][each])) for each in ("sd", "high")))
        for k, n in runs.items()
        if n > 1
    ]


def in_words(found: Iterable[Detectable]) -> str:
    """The sentence of a plan."""
    parts = [f"{e.points:.1f} to {e.at_most:.1f} at K = {e.combinations} ({e.runs} runs each)" for e in found]
    return (
        "Points of OOD accuracy by which two models have to differ for 80% of such experiments to tell them "
        f"apart, if runs differ as those of hour do, and at the upper bound of that: {', '.join(parts)}"
    )
