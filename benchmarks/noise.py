"""How much of a figure is noise, and of which kind: `python -m benchmarks.noise docs/results/hour.csv`.

For each number of combinations K, the variance of the primary figure of experiments/hour.toml is split into
four components: combinations, data, seeds and images. An interval of a component is as wide as its degrees
of freedom make it. A second table says how many runs a claim of 3 points needs.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, sqrt
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from scipy import stats

from benchmarks.palette_files import SECOND_DRAWS
from benchmarks.shared_questions import Score, read_scores
from benchmarks.slopes_by_cluster import seen_by
from clevrhope.metrics.slopes import LEVEL, POWER, detectable_difference

CLAIM = 3.0
"""Points."""


class MeanSquare(NamedTuple):
    """A mean square and its degrees of freedom; those of a variance that is known are infinite."""

    value: float
    df: float


@dataclass(frozen=True)
class Component:
    """A standard deviation in points, with its 95% interval.

    Attributes:
        sd: the estimate; 0 if the difference of mean squares is negative.
        low, high: the interval.
        df: degrees of freedom, by Satterthwaite where several mean squares are combined.
    """

    sd: float
    low: float
    high: float
    df: float


@dataclass(frozen=True)
class Runs:
    """The runs with one K.

    Attributes:
        draws: for each set of combinations, the accuracies of the runs with their datasets' own seeds, a run
            for each draw of data.
        seeds: two accuracies on the same data, of two seeds.
        images: the mean variance over images.
    """

    draws: Sequence[Sequence[float]]
    seeds: Sequence[tuple[float, float]]
    images: float


def components(runs: Runs) -> dict[str, Component]:
    """The components of the variance of a run, and `all`, that between runs on different combinations.

    Two seeds on the same data differ by the seed alone, as they answer the same questions. Two draws of data
    with the same combinations differ by data, seed and images; two sets of combinations by all four.
    """
    seed = _pooled(runs.seeds)
    draw = _pooled(runs.draws)
    whole = _pooled([[own[0] for own in runs.draws]])
    images = MeanSquare(runs.images, inf)
    return {
        "combinations": _difference(whole, draw),
        "data": _difference(draw, seed, images),
        "seed": _difference(seed),
        "images": _difference(images),
        "all": _difference(whole),
    }


def _pooled(groups: Iterable[Sequence[float]]) -> MeanSquare:
    """The variance within groups."""
    several = [np.array(each) for each in groups if len(each) > 1]
    df = sum(len(each) - 1 for each in several)
    return (
        MeanSquare(sum(float(((e - e.mean()) ** 2).sum()) for e in several) / df, df)
        if df
        else MeanSquare(0, 0)
    )


def _difference(first: MeanSquare, *less: MeanSquare) -> Component:
    """The component of a mean square that is left when others are subtracted."""
    value = first.value - sum(each.value for each in less)
    if value <= 0 or not first.df:
        return Component(0.0, 0.0, _limits(first)[1], first.df)
    spread = sum(each.value**2 / each.df for each in (first, *less) if each.df)
    df = value**2 / spread if spread else inf
    return Component(sqrt(value), *_limits(MeanSquare(value, df)), df)


def _limits(square: MeanSquare) -> tuple[float, float]:
    """The 95% interval of a standard deviation, by the chi-square distribution."""
    if square.df == inf or not square.df:
        return sqrt(square.value), sqrt(square.value) if square.df else inf
    tail = (1 - LEVEL) / 2
    quantiles = (float(stats.chi2.ppf(each, square.df)) for each in (1 - tail, tail))
    low, high = (square.df / each if each else inf for each in quantiles)
    return sqrt(square.value * low), sqrt(square.value * high)


def runs_for(points: float, sd: float) -> int:
    """Runs in each of two conditions with which a t test at 5% finds a difference in 80% of experiments.

    Args:
        points: the difference.
        sd: standard deviation of a run.
    """
    least = 2 * (float(stats.norm.ppf(0.5 + LEVEL / 2) + stats.norm.ppf(POWER)) * sd / points) ** 2
    n = max(2, int(least))  # a t test needs somewhat more than a test with a known deviation
    while detectable_difference(n, sd) > points:
        n += 1
    return n


def runs_of(nested: Sequence[Score], again: Sequence[Score], diversity: int) -> Runs:
    """The runs with K combinations: on palettes drawn with their seeds, and on second draws of their data."""
    name = str(diversity)
    first = {e.replicate: e.percent for e in nested if e.palette == f"d{name}" and e.run == e.replicate}
    draws: defaultdict[object, list[float]] = defaultdict(list)
    for seed, percent in sorted(first.items()):
        draws[seen_by("cyan_cylinder", seed, diversity)].append(percent)
    for each in again:
        if each.palette == f"k{name}":
            draws[seen_by("cyan_cylinder", SECOND_DRAWS[each.replicate], diversity)].append(each.percent)
    second = [each for each in nested if each.palette == f"d{name}" and each.run != each.replicate]
    known = [e.of_images for e in nested if e.palette == f"d{name}" and not isnan(e.of_images)]
    images = float(np.mean(known)) if known else 0.0
    return Runs([*draws.values()], [(first[each.replicate], each.percent) for each in second], images)


def read_components(results: Path, model: str = "object_transformer") -> dict[int, dict[str, Component]]:
    """The components for K = 4, 8 and 16, from the table of runs of hour."""
    nested = read_scores(results, model=model, asked="cyan_cylinder-d4")
    again = read_scores(results, model=model, asked="cyan_cylinder-k4")
    return {k: components(runs_of(nested, again, k)) for k in (4, 8, 16)}


def tables(of_diversities: Mapping[int, Mapping[str, Component]]) -> str:
    """Both tables as Markdown."""
    lines = ["| K | component | SD, points | 95% interval | df |", "|---:|---|---:|---:|---:|"]
    for k, found in of_diversities.items():
        lines += [
            f"| {k} | {name} | {e.sd:.1f} | {e.low:.1f} to {e.high:.1f} | {e.df:.1f} |"
            for name, e in found.items()
        ]
    lines += [
        "",
        f"Runs in each of two conditions for a difference of {CLAIM:g} points, at the estimate and at the",
    ]
    lines += [
        "upper end of its interval:",
        "",
        "| K | the same data, other seeds | other combinations |",
        "|---:|---:|---:|",
    ]
    for k, found in of_diversities.items():
        cells = [
            f"{runs_for(CLAIM, e.sd)} to {runs_for(CLAIM, e.high)}" if e.high < inf else "unknown"
            for e in (found["seed"], found["all"])
        ]
        lines.append(f"| {k} | {' | '.join(cells)} |")
    return "\n".join(lines)


def as_csv(of_diversities: Mapping[int, Mapping[str, Component]]) -> str:
    """The first table as `clevrhope.experiments.noise` reads it; an interval without an end has inf."""
    rows = [
        f"{k},{name},{e.sd:.3f},{e.low:.3f},{e.high:.3f},{e.df:.1f}\n"
        for k, found in of_diversities.items()
        for name, e in found.items()
    ]
    return "".join(["combinations,component,sd,low,high,df\n", *rows])


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--model", default="object_transformer")
@click.option(
    "--write", type=click.Path(path_type=Path), help="Also write the components, for plans, to a CSV."
)
def main(results: Path, model: str, write: Path | None) -> None:
    """Prints the components for K = 4, 8 and 16, and the runs that a claim needs."""
    found = read_components(results, model)
    click.echo(tables(found))
    if write is not None:
        write.write_text(as_csv(found))


if __name__ == "__main__":
    main()
