"""How accuracy changes with diversity, over palettes that are drawn independently: slopes and tests.

Palettes are nested: the combinations of a smaller diversity are among those of a larger one. So the models of
all diversities of a palette can be compared on the same questions: the test set of its smallest diversity.
"""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clevrhope.metrics.estimates import Estimate
from clevrhope.metrics.published import size_name
from clevrhope.report.page import Figure, Table, file_name
from clevrhope.report.results import FLOORS, Result, grouped
from clevrhope.report.runs import REACHED_FILE
from clevrhope.report.summary import Group, estimate_text
from clevrhope.report.tables import with_sign
from clevrhope.runtime.forms import NAME, NUMBER, Fields, ListOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.splits.kinds import IID, OOD

if TYPE_CHECKING:
    from clevrhope.metrics.slopes import MeanSlope

_REACHED = Fields({"percent": NUMBER, "checkpoints": ListOf(NAME)})
_REMEDY = "remove it, or run clevrhope evaluate --reaching again"

_MEAN_COLOUR = "#0072B2"
_COLUMNS = 3

Curve = Mapping[int, float]
"""Combinations K -> a figure of a palette's runs with K combinations."""

Value = Callable[[Group], float | None]
"""A figure of the runs on one palette with one K; None where they do not have it."""


@dataclass(frozen=True)
class Curves:
    """A figure over diversity.

    Attributes:
        name: what it is.
        digits: decimals that are shown.
        diversities: the numbers of combinations K.
        palettes: a curve for each palette that has the figure at all diversities.
        incomplete: the datasets of the other palettes.
        n_censored: number of runs that never reached the accuracy at which the figure is taken.
    """

    name: str
    digits: int
    diversities: tuple[int, ...]
    palettes: tuple[Curve, ...]
    incomplete: tuple[str, ...] = ()
    n_censored: int = 0


class Section(NamedTuple):
    """The curves of one model, pair and train size, which the title names."""

    title: str
    model: str
    """The model's own name, without how it was trained."""
    curves: Sequence[Curves]


def sections_of(results: Sequence[Result]) -> list[Section]:
    """The models, pairs and train sizes with several palettes of several diversities."""
    drawn = [each for each in results if each.mode == "random"]
    cells = grouped(drawn, lambda each: (each.model, each.held_out, each.train_size))
    found = []
    for (model, pair, size), own in cells.items():
        title = f"{model} on {pair}, trained on {size_name(size) or 'an unknown number of'} questions"
        curves = curves_of(own)
        if curves:
            found.append(Section(title, own[0].source.model, curves))
    return found


def slope_answers(sections: Sequence[Section]) -> Iterator[dict[str, Any]]:
    """What the primary analysis of each model says; nothing of models that read the question alone."""
    for title, model, (primary, *_) in sections:
        if len(primary.palettes) > 1 and model not in FLOORS:
            slope, digits = _mean_slope(primary), primary.digits
            yield {
                "title": title,
                "slope": estimate_text(slope, points=True, digits=digits),
                "diversities": _listed(primary.diversities),
                "n_palettes": len(primary.palettes),
                "p_value": _p_value(slope.p_value),
                "detectable": f"{slope.detectable:.{digits}f}",
            }


