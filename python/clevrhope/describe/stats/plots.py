"""The plots of `clevrhope stats`: files <kind>.png in a folder for each group.

They show the sets of full scenes, and one-object sets only if there are no others. Each split has the same
colour and marker in every plot, which colour-blind readers can distinguish.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from clevrhope.describe.measured import RELATION_ORDER, TYPE_ORDER, VALUE_ORDER, by_values
from clevrhope.describe.stats.charts import GRID, figure, png
from clevrhope.describe.stats.comparison import SplitColumn, StatsSheet
from clevrhope.describe.stats.tables import names_of, value_types
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import SPLITS


@dataclass(frozen=True)
class _Panel:
    """The distribution of one histogram of each split, as shares."""

    title: str
    histogram: str
    order: Sequence[str] | None = None
    """The order of its names, which get dots; None for numbers, which get lines."""
    of: str = "questions"
    """What it counts."""


PANELS: Mapping[str, Sequence[_Panel]] = {
    "answers": (
        _Panel("answers", "answers", VALUE_ORDER),
        _Panel("answer types", "answer_types", TYPE_ORDER),
    ),
    "families": (_Panel("template files", "files", ()),),
    "lengths": (_Panel("words per question", "words"), _Panel("functions per program", "functions")),
    "objects": (_Panel("objects per image", "objects_an_image", of="images"),),
    "relations": (
        _Panel("relations", "relations", RELATION_ORDER),
        _Panel("left, right, front and behind in one question", "relations_a_question"),
    ),
    "values": (_Panel("values in the images", "values", VALUE_ORDER, of="objects"),),
}
"""Kind of plot -> its panels."""

KINDS = (*PANELS, "pairs")
"""Kinds of plots, which are the names of their files."""


def write_plots(folder: Path, sheet: StatsSheet, *, advance: Advance) -> list[Path]:
    """Draws the plots of a group into a folder of its own; returns the files.

    There are none if the group has only questions over several images. `advance` is called after each plot,
    which takes a few tenths of a second.

    Raises:
        DatasetError: there is no space or no permission to write.
    """
    minimal = [name for name, kind in SPLITS.items() if kind.drawn == "places"]
    whole = [column for column in sheet.columns if column.split not in minimal]
    columns = whole or list(sheet.columns)
    written = []
    for kind in KINDS if columns else ():
        content = (
            _pairs(sheet, columns) if kind == "pairs" else _panels(f"{sheet.group}: {kind}", kind, columns)
        )
        path = folder / f"{kind}.png"
        write_whole(path, content, option="--plots")
        written.append(path)
        advance(1)
    return written


def _panels(title: str, kind: str, columns: Sequence[SplitColumn]) -> bytes:
    panels = PANELS[kind]
    names = [_names(panel, columns) for panel in panels]
    height_in = max(4.8, 1.9 + 0.235 * max(map(len, names)))
    with figure(title, width_in=9 if len(panels) == 1 else 12, height_in=height_in) as drawn:
        for axes, panel, names_of_rows in zip(
            drawn.subplots(1, len(panels), squeeze=False)[0], panels, names, strict=True
        ):
            if panel.order is None:
                _lines(axes, panel, columns)
            else:
                _dots(axes, panel, columns, names_of_rows)
            axes.set_title(panel.title)
        _legend(drawn)
        return png(drawn)


def _names(panel: _Panel, columns: Sequence[SplitColumn]) -> list[str]:
    splits = [column.measured for column in columns]
    return [] if panel.order is None else names_of(splits, panel.histogram, panel.order)


def _dots(axes: Axes, panel: _Panel, columns: Sequence[SplitColumn], names: Sequence[str]) -> None:
    """Draws a dot for each name and split."""
    for k, column in enumerate(columns):
        heights = np.arange(len(names)) + 0.6 * ((k + 0.5) / len(columns) - 0.5)
        axes.plot(_shares(column, panel, names), heights, linestyle="none", clip_on=False, **_look(column))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"share of the {panel.of}, %")
    axes.grid(axis="x", color=GRID)


def _lines(axes: Axes, panel: _Panel, columns: Sequence[SplitColumn]) -> None:
    """Draws a line over the numbers for each split."""
    for column in columns:
        numbers = [int(number) for number in column.measured[panel.histogram]]
        span = range(min(numbers, default=0), max(numbers, default=0) + 1)
        shares = _shares(column, panel, [str(number) for number in span])
        axes.plot(span, shares, linestyle="--" if column.other else "-", linewidth=2, **_look(column))
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"share of the {panel.of}, %")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color=GRID)


def _pairs(sheet: StatsSheet, columns: Sequence[SplitColumn]) -> bytes:
    """A triangle of attributes against attributes: the first has no row, the last no column."""
    types = value_types(columns)
    kinds = list(types)
    values = [(kind, value) for kind, names in types.items() for value in names]
    down = [value for value in values if value[0] != kinds[0]]
    across = [value for value in values if value[0] != kinds[-1]]
    held_out = [value for value in sheet.held_out if value in values]
    n_across = min(len(columns), 3)
    n_down = -(-len(columns) // n_across)
    size = {"width_in": 1.6 + 3.5 * n_across, "height_in": 1.1 + 4.2 * n_down}
    with figure(f"{sheet.group}: pairs of values in one object", **size) as drawn:
        panels = drawn.subplots(n_down, n_across, squeeze=False).ravel()
        for axes in panels[len(columns) :]:
            axes.remove()
        for axes, column in zip(panels, columns, strict=False):
            cells = np.full((len(down), len(across)), np.nan)
            pairs = by_values(column.measured)
            for (row, a), (place, b) in product(enumerate(down), enumerate(across)):
                if kinds.index(b[0]) < kinds.index(a[0]):
                    even = column.measured["objects"] / (len(types[a[0]]) * len(types[b[0]]))
                    cells[row, place] = pairs.get(frozenset({a, b}), {"objects": 0})["objects"] / even
            image = _colour_table(axes, cells, [value for _, value in down], [value for _, value in across])
            for pair in combinations(held_out, 2):
                first, second = sorted(pair, key=lambda value: kinds.index(value[0]))
                corner = (across.index(first) - 0.5, down.index(second) - 0.5)
                axes.add_patch(Rectangle(corner, 1, 1, fill=False, linewidth=2))
            axes.set_title(column.label)
        bar = drawn.colorbar(image, ax=drawn.axes, extend="max", shrink=0.75, ticks=[0, 0.5, 1, 1.5, 2])
        bar.set_label("objects, 1 if all pairs of these types were equally common")
        note = "A cross: never." + (" A box: values held out together." if len(held_out) > 1 else "")
        drawn.supxlabel(note, x=0.012, ha="left", fontsize=9.5)
        return png(drawn)


def _colour_table(axes: Axes, cells: Any, rows: Sequence[str], columns: Sequence[str]) -> AxesImage:
    """Draws numbers around 1, (rows, columns), as colours; nan stays white, and 0 is crossed out."""
    image = axes.imshow(cells, cmap="PuOr_r", norm=TwoSlopeNorm(1, 0, 2), interpolation="nearest")
    for row, column in np.argwhere(cells == 0).tolist():
        axes.text(column, row, "\N{MULTIPLICATION SIGN}", ha="center", va="center_baseline", color="white")
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return image


def _look(column: SplitColumn) -> dict[str, Any]:
    """How matplotlib draws a split; those of the folder compared with have hollow markers."""
    kind = SPLITS.get(column.split)
    colour, marker = ("#444444", "P") if kind is None else (kind.color, kind.marker)
    fill = "none" if column.other else colour
    return {"label": column.label, "color": colour, "marker": marker, "markerfacecolor": fill}


def _shares(column: SplitColumn, panel: _Panel, names: Sequence[str]) -> list[float]:
    """Each name's share of the total, in per cent."""
    counts, total = column.measured[panel.histogram], max(column.measured[panel.of], 1)
    return [100 * counts.get(name, 0) / total for name in names]


def _legend(drawn: Figure) -> None:
    handles, labels = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower left", ncols=4)
