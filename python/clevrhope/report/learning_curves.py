"""Learning curves, from the logs of runs. Needs matplotlib."""

from collections.abc import Sequence
from pathlib import Path

from clevrhope.describe.stats.charts import GRID, figure, png
from clevrhope.report.figures import legend, look_of, looks_of
from clevrhope.report.page import Figure
from clevrhope.report.results import Result
from clevrhope.report.tuning import read_curve

_MOST_CURVES = 8
"""Most panels of learning curves."""


def learning_curves(results: Sequence[Result]) -> Figure | None:
    """A panel for each model with the accuracy on the set that it was tuned on, or else its loss."""
    curves: dict[str, dict[Path, tuple[int, list[tuple[int, float]]]]] = {}
    ylabels: dict[str, str] = {}
    for each in results:
        if not each.source.way:
            tuned_on, points = read_curve(each.source.origin / "log.jsonl")
            ylabel = "accuracy on the tuning set, %" if tuned_on else "training loss"
            if len(points) > 1 and ylabels.setdefault(each.model, ylabel) == ylabel:
                curves.setdefault(each.model, {})[each.source.origin] = (each.diversity, points)
    if not curves:
        return None
    shown = dict(list(curves.items())[:_MOST_CURVES])
    n_rows, n_columns = -(-len(shown) // 4), min(len(shown), 4)
    with figure("Learning curves", width_in=0.8 + 3.6 * n_columns, height_in=3.4 * n_rows) as drawn:
        panels = drawn.subplots(n_rows, n_columns, squeeze=False).ravel()
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        for axes, (model, runs) in zip(panels, shown.items(), strict=False):
            for diversity, points in runs.values():
                colour = look_of(diversity)["color"]
                axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.1, alpha=0.85)
            axes.set_title(model)
            axes.set_xlabel("updates")
            axes.set_ylabel(ylabels[model])
            axes.grid(axis="y", color=GRID, linewidth=0.8)
            if ylabels[model].endswith("%"):
                axes.set_ylim(0, 101)
        diversities = {diversity for runs in shown.values() for diversity, _ in runs.values()} - {0}
        if diversities:
            legend(drawn, looks_of(sorted(diversities)))
        return Figure("learning_curves", "Learning curves", png(drawn))
