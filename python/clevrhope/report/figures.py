"""Figures of results, most as in the paper, as SVG, in colours for colour-blind readers too.

Each diversity has the same colour and marker in every figure. The paper's gaps are hollow and dashed. Needs
matplotlib.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn
from matplotlib.lines import Line2D

from clevrhope.describe.stats.charts import FAINT, GRID, INK, figure, svg
from clevrhope.metrics.estimates import Estimate, mean_of
from clevrhope.report.accuracy_figures import (
    GAP_LABEL,
    PAPER,
    accuracy_boxes,
    at_largest,
    mean_gaps,
    size_axis,
    type_triangles,
)
from clevrhope.report.page import Figure, file_name
from clevrhope.report.results import KINDS, Result, grouped, means_by
from clevrhope.report.summary import Group
from clevrhope.report.tables import paper_gap, paper_sizes
from clevrhope.splits.kinds import IID, OOD, PAIR_TEST_SPLITS

Look = dict[str, Any]
"""Matplotlib's properties of a line: its colour, its marker, and more where it needs them."""


def _looks(*looks: tuple[str, str]) -> list[Look]:
    return [{"color": colour, "marker": marker} for colour, marker in looks]


*_OKABE_ITO, _OTHER = _looks(
    ("#D55E00", "o"), ("#E69F00", "s"), ("#009E73", "P"), ("#56B4E9", "D"), ("#0072B2", "^"), ("#444444", "v")
)
_OF_DIVERSITY = dict(zip((4, 6, 8, 16, 24), _OKABE_ITO, strict=True))

_LINES = _looks(("#222222", "o"), ("#CC79A7", "s"), ("#8C6D31", "P"), ("#6A51A3", "D"), ("#8A8A8A", "^"))
"""Looks of lines that do not stand for a diversity, so they resemble none of them."""

_NO_LINE: Look = {"linestyle": "none"}

_FEWEST_POINTS = 2
"""Fewest points for a figure of a model's own: a single one is in the tables and the overview."""

_LETTERS_A_LINE = 54
"""Most letters of a line, which a telephone shows in a size that can be read."""

_LEAST_SPAN = 10.0
"""Fewest points that an axis of gaps spans, so that no difference looks larger than it is."""

_FEWEST_IN_A_BOX = 3
"""Fewest pairs for a box, since fewer have no useful quartiles."""


def look_of(diversity: int) -> Look:
    """The colour and the marker of a diversity."""
    return _OF_DIVERSITY.get(diversity, _OTHER)


def gap_curves(own: Sequence[Result], model: str) -> Figure | None:
    """Gap by diversity over train size, with intervals over pairs."""
    sizes = sorted({each.train_size or 0 for each in own})
    diversities = sorted({each.diversity for each in own}, reverse=True)
    if len(sizes) * len(diversities) < _FEWEST_POINTS:
        return None
    kinds = _kinds(own)
    with figure(f"{model}: gap by diversity", width_in=4.5 * len(kinds), height_in=4.9) as drawn:
        panels = drawn.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        has_paper = False
        for axes, kind in zip(panels, kinds, strict=True):
            for k, diversity in enumerate(diversities):
                of_level = [each for each in own if each.diversity == diversity]
                nudge = 1 + 0.03 * (k - (len(diversities) - 1) / 2)
                cells = sorted(grouped(of_level, lambda each: each.train_size or 0).items())
                means = [(size * nudge, Group(tuple(cell)).estimate("gap", kind)) for size, cell in cells]
                _plot_estimates(axes, means, look_of(diversity))
                name, hops = own[0].source.paper_model, {each.hop for each in of_level}
                printed = [
                    (size, theirs.value)
                    for size in paper_sizes(name)
                    if (theirs := paper_gap(name, kind, diversity, size, hops)) is not None and any(sizes)
                ]
                if printed:
                    has_paper = True
                    line = {**look_of(diversity), **PAPER}
                    axes.plot(*zip(*printed, strict=True), markersize=6, alpha=0.8, linewidth=1.1, **line)
            _gap_axes(axes, kind)
            size_axis(axes, sizes, has_paper=has_paper)
        panels[0].set_ylabel(GAP_LABEL)
        papers = {"the paper's": {**PAPER, "color": FAINT, "marker": "o"}} if has_paper else {}
        legend(drawn, looks_of(diversities) | papers)
        return Figure(f"gap_{file_name(model)}", f"Gap of {model} by diversity and train size", *svg(drawn))


