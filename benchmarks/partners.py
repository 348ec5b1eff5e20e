"""Combinations or partners? Main effects and interaction: `python -m benchmarks.partners results.csv`.

It prints the analysis that experiments/partners.toml describes.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import click
import numpy as np

from benchmarks.shared_questions import Score, read_scores
from clevrhope.metrics.slopes import MeanSlope, mean_slope

CELLS = ("k8_one", "k8_five", "k16_one", "k16_five")

WEIGHTS = {
    "combinations, 16 minus 8": (-0.5, -0.5, 0.5, 0.5),
    "partners, 5 colors minus 1": (-0.5, 0.5, -0.5, 0.5),
    "interaction": (1, -1, -1, 1),
}
"""Effect -> the weights of the cells; the first two are primary."""


def effects(scores: Iterable[Score]) -> dict[str, MeanSlope]:
    """Each effect, in points, over the draws, with a t interval and an exact sign-flip test.

    Raises:
        ValueError: a draw lacks a cell, or has two runs of one.
    """
    cells: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for each in scores:
        if each.palette in CELLS:
            if each.palette in cells[each.replicate]:
                raise ValueError(f"{each.dataset}: two runs of {each.palette}")
            cells[each.replicate][each.palette] = each.percent
    for draw, of_draw in cells.items():
        if len(of_draw) < len(CELLS):
            raise ValueError(f"draw {draw}: only {', '.join(of_draw)} of {', '.join(CELLS)}")
    table = np.array([[cells[draw][cell] for cell in CELLS] for draw in sorted(cells)])  # (draws, 4)
    return {name: mean_slope((table @ np.array(weights)).tolist()) for name, weights in WEIGHTS.items()}


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--model", default="object_transformer")
def main(results: Path, model: str) -> None:
    """Prints the effects on a model and on the question alone, as Markdown."""
    click.echo(
        "| | effect | points [95% interval] | p, sign flips | detectable | draws |\n"
        "|---|---|---:|---:|---:|---|"
    )
    for name in (model, "question_only"):
        for effect, found in effects(read_scores(results, model=name, asked="cyan_cylinder-base")).items():
            low, high = found.interval.low, found.interval.high
            draws = ", ".join(f"{each:+.1f}" for each in sorted(found.slopes))
            click.echo(
                f"| {name} | {effect} | {found.value:+.1f} [{low:+.1f}, {high:+.1f}] | {found.p_value:.3f} | "
                f"{found.detectable:.1f} | {draws} |"
            )


if __name__ == "__main__":
    main()
