"""Functions that draw each kind of plot with matplotlib.

Plots show the sets of full scenes. One-object sets, whose images and questions are all of one kind, are shown
only where they add information. Each split has the same colour in every plot.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes

from clevrhope.describe.measured import (
    DISTRIBUTIONS,
    RELATION_ORDER,
    TYPE_ORDER,
    VALUE_ORDER,
    Measured,
    baselines,
    by_family,
    by_values,
)
from clevrhope.describe.stats.charts import (
    DotRow,
    Series,
    colour_bar,
    colour_table,
    dots,
    figure,
    legend,
    lines,
    png,
    strip,
)
from clevrhope.describe.stats.comparison import SplitColumn, StatsSheet
from clevrhope.describe.stats.tables import family_order, names_of, value_types
from clevrhope.splits.kinds import SPLITS

_Key = TypeVar("_Key", bound=Hashable)

_COLOURS: Mapping[str, tuple[str, str]] = {row.name: (row.color, row.marker) for row in SPLITS.values()}
"""Split -> colour and marker; in-distribution is blue and out-of-distribution orange everywhere."""

_CLEVR: Mapping[str, tuple[str, str]] = {"train": ("#777777", "s"), "val": ("#111111", "^")}
_UNKNOWN = ("#444444", "P")

_GUESSES = (
    "most frequent answer\nof the split itself",
    "most frequent answer of\neach family of the split",
    "most frequent answer\nof train",
    "most frequent answer of\neach family of train",
)
"""Names of rows, in the order of `baselines`."""


def _answers(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    kind_of = {value: kind for kind, values in value_types(sheet.columns).items() for value in values}
    kind_of |= {"yes": "yes/no", "no": "yes/no"}
    names = names_of(_splits(columns), "answers", VALUE_ORDER)
    rows = [DotRow(name, "count" if name.isdecimal() else kind_of.get(name, "")) for name in names]
    types = names_of(_splits(columns), "answer_types", TYPE_ORDER)
    with figure(f"{sheet.group}: answers", width_in=10.5, height_in=1.9 + 0.235 * len(rows)) as drawn:
        left, right = drawn.subplots(1, 2, width_ratios=(3, 2))
        _dots(left, "answers", rows, columns, "answers")
        _dots(right, "answer types", [DotRow(kind) for kind in types], columns, "answer_types")
        legend(drawn, [_series(column) for column in columns])
        return png(drawn)


def _dots(
    axes: Axes, title: str, rows: Sequence[DotRow], columns: Sequence[SplitColumn], histogram: str
) -> None:
    """Draws the shares that a histogram of the splits' questions gives to the names of rows."""
    series = _shares(columns, lambda split: split[histogram], [row.label for row in rows])
    dots(axes, rows, series, label="share of the questions, %")
    axes.set_title(title)