def slopes(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """The table and the figure of each section."""
    return [
        {
            "title": title,
            "diversities": _listed(curves[0].diversities),
            "table": _slopes_table(curves),
            "figures": [_figure(curves, title)] if any(each.palettes for each in curves) else [],
        }
        for title, _, curves in sections
    ]


def _figure(curves: Sequence[Curves], title: str) -> Figure:
    """A panel for each figure, all of percentages with the same limits. Needs matplotlib."""
    from clevrhope.describe.stats.charts import FAINT, GRID, figure, svg
    from clevrhope.metrics.slopes import t_reach

    shown = [each for each in curves if each.palettes]
    n_columns, n_rows = min(len(shown), _COLUMNS), -(-len(shown) // _COLUMNS)
    with figure(title, width_in=1.0 + 3.1 * n_columns, height_in=0.9 + 3.5 * n_rows) as drawn:
        panels = drawn.subplots(n_rows, n_columns, squeeze=False).ravel()
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        for axes, each in zip(panels, shown, strict=False):
            levels = sorted(each.palettes[0])
            values = np.array([[curve[k] for curve in each.palettes] for k in levels])
            axes.plot(levels, values, color=FAINT, linewidth=1, marker="o", markersize=3)
            means, reaches = values.mean(axis=1), np.array([t_reach(of_level) for of_level in values])
            axes.vlines(levels, means - reaches, means + reaches, color=_MEAN_COLOUR, linewidth=1.4)
            axes.plot(levels, means, color=_MEAN_COLOUR, linewidth=2.5, marker="o", markersize=7)
            axes.set_xscale("log", base=2)
            axes.set_xticks(levels, [str(k) for k in levels])
            axes.minorticks_off()
            axes.set_xlabel("combinations K")
            axes.grid(axis="y", color=GRID, linewidth=0.8)
            axes.set_title(textwrap.fill(each.name, 34), fontsize=9)
        of_percent = [axes for axes, each in zip(panels, shown, strict=False) if each.digits == 1]
        limits = [limit for axes in of_percent for limit in axes.get_ylim()]
        for axes in of_percent:
            axes.set_ylim(max(min(limits), 0), min(max(limits), 101))
        return Figure(f"slopes_{file_name(title)}", f"Accuracy over diversity: {title}", *svg(drawn))


def curves_of(results: Sequence[Result]) -> list[Curves]:
    """The figures over diversity of one model, pair and train size that two palettes or more have.

    The first one is primary, whether they have it or not: on the same questions for all K, at the end of
    training.
    """
    own = [each for each in results if each.source.is_last and not each.is_elsewhere]
    diversities = _shared_diversities(own)
    if len(diversities) < 2:
        return []
    k = diversities[0]
    smallest = [each for each in results if each.diversity == k and each.trained_diversity in diversities]
    reached, percent, n_censored = _reached(smallest)
    same = f"{OOD} of the palette's {k} combinations"

    def curves(name: str, of: Iterable[Result], figure: Value, *, digits: int = 1, **more: Any) -> Curves:
        whole, incomplete = _curves(of, diversities, figure)
        return Curves(name, digits, diversities, whole, incomplete, **more)

    always_right = "normalised transfer of a model that is always right"
    found = [
        curves(f"{same}, %", [each for each in smallest if each.source.is_last], _accuracy(OOD)),
        curves(f"own {OOD}, %", own, _accuracy(OOD)),
        curves(f"own {IID}, %", own, _accuracy(IID)),
        curves("normalised transfer", own, lambda group: _value(group.estimate("transfer")), digits=2),
        curves(always_right, own, lambda group: group.perfect_transfer, digits=2),
    ]
    if percent is not None:
        name = f"{same}, where the tuning set is first at {percent:g}%, %"
        found.append(curves(name, reached, _accuracy(OOD), n_censored=n_censored))
    shown = [each for each in found if len(each.palettes) > 1 or each.n_censored or each is found[0]]
    return shown if any(len(each.palettes) > 1 for each in shown) else []


def _shared_diversities(results: Iterable[Result]) -> tuple[int, ...]:
    """The diversities that several palettes have; a palette of all combinations is the same for all seeds."""
    palettes = {(each.diversity, each.source.dataset.resolve()) for each in results}
    n_palettes = Counter(k for k, _ in palettes)
    return tuple(sorted(k for k, n in n_palettes.items() if n > 1))


def _curves(
    results: Iterable[Result], diversities: Sequence[int], figure: Value
) -> tuple[tuple[Curve, ...], tuple[str, ...]]:
    """The curves of the palettes that have the figure at all diversities, and the datasets of the others."""
    own = [each for each in results if each.trained_diversity in diversities]
    whole, incomplete = [], []
    for folder, palette in grouped(own, lambda each: each.source.dataset.resolve()).items():
        of_palette = grouped(palette, lambda each: each.trained_diversity)
        values = {k: figure(Group(tuple(of_palette[k]))) for k in diversities if k in of_palette}
        curve = {k: value for k, value in values.items() if value is not None}
        if len(curve) == len(diversities):
            whole.append(curve)
        else:
            incomplete.append(folder.name)
    return tuple(whole), tuple(incomplete)


def _accuracy(split: str) -> Value:
    return lambda group: _value(group.estimate("accuracy", split))


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _reached(results: Iterable[Result]) -> tuple[list[Result], float | None, int]:
    """The results at the first two checkpoints in a row with an accuracy on the tuning set.

    Returns:
        The results, the accuracy (None unless `evaluate --reaching` ran, and always with the same one), and
        the number of runs that never reached it.
    """
    found: list[Result] = []
    percents, n_censored = set(), 0
    for folder, of_run in grouped(results, lambda each: each.source.origin).items():
        path = folder / REACHED_FILE
        if path.exists():
            content = read_object(path, "the checkpoints that evaluate --reaching chose", remedy=_REMEDY)
            check_form(content, _REACHED, path, remedy=_REMEDY)
            percents.add(float(content["percent"]))
            found += [each for each in of_run if each.source.checkpoint in content["checkpoints"]]
            n_censored += not content["checkpoints"]
    return found, percents.pop() if len(percents) == 1 else None, n_censored


def _slopes_table(curves: Sequence[Curves]) -> Table:
    rows = []
    for each in curves:
        palettes = str(len(each.palettes))
        palettes += f"; without {', '.join(each.incomplete)}" if each.incomplete else ""
        palettes += f"; {each.n_censored} runs censored" if each.n_censored else ""
        cells = ["", "", "", ""]
        if len(each.palettes) > 1:
            mean = _mean_slope(each)
            slopes = ", ".join(with_sign(slope, each.digits) for slope in sorted(mean.slopes))
            slope = estimate_text(mean, points=True, digits=each.digits)
            cells = [slope, _p_value(mean.p_value).lstrip("= "), f"{mean.detectable:.{each.digits}f}", slopes]
        rows.append([each.name, palettes, *cells])
    heads = ["mean slope [95% t interval]", "p, sign flips", "detectable", "slope of each palette"]
    return Table(["figure on log2 K", "palettes", *heads], rows)


def _mean_slope(curves: Curves) -> "MeanSlope":
    from clevrhope.metrics.slopes import mean_slope, slope_on_diversity

    return mean_slope([slope_on_diversity(curve) for curve in curves.palettes])


def _p_value(value: float) -> str:
    return f"= {value:.3f}" if value >= 0.001 else "< 0.001"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
