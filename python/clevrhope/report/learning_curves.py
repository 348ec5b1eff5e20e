"""Learning curves, from the logs of runs, and accuracy by the number of shots. Needs matplotlib."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from clevrhope.describe.stats.charts import FAINT, GRID, figure, svg
from clevrhope.metrics.results import PredicateScores, Results
from clevrhope.metrics.text_tables import MODELS
from clevrhope.report.figures import legend, look_of, looks_of
from clevrhope.report.page import Figure, file_name
from clevrhope.report.results import Result, grouped
from clevrhope.report.tuning import read_curve
from clevrhope.splits.covr.kinds import COVR_TEST

_MOST_CURVES = 8
"""Most panels of learning curves."""


_OF_MODELS: Mapping[str, Mapping[str, Any]] = {
    "text": {"color": FAINT, "marker": "D", "linestyle": ":"},
    "held_out_text": {"color": "#8C6D31", "marker": "P", "linestyle": ":"},
    "held_out": {"color": "#D55E00", "marker": "o"},
    "iid_size": {"color": "#0072B2", "marker": "s", "linestyle": "--"},
    "iid": {"color": "#56B4E9", "marker": "^", "linestyle": "--"},
}
"""The models of `MODELS` -> their lines."""


def shots_curves(scores: Results, number: int) -> Iterator[Figure]:
    """Few-shot accuracy over the number of shots, as in COVR's figure 13: a figure per model and sub-dataset.

    Each panel is a property that was held out with several numbers of shots, on the questions of covr_test
    that have it. `number` is of the dataset in the report, for the figures' names.
    """
    of_test = [row for row in scores.predicates if row.split == COVR_TEST]
    for place, rows in grouped(of_test, lambda row: (row.model, row.hop, row.train_size)).items():
        of_texts = grouped(rows, lambda row: row.training.predicate)
        panels = {text: of for text, of in of_texts.items() if len(of) > 1}
        if not panels:
            continue
        model, hop, size = place
        title = f"{model}, {hop}: accuracy on the questions with a property, by shots"
        n_rows, n_columns = -(-len(panels) // 3), min(len(panels), 3)
        with figure(title, width_in=0.8 + 3.8 * n_columns, height_in=0.8 + 3.6 * n_rows) as drawn:
            places = drawn.subplots(n_rows, n_columns, sharey=True, squeeze=False).ravel()
            for axes in places[len(panels) :]:
                axes.set_axis_off()
            for axes, (text, of_text) in zip(places, panels.items(), strict=False):
                _draw_panel(axes, sorted(of_text, key=lambda row: row.training.shots))
                axes.set_title(text, fontsize=9, wrap=True)
            places[0].set_ylabel("accuracy, %")
            there = {name for of in panels.values() for row in of for name in row.accuracies}
            legend(drawn, {MODELS[name]: dict(look) for name, look in _OF_MODELS.items() if name in there})
            name = file_name(f"{number} {model} {hop} {size or 'unknown'}")
            yield Figure(f"shots_{name}", title, *svg(drawn))


def _draw_panel(axes: Axes, rows: Sequence[PredicateScores]) -> None:
    """Draws the accuracy and its interval over the shots of each row, with a line for each model."""
    for name, look in _OF_MODELS.items():
        found = {k: row.accuracies[name]["accuracy"] for k, row in enumerate(rows) if name in row.accuracies}
        values = {k: measure.value for k, measure in found.items() if measure.value is not None}
        if values:
            axes.plot([*values], [*values.values()], linewidth=1.8, markersize=6, **look)
        for k, measure in found.items():
            if measure.interval:
                low, high = measure.interval.low, measure.interval.high
                axes.vlines(k, low, high, color=look["color"], linewidth=1.2)
    axes.set_xticks(range(len(rows)), [f"{row.training.shots:,}" for row in rows])
    axes.set_xlabel("shots")
    axes.set_ylim(0, 101)
    axes.grid(axis="y", color=GRID, linewidth=0.8)


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
        return Figure("learning_curves", "Learning curves", *svg(drawn))
