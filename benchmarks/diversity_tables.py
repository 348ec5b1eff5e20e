"""Accuracy over diversity from a table of runs: `python -m benchmarks.diversity_tables results.csv`.

It prints the tables that docs/results.md has of hour and, with --pair, of each pair of hour-pairs. They are
of the runs with their palette's own seed, at the end of training; intervals are t intervals over palettes,
and over images where a palette is alone.
"""

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from benchmarks.slopes_by_cluster import by_cluster, over_clusters
from clevrhope.metrics.results import Interval
from clevrhope.metrics.slopes import mean_slope, slope_on_diversity, t_reach
from clevrhope.splits.kinds import IID, OOD
from clevrhope.splits.palettes import parse_diversity

FLOOR = "question_only"

OWN = {
    "complex_iid, %": ("accuracy", IID),
    "complex_ood, %": ("accuracy", OOD),
    "gap, points": ("gap", "complex"),
    "matched gap": ("matched_gap", "complex"),
}
"""The model's figures that its runs have -> metric and split."""

TRANSFER, LIMIT = "normalised transfer", "if always right"

Curve = dict[int, dict[int, float]]
"""Combinations K -> palette -> a figure. A palette is the seed of its dataset; one that is alone is 0."""


class Runs:
    """The runs on nested palettes of a pair, of a model and of the question alone."""

    def __init__(self, path: Path, *, pair: str, model: str) -> None:
        self.pair, self.model = pair, model
        self._rows: defaultdict[int, list[dict[str, str]]] = defaultdict(list)
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                held_out, _, palette = row["hop"].partition("-")
                diversity = parse_diversity(palette)
                if held_out == pair and diversity:
                    self._rows[diversity[0]].append(
                        {**row, "palette": row["dataset"].partition("-")[2] or "0"}
                    )
        self.diversities = sorted(self._rows)

    def rows(
        self, k: int, metric: str, split: str, *, trained_on: int = 0, floor: bool = False
    ) -> Sequence[dict[str, str]]:
        """The rows of the test sets with K, at all checkpoints; `trained_on` is another K of the runs."""
        model, other = FLOOR if floor else self.model, f"{self.pair}-d{trained_on}" if trained_on else ""
        wanted = (model, metric, split, other)
        return [
            row
            for row in self._rows[k]
            if (row["model"], row["metric"], row["split"], row["trained_on"]) == wanted
            and (row["palette"] == "0" or row["run"] == row["palette"])
        ]

    def values(self, k: int, metric: str, split: str, **which: Any) -> dict[int, float]:
        """Palette -> the value at the end of training."""
        rows = self.rows(k, metric, split, **which)
        return {int(r["palette"]): float(r["mean_percent"]) for r in rows if r["checkpoint"] == "last"}

    def reached(self, k: int, **which: Any) -> dict[int, float]:
        """Palette -> the mean OOD accuracy at the two checkpoints that `evaluate --reaching` chose."""
        found: defaultdict[int, list[float]] = defaultdict(list)
        for row in self.rows(k, "accuracy", OOD, **which):
            if row["checkpoint"] != "last":
                found[int(row["palette"])].append(float(row["mean_percent"]))
        return {palette: fmean(values) for palette, values in found.items()}


def figures(runs: Runs, k: int) -> dict[str, dict[int, float]]:
    """The columns of the table -> palette -> value at K."""
    found = {name: runs.values(k, *of) for name, of in OWN.items()}
    blind = {
        name: runs.values(k, "accuracy", split, floor=True) for name, split in (("IID", IID), ("OOD", OOD))
    }
    iid, ood = found["complex_iid, %"], found["complex_ood, %"]
    found |= {f"question alone, {name}": of for name, of in blind.items()}
    found[TRANSFER] = {p: (ood[p] - blind["OOD"][p]) / (iid[p] - blind["IID"][p]) for p in iid}
    found[LIMIT] = {p: (100 - blind["OOD"][p]) / (100 - blind["IID"][p]) for p in iid}
    return found