def _families(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    names = family_order(columns)
    series = _shares(columns, by_family, names)
    files = [DotRow(file) for file in dict.fromkeys(file for file, _ in names)]
    with figure(f"{sheet.group}: question families", width_in=12.5, height_in=8) as drawn:
        above, below = drawn.subplots(2, 1, height_ratios=(4, 3 + 0.04 * len(files)))
        strip(above, names, series)
        _dots(below, "template files", files, columns, "files")
        legend(drawn, series)
        return png(drawn)


def _lengths(sheet: StatsSheet) -> bytes:
    panels = {"words per question": "words", "functions per program": "functions"}
    return _histograms(sheet, "lengths", panels, of="questions", width_in=11, marks=False)


def _objects(sheet: StatsSheet) -> bytes:
    panels = {"objects per image": "objects_an_image"}
    return _histograms(sheet, "objects", panels, of="images", width_in=7.5, marks=True)


def _histograms(
    sheet: StatsSheet, title: str, panels: Mapping[str, str], *, of: str, width_in: float, marks: bool
) -> bytes:
    """A panel with lines for each label and histogram; these count questions or images."""
    columns = _scenes(sheet)
    series = [_series(column) for column in columns]
    with figure(f"{sheet.group}: {title}", width_in=width_in, height_in=4.8) as drawn:
        all_axes = drawn.subplots(1, len(panels), squeeze=False)[0]
        for axes, (label, histogram) in zip(all_axes, panels.items(), strict=True):
            numbers = [{int(n): count for n, count in split[histogram].items()} for split in _splits(columns)]
            lines(axes, numbers, series, label=label, marks=marks)
        all_axes[0].set_ylabel(f"share of the {of}")
        legend(drawn, series, line=True, note="Markers at the top: means.")
        return png(drawn)


def _values(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    types = value_types(columns)
    rows = [DotRow(value, kind) for kind, values in types.items() for value in values]
    even = [100 / len(types[row.group]) for row in rows]
    labels = [row.label for row in rows]
    series = _shares(columns, lambda split: split["values"], labels, of="objects")
    with figure(f"{sheet.group}: values in the images", width_in=8, height_in=6.6) as drawn:
        axes = drawn.subplots()
        dots(axes, rows, series, label="share of the objects, %", ticks=[even])
        legend(drawn, series, note="Grey strokes: all values of a type equally frequent.")
        return png(drawn)


def _pairs(sheet: StatsSheet) -> bytes:
    """A triangle of attributes against attributes: the first has no row, the last no column."""
    columns = _scenes(sheet)
    types = value_types(columns)
    values = [(kind, value) for kind, names in types.items() for value in names]
    kinds = list(types)
    down = [value for value in values if value[0] != kinds[0]]
    across = [value for value in values if value[0] != kinds[-1]]
    boxed = [
        (down.index(max(pair, key=values.index)), across.index(min(pair, key=values.index)))
        for pair in combinations(sheet.held_out, 2)
        if set(pair) <= set(values)
    ]
    none = {"objects": 0}
    n_across = min(len(columns), 3)
    n_down = -(-len(columns) // n_across)
    size = {"width_in": 1.6 + 3.5 * n_across, "height_in": 1.1 + 4.2 * n_down}
    with figure(f"{sheet.group}: pairs of values in one object", **size) as drawn:
        panels = drawn.subplots(n_down, n_across, squeeze=False).ravel()
        for axes in panels[len(columns) :]:
            axes.remove()
        for axes, each in zip(panels, columns, strict=False):
            cells = np.full((len(down), len(across)), np.nan)
            pairs = by_values(each.measured)
            for (row, a), (column, b) in product(enumerate(down), enumerate(across)):
                if kinds.index(b[0]) < kinds.index(a[0]):
                    even = each.measured["objects"] / (len(types[a[0]]) * len(types[b[0]]))
                    cells[row, column] = pairs.get(frozenset({a, b}), none)["objects"] / even
            names_down, names_across = ([value for _, value in side] for side in (down, across))
            image = colour_table(axes, cells, names_down, names_across, boxed)
            axes.set_title(each.label)
        colour_bar(drawn, image, "objects, 1 if all pairs of these types were equally common")
        note = "A cross: never." + (" A box: values held out together." if boxed else "")
        drawn.supxlabel(note, x=0.012, ha="left", fontsize=9.5)
        return png(drawn)


def _relations(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    names = names_of(_splits(columns), "relations", RELATION_ORDER)
    rows = [DotRow(name, "spatial" if name in RELATION_ORDER else "same") for name in names] or [
        DotRow("none")
    ]
    most = max((int(n) for split in _splits(columns) for n in split["relations_a_question"]), default=0)
    numbers = [DotRow(str(n)) for n in range(most + 1)]
    with figure(f"{sheet.group}: relations that questions name", width_in=10.5, height_in=4.8) as drawn:
        left, right = drawn.subplots(1, 2)
        _dots(left, "relation", rows, columns, "relations")
        title = "left, right, front and behind in one question"
        _dots(right, title, numbers, columns, "relations_a_question")
        legend(drawn, [_series(column) for column in columns])
        return png(drawn)


def _baselines(sheet: StatsSheet) -> bytes:
    shown = _GUESSES if sheet.train is not None else _GUESSES[:2]
    series = []
    for column in sheet.columns:
        accuracies = [*baselines(column.measured, sheet.train).values()][: len(shown)]
        series.append(_series(column, _numbers(accuracies, 100)))
    with figure(f"{sheet.group}: accuracy of guessing", width_in=9, height_in=4.8) as drawn:
        axes = drawn.subplots()
        rows = [DotRow(name, str(k // 2)) for k, name in enumerate(shown)]
        dots(axes, rows, series, label="correct answers, %", limit=102)
        legend(drawn, series)
        return png(drawn)


def _distances(sheet: StatsSheet) -> bytes | None:
    shown = [each for each in sheet.comparisons if SPLITS[each["a"]].drawn != "places"]
    if not shown:
        return None
    by_label = {each.label: each for each in sheet.columns}
    series = [
        replace(
            _series(by_label[each["a"]], _numbers(each["total_variation"].values())),
            label=f"{each['a']} / {each['b']}",
            open=by_label[each["b"]].other,
        )
        for each in shown
    ]
    chance = [_numbers(each["by_chance"].values()) for each in shown]
    title = f"{sheet.group}: distances between splits"
    with figure(title, width_in=9.5, height_in=2 + 0.52 * len(DISTRIBUTIONS)) as drawn:
        axes = drawn.subplots()
        label = "total variation distance (0: alike, 1: nothing in common)"
        dots(axes, [DotRow(name) for name in DISTRIBUTIONS], series, label=label, ticks=chance, limit=1.02)
        legend(drawn, series, note="Grey strokes: roughly what chance gives at these sizes.")
        return png(drawn)


PLOTS: Mapping[str, Callable[[StatsSheet], bytes | None]] = {
    "answers": _answers,
    "baselines": _baselines,
    "distances": _distances,
    "families": _families,
    "lengths": _lengths,
    "objects": _objects,
    "pairs": _pairs,
    "relations": _relations,
    "values": _values,
}
"""Kind of plot -> function that draws it as PNG; None if there is nothing to draw."""


def _numbers(values: Iterable[float | None], scale: float = 1) -> list[float]:
    """The numbers in order; nan where one is unknown."""
    return [float("nan") if value is None else scale * value for value in values]


def _scenes(sheet: StatsSheet) -> list[SplitColumn]:
    """The columns of all splits but minimal sets; all columns if there are no others."""
    minimal = [name for name, kind in SPLITS.items() if kind.drawn == "places"]
    return [column for column in sheet.columns if column.split not in minimal] or list(sheet.columns)


def _splits(columns: Sequence[SplitColumn]) -> list[Measured]:
    return [column.measured for column in columns]


def _series(column: SplitColumn, values: Sequence[float] = ()) -> Series:
    known = _CLEVR if column.of_clevr else _COLOURS
    colour, marker = known.get(column.split, _UNKNOWN)
    return Series(column.label, colour, marker, column.other, values)


def _shares(
    columns: Sequence[SplitColumn],
    histogram: Callable[[Measured], Mapping[_Key, int]],
    keys: Sequence[_Key],
    *,
    of: str = "questions",
) -> list[Series]:
    """A series for each column, with each key's share of a total of the column, in per cent."""
    series = []
    for column in columns:
        counts = histogram(column.measured)
        total = max(column.measured[of], 1)
        series.append(_series(column, [100 * counts.get(key, 0) / total for key in keys]))
    return series
