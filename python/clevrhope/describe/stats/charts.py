"""Charts on matplotlib's axes: dots, lines and coloured tables.

Figures are drawn with Agg and with the settings of charts.mplstyle, which override a user's matplotlibrc, so
that the same numbers give the same bytes on one machine. Colours are those of Okabe and Ito, which
colour-blind readers can distinguish; markers and dashes differ too.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from clevrhope.images.png import encode_png

DOTS_AN_INCH = 130
INK = "#222222"
FAINT = "#9a9a9a"
GRID = "#e6e6e6"

STYLE = Path(__file__).with_name("charts.mplstyle")


@dataclass(frozen=True)
class Series:
    """A split's style, and its numbers if the chart needs them."""

    label: str
    colour: str
    marker: str
    open: bool = False
    """Whether markers are hollow and lines dashed, as for the folder compared with."""
    values: Sequence[float] = ()


@dataclass(frozen=True)
class DotRow:
    """A row of a dot chart; there is a gap between groups of rows."""

    label: str
    group: str = ""


@contextmanager
def figure(title: str, *, width_in: float, height_in: float) -> Iterator[Figure]:
    """A figure with a title, to draw on within the block."""
    with style.context(STYLE, after_reset=True):
        drawn = Figure(figsize=(width_in, height_in), dpi=DOTS_AN_INCH, layout="constrained")
        _add_title(drawn, title)
        yield drawn


def _add_title(drawn: Figure, title: str) -> None:
    """Adds a title that fits the figure: it is wrapped, and made smaller if a word is too wide."""
    text_box = drawn.suptitle("", x=0.012, ha="left", fontsize=13, fontweight="bold")

    def width(text: str) -> float:
        text_box.set_text(text)
        return text_box.get_window_extent().width

    width_px = (1 - 2 * 0.012) * drawn.bbox.width
    lines: list[str] = []
    for word in title.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer) <= width_px:
            lines[-1] = longer
        else:
            lines.append(word)
    size_pt = 13.0
    while size_pt > 4 and max(map(width, lines)) > width_px:
        size_pt -= 0.5
        text_box.set_fontsize(size_pt)
    text_box.set_text("\n".join(lines))
    # The figure grows, so that the axes are as high as they are below a one-line title.
    drawn.set_figheight(drawn.get_figheight() + (len(lines) - 1) * 1.2 * size_pt / 72)


def png(drawn: Figure) -> bytes:
    """The figure as PNG, whose bytes depend only on the pixels."""
    # `savefig` would draw twice, the first time for the layout, although drawing computes the layout itself.
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()  # type: ignore[no-untyped-call]
    return encode_png(np.asarray(canvas.buffer_rgba())[..., :3])  # type: ignore[no-untyped-call]


