"""Combinations or partners? Main effects and interaction: `python -m benchmarks.partners results.csv`.

It prints the analysis that experiments/partners.toml describes, and draws its figure with --figure.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

import click
import numpy as np

from benchmarks.shared_questions import Score, read_scores
from clevrhope.describe.stats.charts import FAINT, GRID, figure, svg
from clevrhope.metrics.slopes import MeanSlope, mean_slope, t_reach

MODEL, FLOOR = "object_transformer", "question_only"

CELLS = ("k8_one", "k8_five", "k16_one", "k16_five")

WEIGHTS = {
    "combinations, 16 minus 8": (-0.5, -0.5, 0.5, 0.5),
    "partners, 5 colors minus 1": (-0.5, 0.5, -0.5, 0.5),
    "interaction": (1, -1, -1, 1),
}
"""Effect -> the weights of the cells; the first two are primary."""


def percents(scores: Iterable[Score]) -> dict[str, list[float]]:
    """Cell -> the accuracy of each draw, in per cent, in the order of the draws.

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
    return {cell: [cells[draw][cell] for draw in sorted(cells)] for cell in CELLS}


def effects(scores: Iterable[Score]) -> dict[str, MeanSlope]:
    """Each effect, in points, over the draws, with a t interval and an exact sign-flip test.

    Raises:
        ValueError: as `percents`.
    """
    table = np.array([*percents(scores).values()]).T  # (draws, 4)
    return {name: mean_slope((table @ np.array(weights)).tolist()) for name, weights in WEIGHTS.items()}


def read_cells(results: Path, model: str) -> list[Score]:
    """The runs of a model on the questions that all palettes of a draw answer."""
    return read_scores(results, model=model, asked="cyan_cylinder-base")


def cells_table(results: Path) -> str:
    """Accuracies of the four cells as Markdown, with 95% t intervals over draws."""
    model, floor = (percents(read_cells(results, name)) for name in (MODEL, FLOOR))
    lines = [
        "| combinations | colors of cylinders | draws | model, % | question alone, % |",
        "|---:" * 5 + "|",
    ]
    for cell in CELLS:
        k, _, colors = cell.removeprefix("k").partition("_")
        mean, reach = fmean(model[cell]), t_reach(model[cell])
        lines.append(
            f"| {k} | {colors} | {len(model[cell])} | {mean:.1f} [{mean - reach:.1f}, {mean + reach:.1f}] | "
            f"{fmean(floor[cell]):.1f} |"
        )
    return "\n".join(lines)


def effects_table(results: Path) -> str:
    """The effects on the model and on the question alone as Markdown."""
    heads = ("", "effect", "points [95% interval]", "p, sign flips", "detectable", "draws")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---:|---:|---:|---|"]
    for name in (MODEL, FLOOR):
        for effect, found in effects(read_cells(results, name)).items():
            low, high = found.interval.low, found.interval.high
            draws = ", ".join(f"{each:+.1f}" for each in sorted(found.slopes))
            lines.append(
                f"| {name} | {effect} | {found.value:+.1f} [{low:+.1f}, {high:+.1f}] | {found.p_value:.3f} | "
                f"{found.detectable:.1f} | {draws} |"
            )
    return "\n".join(lines)


def drawn(results: Path) -> str:
    """The figure as SVG: accuracy over the colors of cylinders, for 8 and for 16 combinations."""
    model, floor = (percents(read_cells(results, name)) for name in (MODEL, FLOOR))
    with figure("Accuracy over partners", width_in=6.4, height_in=3.6) as made:
        panels = made.subplots(1, 2, sharey=True)
        for axes, k in zip(panels, (8, 16), strict=True):
            values = np.array([model[f"k{k}_{colors}"] for colors in ("one", "five")])  # (2, draws)
            axes.plot((0, 1), values, color=FAINT, linewidth=1, marker="o", markersize=3)
            reaches = np.array([t_reach(of.tolist()) for of in values])
            axes.errorbar((0, 1), values.mean(axis=1), reaches, color="#0072B2", linewidth=2.5, marker="o")
            blind = [fmean(floor[f"k{k}_{colors}"]) for colors in ("one", "five")]
            axes.plot((0, 1), blind, color=FAINT, linestyle="--")
            axes.set_xticks((0, 1), ("1", "5"))
            axes.set_xlim(-0.3, 1.3)
            axes.set_xlabel("colors of cylinders seen")
            axes.set_title(f"{k} combinations")
            axes.grid(axis="y", color=GRID, linewidth=0.8)
        panels[0].set_ylabel("questions about the pair, %")
        return svg(made)[0]


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--figure", "image", type=click.Path(path_type=Path), help="Draw the figure into this SVG.")
def main(results: Path, image: Path | None) -> None:
    """Prints the cells, and the effects on the model and on the question alone, as Markdown."""
    click.echo(f"{cells_table(results)}\n\n{effects_table(results)}")
    if image is not None:
        image.write_text(drawn(results))


if __name__ == "__main__":
    main()
