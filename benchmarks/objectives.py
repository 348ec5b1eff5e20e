"""Compares learning from rewards with learning from labels: `python -m benchmarks.objectives out/rewards`.

It reads what `clevrhope experiment rewards` wrote, prints the comparison that experiments/rewards.toml
describes and a table of every run as Markdown, and writes that table to runs.csv in the report's folder.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import click

from clevrhope.metrics.slopes import MeanSlope, mean_slope
from clevrhope.splits.kinds import IID, OOD
from clevrhope.training.request import COLLAPSED
from clevrhope.training.run_folder import RunFolder

FLOOR = "question_only"
"""The model that reads the question alone."""

FIGURES = ("ood", "iid", "gap", "smallest_ood", "updates")
"""What is compared; the first is the primary figure."""


@dataclass(frozen=True)
class Run:
    """A finished run; accuracies are in per cent.

    Attributes:
        palette: the seed of its dataset.
        combinations: how many of them its dataset has.
        learned_from: "labels" or "rewards"; of a model that reads the question alone, `FLOOR`.
        updates: made when it stopped.
        reached: whether it stopped at the accuracy on val_iid at which it should; "" if there is none.
        val_iid: accuracy at the last evaluation on val_iid.
        most_frequent: questions of val_iid that got the most frequent answer there, in per cent.
        collapsed: whether it gives nearly all questions one answer, or is below the question alone.
        iid, ood, gap: of its sub-dataset's complex test sets.
        smallest_ood: accuracy on complex_ood of the palette with the fewest combinations.
    """

    palette: int
    combinations: int
    learned_from: str
    updates: int
    reached: bool | str
    val_iid: float
    most_frequent: float
    collapsed: bool
    iid: float
    ood: float
    gap: float
    smallest_ood: float


def read_runs(out: Path) -> list[Run]:
    """The finished runs of an experiment, by palette, combinations and what they learned from."""
    with (out / "report" / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "accuracy"]
    folders = [RunFolder(path.parent) for path in sorted((out / "runs").glob("*/finished.json"))]
    runs = [_read_run(folder, rows) for folder in folders]
    floors = {(run.palette, run.combinations): run.val_iid for run in runs if run.learned_from == FLOOR}
    marked = [
        replace(
            run,
            collapsed=run.learned_from != FLOOR
            and (run.most_frequent >= COLLAPSED or run.val_iid < floors[run.palette, run.combinations]),
        )
        for run in runs
    ]
    return sorted(marked, key=lambda run: (run.combinations, run.palette, run.learned_from))


def _read_run(folder: RunFolder, rows: Sequence[Mapping[str, str]]) -> Run:
    info, last = folder.read(), folder.evaluations()[-1]
    recipe, hop, seed = info["recipe"], info["hop"], str(info["seed"])
    learned_from = recipe["stages"][-1].get("objective", "labels")
    of_rewards = learned_from == "rewards"
    accuracies = {
        (row["split"], row["hop"]): float(row["mean_percent"])
        for row in rows
        if row["model"].startswith(info["model"])
        and (row["trained_on"] or row["hop"], row["run"]) == (hop, seed)
        and ("objective=rewards" in row["model"]) == of_rewards
        and row["checkpoint"] == "last"
        and "best weights" not in row["model"]
    }
    iid, ood = (accuracies[split, hop] for split in (IID, OOD))
    smallest = min((name for _, name in accuracies), key=_combinations)
    stop_at = recipe.get("stop_at")
    return Run(
        palette=info["seed"],
        combinations=_combinations(hop),
        learned_from=FLOOR if info["model"] == FLOOR else learned_from,
        updates=json.loads(folder.finished.read_text())["updates"],
        reached="" if stop_at is None else last["accuracy"] >= stop_at,
        val_iid=last["accuracy"],
        most_frequent=last["most_frequent"],
        collapsed=False,
        iid=iid,
        ood=ood,
        gap=ood - iid,
        smallest_ood=accuracies[OOD, smallest],
    )


def _combinations(hop: str) -> int:
    return int(hop.rpartition("-d")[2])


def differences(runs: Sequence[Run], combinations: int, figure: str, *, matched: bool = True) -> list[float]:
    """A figure from rewards minus that from labels, for each palette with both runs.

    With `matched`, only palettes of which both runs stopped at the accuracy at which they should.
    """
    found: dict[int, dict[str, Run]] = {}
    for run in runs:
        if run.combinations == combinations:
            found.setdefault(run.palette, {})[run.learned_from] = run
    pairs = [(each["rewards"], each["labels"]) for each in found.values() if {"rewards", "labels"} <= {*each}]
    return [
        float(getattr(rewards, figure) - getattr(labels, figure))
        for rewards, labels in pairs
        if not matched or (rewards.reached and labels.reached)
    ]


def comparison(runs: Sequence[Run]) -> Iterator[str]:
    """The lines of the comparison: counts of both kinds of runs, and a table of differences."""
    numbers = sorted({run.combinations for run in runs})
    for learned_from, number in product(("labels", "rewards"), numbers):
        own = [run for run in runs if (run.learned_from, run.combinations) == (learned_from, number)]
        n_reached, n_collapsed = sum(bool(run.reached) for run in own), sum(run.collapsed for run in own)
        yield (
            f"- from {learned_from}, {number} combinations: {len(own)} runs, {n_reached} reached the "
            f"accuracy, {n_collapsed} collapsed"
        )
    yield ""
    yield "| combinations | pairs | rewards minus labels | mean [95% t interval] | p | detectable | each |"
    yield "|---:|---|---|---:|---:|---:|---|"
    for number in numbers:
        for matched in (True, False):
            for figure in FIGURES if matched else FIGURES[:1]:
                values = differences(runs, number, figure, matched=matched)
                which = f"{len(values)} {'matched' if matched else 'of all'}"
                cells = _cells(mean_slope(values)) if len(values) > 1 else ("", "", "", "")
                yield f"| {number} | {which} | {figure} | {' | '.join(cells)} |"


def _cells(mean: MeanSlope) -> tuple[str, str, str, str]:
    low, high = mean.interval.low, mean.interval.high
    interval = f"{mean.value:+.1f} [{low:+.1f}, {high:+.1f}]"
    each = ", ".join(f"{value:+.1f}" for value in sorted(mean.slopes))
    return interval, f"{mean.p_value:.3f}", f"{mean.detectable:.1f}", each


def table(runs: Sequence[Run]) -> Iterator[str]:
    """The lines of a table of every run."""
    names = list(asdict(runs[0]))
    yield f"| {' | '.join(name.replace('_', ' ') for name in names)} |"
    yield f"|{'---|' * len(names)}"
    for run in runs:
        yield f"| {' | '.join(_text(value) for value in asdict(run).values())} |"


def _text(value: object, *, digits: int = 1) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
def main(out: Path) -> None:
    """Compares the runs of an experiment on rewards and labels."""
    runs = read_runs(out)
    click.echo("\n".join([*comparison(runs), "", *table(runs)]))
    with (out / "report" / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(asdict(runs[0]))
        rows.writerows([_text(value, digits=3) for value in asdict(run).values()] for run in runs)


if __name__ == "__main__":
    main()
