"""Functions that draw each kind of plot with matplotlib.

Plots show the sets of full scenes. One-object sets, whose images and questions are all of one kind, are shown
only where they add information. Each split has the same colour in every plot.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import TypeVar

import numpy as np

from clevrhope.describe.measured import (
    DISTRIBUTIONS,
    RELATION_ORDER,
    TYPE_ORDER,
    VALUE_ORDER,
    Measured,
    by_family,
    by_values,
    guessed,
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

_MEANS = "Markers at the top: means."


def _answers(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    kind_of = {value: kind for kind, values in value_types(sheet.columns).items() for value in values}
    kind_of |= {"yes": "yes/no", "no": "yes/no"}
    names = names_of(_splits(columns), "answers", VALUE_ORDER)
    rows = [DotRow(name, "count" if name.isdecimal() else kind_of.get(name, "")) for name in names]
    series = _shares(columns, lambda split: split["answers"], names)
    types = names_of(_splits(columns), "answer_types", TYPE_ORDER)
    of_types = _shares(columns, lambda split: split["answer_types"], types)
    with figure(f"{sheet.group}: answers", width_in=10.5, height_in=1.9 + 0.235 * len(rows)) as drawn:
        left, right = drawn.subplots(1, 2, width_ratios=(3, 2))
        dots(left, rows, series, label="share of the questions, %")
        left.set_title("answers")
        dots(right, [DotRow(kind) for kind in types], of_types, label="share of the questions, %")
        right.set_title("answer types")
        legend(drawn, series)
        return png(drawn)


def _families(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    names = family_order(columns)
    series = _shares(columns, by_family, names)
    files = list(dict.fromkeys(file for file, _ in names))
    of_files = _shares(columns, lambda split: split["files"], files)
    with figure(f"{sheet.group}: question families", width_in=12.5, height_in=8) as drawn:
        above, below = drawn.subplots(2, 1, height_ratios=(4, 3 + 0.04 * len(files)))
        strip(above, names, series)
        dots(below, [DotRow(file) for file in files], of_files, label="share of the questions, %")
        below.set_title("template files")
        legend(drawn, series)
        return png(drawn)


def _lengths(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    series = [_series(each) for each in columns]
    with figure(f"{sheet.group}: lengths", width_in=11, height_in=4.8) as drawn:
        left, right = drawn.subplots(1, 2)
        lines(left, _numbered(columns, "words"), series, label="words per question", marks=False)
        functions = _numbered(columns, "functions")
        lines(right, functions, series, label="functions per program", marks=False)
        left.set_ylabel("share of the questions")
        legend(drawn, series, line=True, note=_MEANS)
        return png(drawn)


def _objects(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    series = [_series(each) for each in columns]
    with figure(f"{sheet.group}: objects", width_in=7.5, height_in=4.8) as drawn:
        axes = drawn.subplots()
        lines(axes, _numbered(columns, "objects_an_image"), series, label="objects per image", marks=True)
        axes.set_ylabel("share of the images")
        legend(drawn, series, line=True, note=_MEANS)
        return png(drawn)


def _values(sheet: StatsSheet) -> bytes:
    columns = _scenes(sheet)
    types = value_types(columns)
    rows = [DotRow(value, kind) for kind, values in types.items() for value in values]
    even = [100 / len(types[row.group]) for row in rows]
    series = [
        _series(
            each,
            [
                100 * each.measured["values"].get(row.label, 0) / max(each.measured["objects"], 1)
                for row in rows
            ],
        )
        for each in columns
    ]
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
    n_across = min(len(columns), 3)
    n_down = -(-len(columns) // n_across)
    size = {"width_in": 1.6 + 3.5 * n_across, "height_in": 1.1 + 4.2 * n_down}
    with figure(f"{sheet.group}: pairs of values in one object", **size) as drawn:
        panels = drawn.subplots(n_down, n_across, squeeze=False).ravel()
        for axes in panels[len(columns) :]:
            axes.remove()
        for axes, each in zip(panels, columns, strict=False):
            cells, pairs, none = (
                np.full((len(down), len(across)), np.nan),
                by_values(each.measured),
                {"objects": 0},
            )
            for (row, a), (column, b) in product(enumerate(down), enumerate(across)):
                if kinds.index(b[0]) < kinds.index(a[0]):
                    even = each.measured["objects"] / (len(types[a[0]]) * len(types[b[0]]))
                    cells[row, column] = pairs.get(frozenset({a, b}), none)["objects"] / even
            names = [[value for _, value in side] for side in (down, across)]
            image = colour_table(axes, cells, names[0], names[1], boxed)
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
    series = _shares(columns, lambda split: split["relations"], [row.label for row in rows])
    most = max((int(n) for split in _splits(columns) for n in split["relations_a_question"]), default=0)
    chains = _shares(columns, lambda split: split["relations_a_question"], [str(n) for n in range(most + 1)])
    with figure(f"{sheet.group}: relations that questions name", width_in=10.5, height_in=4.8) as drawn:
        left, right = drawn.subplots(1, 2)
        dots(left, rows, series, label="share of the questions, %")
        left.set_title("relation")
        dots(right, [DotRow(str(n)) for n in range(most + 1)], chains, label="share of the questions, %")
        right.set_title("left, right, front and behind in one question")
        legend(drawn, series)
        return png(drawn)


def _baselines(sheet: StatsSheet) -> bytes:
    train = sheet.train
    guesses: dict[str, Callable[[Measured], float | None]] = {
        "most frequent answer\nof the split itself": lambda split: guessed(split, split, of_family=False),
        "most frequent answer of\neach family of the split": lambda split: guessed(
            split, split, of_family=True
        ),
    }
    if train is not None:
        guesses["most frequent answer\nof train"] = lambda split: guessed(split, train, of_family=False)
        guesses["most frequent answer of\neach family of train"] = lambda split: guessed(
            split, train, of_family=True
        )
    series = [
        _series(each, _numbers((guess(each.measured) for guess in guesses.values()), 100))
        for each in sheet.columns
    ]
    with figure(f"{sheet.group}: accuracy of guessing", width_in=9, height_in=4.8) as drawn:
        axes = drawn.subplots()
        rows = [DotRow(name, str(k // 2)) for k, name in enumerate(guesses)]
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


def _numbered(columns: Sequence[SplitColumn], histogram: str) -> list[dict[int, int]]:
    """A histogram by number of each split."""
    return [{int(value): n for value, n in split[histogram].items()} for split in _splits(columns)]


def _series(column: SplitColumn, values: Sequence[float] = ()) -> Series:
    known = _CLEVR if column.of_clevr else _COLOURS
    colour, marker = known.get(column.split, _UNKNOWN)
    return Series(column.label, colour, marker, column.other, values)


def _shares(
    columns: Sequence[SplitColumn], histogram: Callable[[Measured], Mapping[_Key, int]], keys: Sequence[_Key]
) -> list[Series]:
    """A series for each column, with each key's share of the column's questions, in per cent."""
    return [
        _series(each, [100 * counts.get(key, 0) / max(each.measured["questions"], 1) for key in keys])
        for each in columns
        for counts in [histogram(each.measured)]
    ]
