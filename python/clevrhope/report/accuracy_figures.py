"""The paper's figures of accuracy: boxes over pairs, triangles of attribute types, and gaps over all pairs.

They are figures 5 to 8 (boxes), 9 and 14 (types) and 15 to 18 (mean gaps) of the paper's appendix. Needs
matplotlib.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, TwoSlopeNorm

from clevrhope.describe.stats.charts import FAINT, GRID, INK, figure, svg
from clevrhope.metrics.estimates import mean_of
from clevrhope.report.all_pairs import AllPairs, all_pairs, mean_gap
from clevrhope.report.page import Figure, file_name
from clevrhope.report.results import KINDS, Result
from clevrhope.report.tables import paper_gaps, paper_sizes, with_sign
from clevrhope.splits.hops import NAME_ORDER
from clevrhope.splits.kinds import PAIR_TEST_SPLITS

Floats = npt.NDArray[np.float64]
Value = Callable[[Result], float | None]
"""A number of a result, such as a gap; None where it does not have it."""

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
                means = [*_means_of_pairs(own, size, partial(_accuracy, split)).values()]
                if means:
                    axes.boxplot(
                        means, positions=[place], widths=0.55, medianprops={"color": INK, "linewidth": 1.8}
                    )
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
    gaps: dict[str, Value] = {kind: partial(_gap, kind) for kind in KINDS}
    accuracies: dict[str, Value] = {split: (partial(_accuracy, split)) for split in PAIR_TEST_SPLITS}
    for name, what, values in (("types", "gap", gaps), ("types_accuracy", "accuracy", accuracies)):
        triangles = {title: _by_types(own, value) for title, value in values.items()}
        triangles = {title: cells for title, cells in triangles.items() if cells}
        if triangles:
            yield Figure(
                f"{name}_{file_name(model)}",
                f"{what.capitalize()} of {model} by attribute types, {at}",
                *_draw_triangles(
                    triangles, f"{model}: {what} by attribute types, {at}", is_gap=what == "gap"
                ),
            )


def _by_types(own: Sequence[Result], value: Value) -> dict[frozenset[str], float]:
    """The two types of pairs -> the mean value of their runs."""
    found: dict[frozenset[str], list[float]] = {}
    for each in own:
        if (number := value(each)) is not None:
            found.setdefault(frozenset(each.types), []).append(number)
    return {types: mean_of(numbers).value for types, numbers in found.items()}


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
            image = axes.imshow(_grid(cells, down, across), cmap="PuOr" if is_gap else "Blues", norm=norm)
            for pair, value in cells.items():
                a, b = sorted(pair, key=types.index)
                is_dark = abs(value) > 0.6 * most if is_gap else float(norm(value)) > 0.6
                text = with_sign(value) if is_gap else f"{value:.1f}"
                place = {"ha": "center", "va": "center", "color": "white" if is_dark else "black"}
                axes.text(across.index(a), down.index(b), text, **place)
            _bare(axes, name, down, across)
        for axes in panels[len(triangles) :]:
            axes.set_visible(False)
        bar = drawn.colorbar(image, ax=list(panels), shrink=0.85, pad=0.03)
        bar.set_label("gap, percentage points" if is_gap else "accuracy, %")
        return svg(drawn)


def _grid(cells: Mapping[frozenset[str], float], down: Sequence[str], across: Sequence[str]) -> Floats:
    grid = np.full((len(down), len(across)), np.nan)
    for a, b in combinations((across[0], *down), 2):
        if (value := cells.get(frozenset((a, b)))) is not None:
            grid[down.index(b), across.index(a)] = value
    return grid


def _bare(axes: Axes, title: str, down: Sequence[str], across: Sequence[str]) -> None:
    axes.set_xticks(range(len(across)), across)
    axes.set_yticks(range(len(down)), down)
    axes.tick_params(length=0)
    axes.set_title(title)
    for spine in axes.spines.values():
        spine.set_visible(False)


def mean_gaps(results: Sequence[Result]) -> Iterator[Figure]:
    """The gap averaged over all pairs over train size, with its deviation; a figure for each model."""
    of_model: dict[str, list[AllPairs]] = {}
    for each in all_pairs(results):
        of_model.setdefault(each.model, []).append(each)
    for model, rows in of_model.items():
        with figure(f"{model}: gap averaged over all held-out pairs", width_in=6.4, height_in=4.6) as drawn:
            axes = drawn.subplots()
            ticks = {each.size for each in rows}
            for kind in KINDS:
                points = [(each.size, gap) for each in rows if (gap := mean_gap(each, kind)) is not None]
                if points:
                    places, means = zip(*((size, gap.value) for size, gap in points), strict=True)
                    deviations = np.array([gap.deviation for _, gap in points])
                    line: dict[str, Any] = {"color": _COLOURS[kind], "marker": "o", "linewidth": 2}
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
                    hollow: dict[str, Any] = {
                        "markerfacecolor": "none",
                        "linestyle": "--",
                        "marker": "o",
                        "linewidth": 1.1,
                    }
                    label = f"{kind} gap, the paper's"
                    axes.plot(*zip(*papers, strict=True), label=label, color=_COLOURS[kind], **hollow)
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


def _accuracy(split: str, result: Result) -> float | None:
    accuracy = result.accuracies.get(split)
    return None if accuracy is None else accuracy.value


def _gap(kind: str, result: Result) -> float | None:
    gap = result.gap(kind)
    return None if gap is None else gap.value


def _means_of_pairs(own: Sequence[Result], size: int, value: Value) -> dict[str, float]:
    """Held-out pair -> the mean of its runs at a train size."""
    found: dict[str, list[float]] = {}
    for each in own:
        if (each.train_size or 0) == size and (number := value(each)) is not None:
            found.setdefault(each.hop, []).append(number)
    return {hop: mean_of(numbers).value for hop, numbers in found.items()}


def _size_text(size: int) -> str:
    if not size:
        return "unknown"
    return f"{size / 1000:g}k" if size >= 1000 else str(size)