def hop_curves(own: Sequence[Result], model: str) -> Figure | None:
    """Accuracy over train size by test set: a line for each pair, shaded by one deviation over runs."""
    splits = [split for split in PAIR_TEST_SPLITS if any(split in each.accuracies for each in own)]
    sizes = sorted({each.train_size or 0 for each in own})
    if len({(each.hop, each.train_size) for each in own}) < _FEWEST_POINTS:
        return None
    with figure(f"{model}: all held-out pairs", width_in=3.7 * len(splits), height_in=4.6) as drawn:
        panels = drawn.subplots(1, len(splits), sharey=True, squeeze=False)[0]
        for axes, split in zip(panels, splits, strict=True):
            for runs in grouped(own, lambda each: each.hop).values():
                look = look_of(runs[0].diversity)
                values = [
                    (e.train_size or 0, e.accuracies[split].value) for e in runs if split in e.accuracies
                ]
                of_size = sorted(grouped(values, lambda each: each[0]).items())
                places = [size for size, _ in of_size]
                means = [mean_of([value for _, value in of], ddof=0) for _, of in of_size]
                line = [mean.value for mean in means]
                axes.plot(places, line, markersize=5, linewidth=1.3, alpha=0.85, **look)
                low, high = ([m.value + sign * m.deviation for m in means] for sign in (-1, 1))
                axes.fill_between(places, low, high, color=look["color"], alpha=0.12, linewidth=0)
            axes.set_title(split)
            axes.grid(axis="y", color=GRID, linewidth=0.8)
            size_axis(axes, sizes)
        panels[0].set_ylabel("accuracy, %")
        legend(drawn, looks_of(sorted({each.diversity for each in own}, reverse=True)))
        return Figure(f"pairs_{file_name(model)}", f"Accuracy of {model} on every held-out pair", *svg(drawn))


def box_plots(own: Sequence[Result], model: str) -> Figure | None:
    """The gaps of pairs as boxes by diversity, at the largest train size."""
    own, largest = at_largest(own)
    if len({each.hop for each in own}) < _FEWEST_POINTS:
        return None
    kinds = _kinds(own)
    diversities = sorted({each.diversity for each in own}, reverse=True)
    with figure(
        f"{model}: gaps of pairs, {_questions(largest)}", width_in=4.3 * len(kinds), height_in=4.6
    ) as drawn:
        panels = drawn.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for axes, kind in zip(panels, kinds, strict=True):
            for place, diversity in enumerate(diversities):
                look = look_of(diversity)
                of_level = [each for each in own if each.diversity == diversity]
                of_hop = [*means_by(lambda each: each.hop, of_level, "gap", kind).values()]
                if not of_hop:
                    continue
                if len(of_hop) >= _FEWEST_IN_A_BOX:
                    colour = {"color": look["color"]}
                    axes.boxplot(
                        of_hop, positions=[place], widths=0.55, showfliers=False, boxprops=colour,
                        whiskerprops=colour, capprops=colour, medianprops={"color": INK, "linewidth": 1.8},
                    )  # fmt: skip
                spread = np.linspace(-0.14, 0.14, len(of_hop)) if len(of_hop) > 1 else np.zeros(1)
                axes.plot(place + spread, sorted(of_hop), markersize=5.5, alpha=0.9, **look, **_NO_LINE)
            _gap_axes(axes, kind)
            _level_axis(axes, diversities, "diversity: combinations of the pair's two types")
        panels[0].set_ylabel(GAP_LABEL)
        return Figure(
            f"boxes_{file_name(model)}",
            f"Gaps of {model} over held-out pairs, trained on {_questions(largest)}",
            *svg(drawn),
        )


def overview(groups: Sequence[Group]) -> Figure:
    """All models on one axis of accuracy: a row for each group, with the question alone, OOD and IID."""
    picks = {f"question alone, {OOD}": ("blind", OOD), OOD: ("accuracy", OOD), IID: ("accuracy", IID)}
    looks = dict(zip(picks, _looks((FAINT, "D"), ("#D55E00", "o"), ("#0072B2", "s")), strict=True))
    firsts = [each.first for each in groups]
    labels = [", ".join(filter(None, (e.model, e.combinations, f"diversity {e.diversity}"))) for e in firsts]
    with figure(
        "All models: in and out of distribution", width_in=5, height_in=1.6 + 0.6 * len(groups)
    ) as drawn:
        axes = drawn.subplots()
        for row, (group, label) in enumerate(zip(groups, labels, strict=True)):
            above: dict[str, Any] = {"xytext": (0, 9), "textcoords": "offset points", "va": "baseline"}
            axes.annotate(textwrap.fill(label, _LETTERS_A_LINE), (0, row), linespacing=1.0, **above)
            found = {name: group.estimate(*pick) for name, pick in picks.items()}
            ends = [each.value for name in (OOD, IID) if (each := found[name])]
            axes.plot(ends, [row] * len(ends), color=GRID, linewidth=4, solid_capstyle="round", zorder=1)
            for name, look in looks.items():
                each = found[name]
                if each is None:
                    continue
                if (interval := each.interval) is not None:
                    axes.hlines(row, interval.low, interval.high, color=look["color"], linewidth=1.3)
                axes.plot(each.value, row, markersize=7, **look, **_NO_LINE)
        axes.set_yticks([])
        axes.set_ylim(len(groups) - 0.6, -0.9)
        axes.set_xlim(0, 101)
        axes.set_xlabel("accuracy, %")
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        there = {name for name, pick in picks.items() if any(group.estimate(*pick) for group in groups)}
        legend(drawn, {name: look | _NO_LINE for name, look in looks.items() if name in there})
        return Figure("overview", "All models, in and out of distribution", *svg(drawn))