def table(runs: Runs) -> str:
    """A row for each K: means over palettes."""
    lines: list[str] = []
    for k in runs.diversities:
        found = figures(runs, k)
        if not lines:
            lines = [_line(["combinations", "palettes", *found]), "|" + "---:|" * (2 + len(found))]
        n = len(found["complex_iid, %"])
        lines.append(
            _line([str(k), str(n), *(_mean(runs, k, name, [*of.values()]) for name, of in found.items())])
        )
    return "\n".join(lines)


def _mean(runs: Runs, k: int, name: str, values: Sequence[float]) -> str:
    mean, reach = fmean(values), t_reach(values)
    if len(values) > 1 and not name.startswith(("question", LIMIT)):
        return _estimate(mean, Interval(mean - reach, mean + reach), name)
    if len(values) == 1 and name in OWN:
        (row,) = (row for row in runs.rows(k, *OWN[name]) if row["checkpoint"] == "last")
        return _estimate(mean, Interval(float(row["low"]), float(row["high"])), name)
    return _number(mean, name)


def curves(runs: Runs) -> dict[str, Curve]:
    """The figures whose slopes are tested, over the K that several palettes have; the first one is primary.

    Palettes that lack a figure at some K, as those that never reached 90% do, are left out of it.
    """
    ks = [k for k in runs.diversities if len(figures(runs, k)["complex_iid, %"]) > 1]
    least, own = ks[0], {k: figures(runs, k) for k in ks}
    others = {k: {"trained_on": k} if k != least else {} for k in ks}
    same = f"complex_ood of the palette's {least} combinations"
    found = {f"**primary:** {same}, %": {k: runs.values(least, "accuracy", OOD, **others[k]) for k in ks}}
    found |= {f"own {name}": {k: own[k][name] for k in ks} for name in ("complex_ood, %", "complex_iid, %")}
    found |= {name: {k: own[k][name] for k in ks} for name in (TRANSFER, LIMIT)}
    found[f"{same}, first at 90%, %"] = {k: runs.reached(least, **others[k]) for k in ks}
    for name, curve in found.items():
        whole = set.intersection(*map(set, curve.values()))
        found[name] = {k: {p: of[p] for p in sorted(whole)} for k, of in curve.items()}
    return {name: curve for name, curve in found.items() if len(curve[least]) > 1}


def slopes_table(runs: Runs) -> str:
    """A row for each figure: what a doubling of K adds, over clusters of palettes and over palettes."""
    heads = [
        "slope over clusters [95%]",
        "p, sign flips",
        "detectable",
        "palettes, clusters",
        "slope over palettes [95%]",
    ]
    lines = [_line(["figure", *heads]), "|---|" + "---:|" * len(heads)]
    for name, curve in curves(runs).items():
        slopes = {
            p: slope_on_diversity({k: of[p] for k, of in curve.items()}) for p in next(iter(curve.values()))
        }
        clusters = by_cluster(slopes, runs.pair)
        mean, of_palettes = over_clusters(clusters), mean_slope([*slopes.values()])
        cells = [
            f"{mean.p_value:.3f}",
            _number(mean.detectable, name).lstrip("+"),
            f"{len(slopes)}, {len(clusters)}",
        ]
        means = [_estimate(each.value, each.interval, f"slope of {name}") for each in (mean, of_palettes)]
        lines.append(_line([name, means[0], *cells, means[1]]))
    return "\n".join(lines)


def _estimate(value: float, interval: Interval, name: str) -> str:
    return f"{_number(value, name)} [{_number(interval.low, name)}, {_number(interval.high, name)}]"


def _number(value: float, name: str) -> str:
    """A number with the decimals of a figure; gaps and slopes have a sign."""
    sign = "+" if "gap" in name or "slope" in name else ""
    digits = 2 if TRANSFER in name or LIMIT in name else 1
    return f"{value:{sign}.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def printed(path: Path, pair: str, model: str = "object_transformer") -> str:
    """Both tables of a pair, as Markdown."""
    runs = Runs(path, pair=pair, model=model)
    return f"{table(runs)}\n\n{slopes_table(runs)}"


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--pair", default="cyan_cylinder", show_default=True)
@click.option("--model", default="object_transformer", show_default=True)
def main(results: Path, pair: str, model: str) -> None:
    """Prints the tables of accuracy and of slopes of a pair."""
    click.echo(printed(results, pair, model))


if __name__ == "__main__":
    main()