def legend(drawn: Figure, series: Sequence[Series], *, line: bool = False, note: str = "") -> None:
    """Adds a legend below the figure, with `note` above it."""
    handles = [_handle(each, line=line) for each in series]
    widest = max((len(each.label) for each in series), default=0)
    fit = max(1, int(12 * drawn.get_figwidth() / (widest + 7)))
    drawn.legend(
        handles=handles,
        loc="outside lower left",
        ncols=max(1, -(-len(handles) // -(-len(handles) // fit))),
        title=note or None,
        alignment="left",
        title_fontsize=9.5,
        handletextpad=0.5,
    )


def dots(
    axes: Axes,
    rows: Sequence[DotRow],
    series: Sequence[Series],
    *,
    label: str,
    ticks: Sequence[Sequence[float]] = (),
    limit: float | None = None,
) -> None:
    """Draws a dot for each row and split, except where the value is nan.

    `ticks` are short strokes under the dots of a series, such as the values expected by chance; give one list
    for all series, or one for each.
    """
    heights = _heights(rows)
    n = len(series)
    offsets = [0.0] if n == 1 else [(k / (n - 1) - 0.5) * min(0.16 * n, 0.62) for k in range(n)]
    axes.hlines(heights, 0, 1, transform=axes.get_yaxis_transform(), color=GRID, linewidth=1, zorder=0)
    for k, each in enumerate(series):
        strokes = ticks[k] if len(ticks) == n else ticks[0] if len(ticks) == 1 else ()
        places = heights + offsets[k]
        if len(ticks) == n and n > 1:
            axes.vlines(strokes, places - 0.12, places + 0.12, color=FAINT, linewidth=1.6, zorder=1)
        elif k == 0 and len(strokes):
            axes.vlines(strokes, heights - 0.38, heights + 0.38, color=FAINT, linewidth=1.2, zorder=1)
        axes.plot(each.values, places, linestyle="none", clip_on=False, zorder=3, **_look(each))
    axes.set_yticks(heights, [row.label for row in rows])
    axes.tick_params(axis="y", length=0, pad=7)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(heights[-1] + 0.7, heights[0] - 0.7)
    axes.set_xlim(0, limit if limit is not None else _top(series, ticks))
    axes.set_xlabel(label)
    axes.grid(axis="x", color=GRID, linewidth=0.8)


def lines(
    axes: Axes, histograms: Sequence[Mapping[int, int]], series: Sequence[Series], *, label: str, marks: bool
) -> None:
    """Draws distributions over whole numbers as lines, in per cent, with markers for means at the top."""
    found = [value for each in histograms for value in each]
    span = np.arange(min(found, default=0), max(found, default=0) + 1)
    highest = 0.0
    for each, histogram in zip(series, histograms, strict=True):
        n = sum(histogram.values())
        if not n:
            continue
        shares = np.array([100 * histogram.get(int(value), 0) / n for value in span])
        highest = max(highest, float(shares.max()))
        look = _look(each) if marks or len(span) == 1 else {"color": each.colour}
        axes.plot(span, shares, linestyle=_dash(each), linewidth=2, zorder=2, **look)
        mean = sum(value * count for value, count in histogram.items()) / n
        top = axes.get_xaxis_transform()
        axes.plot([mean], [1], linestyle="none", clip_on=False, zorder=4, transform=top, **_look(each))
    axes.set_ylim(0, highest * 1.1 or 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}%")
    axes.set_title(label, pad=12)
    axes.grid(axis="y", color=GRID, linewidth=0.8)


def strip(axes: Axes, names: Sequence[tuple[str, int]], series: Sequence[Series]) -> None:
    """Draws a dot for each name (group, number) along the horizontal axis, and shades every second group."""
    groups = [group for group, _ in names]
    begins = [k for k, group in enumerate(groups) if k == 0 or groups[k - 1] != group]
    for k, (begin, end) in enumerate(zip(begins, [*begins[1:], len(groups)], strict=True)):
        if k % 2:
            axes.axvspan(begin - 0.5, end - 0.5, color="#f3f3f3", zorder=0)
        axes.text(
            (begin + end - 1) / 2,
            1.01,
            groups[begin].replace("_", "_" if end - begin > 12 else "_\n"),
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=9,
        )
    for each in series:
        look = {**_look(each), "markersize": 5.5}
        axes.plot(range(len(names)), each.values, linestyle="none", clip_on=False, zorder=3, **look)
    axes.set_xlim(-0.7, len(names) - 0.3)
    axes.set_ylim(0, _top(series, ()))
    has_space = [k + 1 not in begins for k in range(len(names))]  # before the next group's 0
    ticks = [str(n) if n % 5 == 0 and (has_space[k] or not n) else "" for k, (_, n) in enumerate(names)]
    axes.set_xticks(range(len(names)), ticks)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}%")
    axes.set_xlabel("place of the family in its template file, which is named above")
    axes.set_ylabel("share of the questions")
    axes.grid(axis="y", color=GRID, linewidth=0.8)


def colour_table(
    axes: Axes,
    cells: npt.NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    boxed: Sequence[tuple[int, int]],
) -> AxesImage:
    """Draws numbers around 1, (rows, columns), as colours; nan stays white, and 0 is crossed out.

    Cells (row, column) of `boxed` get a box. Returns the image, for `colour_bar`.
    """
    image = axes.imshow(cells, cmap="PuOr_r", norm=TwoSlopeNorm(1, 0, 2), interpolation="nearest")
    cross: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": "white", "fontsize": 9}
    for row, column in np.argwhere(cells == 0).tolist():
        axes.text(column, row, "\N{MULTIPLICATION SIGN}", **cross)
    for row, column in boxed:
        axes.add_patch(
            Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=2, zorder=5)
        )
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def colour_bar(drawn: Figure, image: AxesImage, label: str) -> None:
    """Adds the scale of coloured tables, to the right of all of them."""
    bar = drawn.colorbar(image, ax=drawn.axes, extend="max", shrink=0.75, pad=0.02, ticks=[0, 0.5, 1, 1.5, 2])
    bar.ax.tick_params(length=0)
    bar.set_label(label, labelpad=10)
    for spine in bar.ax.spines.values():
        spine.set_visible(False)


def _look(series: Series) -> dict[str, Any]:
    return {
        "color": series.colour,
        "marker": series.marker,
        "markersize": 7,
        "markerfacecolor": "none" if series.open else series.colour,
        "markeredgecolor": series.colour,
        "markeredgewidth": 1.6 if series.open else 0.8,
    }


def _dash(series: Series) -> Literal["-", "--"]:
    return "--" if series.open else "-"


def _handle(series: Series, *, line: bool) -> Line2D:
    handle = Line2D([], [], linewidth=2, label=series.label, **_look(series))
    handle.set_linestyle(_dash(series) if line else "none")
    return handle


def _heights(rows: Sequence[DotRow]) -> npt.NDArray[np.float64]:
    gaps = [0.0, *(0.8 if a.group != b.group else 0.0 for a, b in pairwise(rows))]
    heights: npt.NDArray[np.float64] = np.arange(len(rows)) + np.cumsum(gaps)
    return heights


def _top(series: Sequence[Series], ticks: Sequence[Sequence[float]]) -> float:
    values = [v for list_ in [*(each.values for each in series), *ticks] for v in list_ if v == v]
    return max(values, default=1.0) * 1.06 or 1.0
