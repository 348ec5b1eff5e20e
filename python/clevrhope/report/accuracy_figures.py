"""The paper's figures of accuracy: boxes over pairs, triangles of attribute types, and gaps over all pairs.

They are figures 5 to 8 (boxes), 9 and 14 (types) and 15 to 18 (mean gaps) of the paper's appendix. Needs
matplotlib.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm

from clevrhope.describe.stats.charts import FAINT, GRID, INK, figure, svg
from clevrhope.metrics.estimates import mean_of
from clevrhope.report.all_pairs import all_pairs, mean_gap
from clevrhope.report.page import Figure, file_name
from clevrhope.report.results import KINDS, Result, grouped, means_by
from clevrhope.report.tables import paper_gaps, paper_sizes, with_sign
from clevrhope.splits.hops import NAME_ORDER
from clevrhope.splits.kinds import PAIR_TEST_SPLITS

PAPER: Mapping[str, Any] = {"markerfacecolor": "none", "linestyle": "--"}
"""The look of lines with the paper's values."""

GAP_LABEL = "gap, percentage points\n(OOD minus IID accuracy)"

_FEWEST = 2
"""Fewest pairs, or types of pairs, for a figure over them."""

_COLOURS = dict(zip(KINDS, ("#0072B2", "#D55E00"), strict=True))
_LABEL_ENDS: Mapping[str, Any] = {"ha": "right", "va": "bottom", "fontsize": 8, "color": FAINT}


def accuracy_boxes(own: Sequence[Result], model: str) -> Figure | None:
    """Accuracy of pairs as boxes over train size, by test set, with a line at the constant answer's."""
    splits = [split for split in PAIR_TEST_SPLITS if any(split in each.accuracies for each in own)]
    sizes = sorted({each.train_size or 0 for each in own})
    if len({each.hop for each in own}) < _FEWEST:
        return None
    with figure(f"{model}: accuracy over held-out pairs", width_in=3.7 * len(splits), height_in=4.4) as drawn:
        panels = drawn.subplots(1, len(splits), sharey=True, squeeze=False)[0]
        for axes, split in zip(panels, splits, strict=True):
            for place, size in enumerate(sizes):
                of_size = [each for each in own if (each.train_size or 0) == size]
                means = [*means_by(lambda each: each.hop, of_size, "accuracy", split).values()]
                if means:
                    line = {"color": INK, "linewidth": 1.8}
                    axes.boxplot(means, positions=[place], widths=0.55, medianprops=line)
            constants = [each.constants[split] for each in own if split in each.constants]
            if constants:
                constant = mean_of(constants).value
                axes.axhline(constant, color=FAINT, linestyle="--", linewidth=1.2)
                axes.annotate(
                    f"constant answer, {constant:.0f}%", (len(sizes) - 0.45, constant), **_LABEL_ENDS
                )
            axes.set_title(split)
            axes.grid(axis="y", color=GRID, linewidth=0.8)
            axes.set_xticks(range(len(sizes)), [_size_text(size) for size in sizes])
            axes.set_xlim(-0.6, len(sizes) - 0.4)
            axes.set_xlabel("questions trained on")
        panels[0].set_ylabel("accuracy, %")
        return Figure(f"accuracy_{file_name(model)}", f"Accuracy of {model} over held-out pairs", *svg(drawn))


def type_triangles(own: Sequence[Result], model: str) -> Iterator[Figure]:
    """Means by the pair's two attribute types, at the largest train size: gaps, then accuracies."""
    own, largest = at_largest(each for each in own if len(each.types) == 2)
    if len({each.types for each in own}) < _FEWEST:
        return
    at = f"trained on {largest:,} questions" if largest else "trained on an unknown number of questions"
    for name, what, parts in (("types", "gap", KINDS), ("types_accuracy", "accuracy", PAIR_TEST_SPLITS)):
        of_parts = {part: means_by(lambda each: frozenset(each.types), own, what, part) for part in parts}
        if triangles := {part: cells for part, cells in of_parts.items() if cells}:
            title = f"{what.capitalize()} of {model} by attribute types, {at}"
            drawn = _draw_triangles(
                triangles, f"{model}: {what} by attribute types, {at}", is_gap=what == "gap"
            )
            yield Figure(f"{name}_{file_name(model)}", title, *drawn)