def diversity_plots(groups: Sequence[Group]) -> Iterator[Figure]:
    """Complex gaps and transfer over controlled diversity, a figure for each train size."""
    controlled = [each for each in groups if each.first.combinations]
    for size, own in grouped(controlled, lambda each: each.first.train_size).items():
        yield _diversity_plot(own, size)


def _diversity_plot(groups: Sequence[Group], size: int | None) -> Figure:
    """Each model and way of choosing combinations is a line with intervals."""
    kinds = {
        "plain complex gap": ("gap", "complex"),
        "matched complex gap": ("matched_gap", "complex"),
        "normalised transfer": ("transfer", ""),
    }
    shown = {name: pick for name, pick in kinds.items() if any(each.estimate(*pick) for each in groups)}
    lines = grouped(groups, lambda each: (each.first.model, each.first.combinations))
    levels = sorted({each.first.diversity for each in groups})
    with figure("Controlled diversity", width_in=1.5 + 4.3 * len(shown), height_in=4.8) as drawn:
        panels = drawn.subplots(1, len(shown), squeeze=False)[0]
        for axes, (name, pick) in zip(panels, shown.items(), strict=True):
            for k, of_line in enumerate(lines.values()):
                nudge = 0.16 * (k - (len(lines) - 1) / 2)
                points = [
                    (levels.index(each.first.diversity) + nudge, each.estimate(*pick)) for each in of_line
                ]
                _plot_estimates(axes, points, _LINES[k % len(_LINES)])
            _gap_axes(axes, name)
            _level_axis(axes, levels, "combinations, the held-out one included")
        panels[0].set_ylabel(GAP_LABEL)
        of_gaps = [axes for axes, name in zip(panels, shown, strict=True) if "gap" in name]
        limits = [limit for axes in of_gaps for limit in axes.get_ylim()]
        for axes in of_gaps:
            axes.set_ylim(min(limits), max(limits))
        looks = zip(map(", ".join, lines), cycle(_LINES), strict=False)
        legend(drawn, {label: look | {"linewidth": 2} for label, look in looks})
        return Figure(
            f"diversity_{size or 'unknown'}",
            f"Controlled diversity, trained on {_questions(size or 0)}",
            *svg(drawn),
        )


def _plot_estimates(axes: Axes, points: Iterable[tuple[float, Estimate | None]], look: Look) -> None:
    """Draws estimates at their places, with their intervals and a line through them."""
    there = [(place, each) for place, each in points if each is not None]
    if there:
        values = [(place, each.value) for place, each in there]
        axes.plot(*zip(*values, strict=True), markersize=8, linewidth=2, **look)
    for place, each in there:
        if (interval := each.interval) is not None:
            axes.vlines(place, interval.low, interval.high, color=look["color"], linewidth=1.4)


def figures_of(results: Sequence[Result], model: str) -> Iterator[Figure]:
    """All figures of a model on plain pairs."""
    own = [each for each in results if each.model == model and each.diversity and _kinds([each])]
    for draw in (gap_curves, hop_curves, accuracy_boxes, box_plots):
        found = draw(own, model)
        if found is not None:
            yield found
    yield from type_triangles(own, model)
    yield from mean_gaps(own)


def _kinds(own: Sequence[Result]) -> list[str]:
    """The kinds of gap that there are."""
    return [kind for kind in KINDS if any(each.gap(kind) is not None for each in own)]


def legend(drawn: Drawn, looks: Mapping[str, Look]) -> None:
    """Adds a legend below the figure: label -> look."""
    labels = [textwrap.fill(label, _LETTERS_A_LINE) for label in looks]
    handles = [
        Line2D([], [], label=label, **look) for label, look in zip(labels, looks.values(), strict=True)
    ]
    n_columns = max(1, _LETTERS_A_LINE // (max(map(len, labels), default=0) + 6))  # of the marker
    drawn.legend(handles=handles, loc="outside lower left", ncols=n_columns)


def looks_of(diversities: Iterable[int]) -> dict[str, Look]:
    """The lines of a legend about some diversities."""
    return {f"diversity {each}": look_of(each) | {"linewidth": 2} for each in diversities}


def _gap_axes(axes: Axes, title: str) -> None:
    axes.set_title(title)
    low, high = axes.get_ylim()
    if high - low < _LEAST_SPAN and "transfer" not in title:
        middle = (low + high) / 2
        axes.set_ylim(middle - _LEAST_SPAN / 2, middle + _LEAST_SPAN / 2)
    axes.axhline(0, color=FAINT, linewidth=1.2, zorder=0)
    axes.grid(axis="y", color=GRID, linewidth=0.8)


def _level_axis(axes: Axes, levels: Sequence[int], label: str) -> None:
    """An axis with a place for each diversity."""
    axes.set_xticks(range(len(levels)), [str(level) for level in levels])
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.set_xlabel(label)


def _questions(size: int) -> str:
    return f"{size:,} questions" if size else "an unknown number of questions"
