"""How far do processors differ? The same training on several sets of instructions of this one.

`python -m benchmarks.instructions OUT docs/results_instructions.csv` runs instructions.toml, which
is beside this file, on each set, 3 runs of about half a minute, and writes one table of all runs. A processor
without AVX-512 computes as this one does with AVX2, as far as torch, MKL and oneDNN choose their kernels by
instructions alone.
"""

import csv
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import click
import numpy as np

from clevrhope.splits.kinds import IID, OOD

SETTINGS = {
    "AVX-512": {"ATEN_CPU_CAPABILITY": "avx512"},
    "AVX2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
}
"""Instructions -> the variables by which torch, MKL and oneDNN keep to them."""

EXPERIMENT = Path(__file__).with_suffix(".toml")


def run(out: Path, table: Path) -> None:
    """Runs the experiment on each set of instructions, and joins the tables of runs into one.

    Raises:
        subprocess.CalledProcessError: a run failed; the command said why.
    """
    joined: list[dict[str, str]] = []
    for name, variables in SETTINGS.items():
        folder = out / name
        command = [sys.executable, "-m", "clevrhope", "experiment", str(EXPERIMENT), "--out", str(folder)]
        subprocess.run(command, check=True, env={**os.environ, **variables})
        with (folder / "report" / "results.csv").open(newline="") as file:
            joined += [{"instructions": name, **row} for row in csv.DictReader(file)]
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*joined[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(joined)


def accuracies(table: Path, split: str) -> dict[str, dict[int, float]]:
    """Instructions -> seed -> accuracy on a test set at the end of training, in per cent."""
    found: defaultdict[str, dict[int, float]] = defaultdict(dict)
    with table.open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["metric"], row["split"], row["checkpoint"]) == ("accuracy", split, "last"):
                found[row["instructions"]][int(row["run"])] = float(row["mean_percent"])
    return dict(found)


def differences(of: Mapping[str, Mapping[int, float]]) -> list[float]:
    """The differences in points between any two sets of instructions at the same seed."""
    return [abs(a[seed] - b[seed]) for a, b in combinations(of.values(), 2) for seed in a]


def deviations(of: Mapping[str, Mapping[int, float]]) -> tuple[float, float]:
    """Standard deviations in points: between instructions at a seed, and between seeds."""
    values = np.array([list(each.values()) for each in of.values()])  # (instructions, seeds)
    between = (values.var(axis=axis, ddof=1).mean() for axis in (0, 1))
    first, second = (float(np.sqrt(each)) for each in between)
    return first, second


def printed(table: Path) -> str:
    """The table of all runs as Markdown: a row for each set of instructions."""
    of = {split: accuracies(table, split) for split in (IID, OOD)}
    seeds = [*next(iter(of[IID].values()))]
    lines = [f"| instructions | {' | '.join(f'seed {each}: IID, OOD' for each in seeds)} |"]
    lines.append("|---|" + "---:|" * len(seeds))
    for name in of[IID]:
        cells = (f"{of[IID][name][seed]:.1f}, {of[OOD][name][seed]:.1f}" for seed in seeds)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Runs all, and prints a row for each set of instructions."""
    out, table = map(Path, arguments)
    run(out, table)
    click.echo(printed(table))
    for split in (IID, OOD):
        instructions, seeds = deviations(accuracies(table, split))
        click.echo(f"{split}: SD between instructions {instructions:.1f}, between seeds {seeds:.1f} points")


if __name__ == "__main__":
    main(sys.argv[1:])