def _draw_triangles(
    triangles: Mapping[str, Mapping[frozenset[str], float]], title: str, *, is_gap: bool
) -> tuple[str, list[str]]:
    there = {kind for cells in triangles.values() for types in cells for kind in types}
    types = [kind for kind in dict.fromkeys((*NAME_ORDER, *sorted(there))) if kind in there]
    down, across = types[1:], types[:-1]
    values = [value for cells in triangles.values() for value in cells.values()]
    most = max(1.0, *(abs(value) for value in values))
    norm = TwoSlopeNorm(0, -most, most) if is_gap else Normalize(min(values) - 1, max(values) + 1)
    n_rows = -(-len(triangles) // 2)
    width = 1.4 + (1.3 * len(across) + 1.2) * min(len(triangles), 2)
    with figure(title, width_in=max(width, 6), height_in=0.9 + (0.8 + 0.85 * len(down)) * n_rows) as drawn:
        panels = drawn.subplots(n_rows, min(len(triangles), 2), squeeze=False).flatten()
        for axes, (name, cells) in zip(panels, triangles.items(), strict=False):
            places = {pair: sorted(pair, key=types.index) for pair in cells}
            grid = np.full((len(down), len(across)), np.nan)
            for pair, (a, b) in places.items():
                grid[down.index(b), across.index(a)] = cells[pair]
            image = axes.imshow(grid, cmap="PuOr" if is_gap else "Blues", norm=norm)
            for pair, (a, b) in places.items():
                value = cells[pair]
                is_dark = abs(value) > 0.6 * most if is_gap else float(norm(value)) > 0.6
                text = with_sign(value) if is_gap else f"{value:.1f}"
                place = {"ha": "center", "va": "center", "color": "white" if is_dark else "black"}
                axes.text(across.index(a), down.index(b), text, **place)
            axes.set_xticks(range(len(across)), across)
            axes.set_yticks(range(len(down)), down)
            axes.tick_params(length=0)
            axes.set_title(name)
            axes.spines[:].set_visible(False)
        for axes in panels[len(triangles) :]:
            axes.set_visible(False)
        bar = drawn.colorbar(image, ax=list(panels), shrink=0.85, pad=0.03)
        bar.set_label("gap, percentage points" if is_gap else "accuracy, %")
        return svg(drawn)


def mean_gaps(results: Sequence[Result]) -> Iterator[Figure]:
    """The gap averaged over all pairs over train size, with its deviation; a figure for each model."""
    for model, rows in grouped(all_pairs(results), lambda each: each.model).items():
        with figure(f"{model}: gap averaged over all held-out pairs", width_in=6.4, height_in=4.6) as drawn:
            axes = drawn.subplots()
            ticks = {each.size for each in rows}
            line: dict[str, Any]
            for kind in KINDS:
                points = [(each.size, gap) for each in rows if (gap := mean_gap(each, kind)) is not None]
                if points:
                    places, means = zip(*((size, gap.value) for size, gap in points), strict=True)
                    deviations = np.array([gap.deviation for _, gap in points])
                    line = {"color": _COLOURS[kind], "marker": "o", "linewidth": 2}
                    axes.plot(places, means, label=f"{kind} gap", **line)
                    axes.fill_between(
                        places, means - deviations, means + deviations, color=_COLOURS[kind], alpha=0.15
                    )
                name = rows[0].paper_name
                sizes = paper_sizes(name) if any(each.size for each in rows) else ()
                printed = [(size, paper_gaps(name, kind, size)) for size in sizes]
                papers = [(size, float(np.mean([*gaps.values()]))) for size, gaps in printed if gaps]
                if papers:
                    ticks |= {size for size, _ in papers}
                    line = {**PAPER, "color": _COLOURS[kind], "marker": "o", "linewidth": 1.1}
                    axes.plot(*zip(*papers, strict=True), label=f"{kind} gap, the paper's", **line)
            axes.axhline(0, color=FAINT, linewidth=1.2, zorder=0)
            axes.grid(axis="y", color=GRID, linewidth=0.8)
            size_axis(axes, sorted(ticks))
            axes.set_ylabel(GAP_LABEL)
            axes.legend()
            title = (
                f"Gap of {model} averaged over all held-out pairs; shaded: one deviation over pairs and runs"
            )
            yield Figure(f"mean_gap_{file_name(model)}", title, *svg(drawn))


def at_largest(results: Iterable[Result]) -> tuple[list[Result], int]:
    """The results at the largest train size, and that size; 0 if it is unknown."""
    results = list(results)
    largest = max((each.train_size or 0 for each in results), default=0)
    return [each for each in results if (each.train_size or 0) == largest], largest


def size_axis(axes: Axes, sizes: Sequence[int], *, has_paper: bool = False) -> None:
    """A logarithmic scale with the sizes as ticks."""
    axes.set_xlabel("questions trained on")
    if not any(sizes):
        axes.set_xticks([0], ["unknown"])
        return
    axes.set_xscale("log")
    ticks = sorted({*sizes, *((25_000, 200_000, 560_000) if has_paper else ())} - {0})
    axes.set_xticks(ticks, [_size_text(size) for size in ticks])
    axes.minorticks_off()
    if len(ticks) == 1:
        axes.set_xlim(ticks[0] / 1.6, ticks[0] * 1.6)


def _size_text(size: int) -> str:
    if not size:
        return "unknown"
    return f"{size / 1000:g}k" if size >= 1000 else str(size)
