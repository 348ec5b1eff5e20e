"""Figures of one style for the plots of datasets and of reports.

They are drawn with Agg and with the settings of charts.mplstyle, which override a user's matplotlibrc, so
that the same numbers give the same bytes on one machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from clevrhope.images.png import encode_png

DOTS_AN_INCH = 130
INK = "#222222"
FAINT = "#9a9a9a"
GRID = "#e6e6e6"

STYLE = Path(__file__).with_name("charts.mplstyle")


class _Renderer(RendererAgg):
    """Draws letters that the font does not have, such as Chinese ones, as their escapes."""

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: FontProperties, *more: Any, **how: Any
    ) -> None:
        super().draw_text(gc, x, y, _drawable(s, prop), prop, *more, **how)  # type: ignore[no-untyped-call]

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> Any:
        return super().get_text_width_height_descent(_drawable(s, prop), prop, ismath)  # type: ignore[no-untyped-call]


class _Canvas(FigureCanvasAgg):
    """A canvas with this renderer."""

    def get_renderer(self) -> RendererAgg:
        found = super().get_renderer()  # type: ignore[no-untyped-call]
        if not isinstance(found, _Renderer):
            found = self.renderer = _Renderer(found.width, found.height, found.dpi)  # type: ignore[no-untyped-call]
        return found


def _drawable(text: str, prop: FontProperties) -> str:
    known = get_font(findfont(prop)).get_charmap()
    return "".join(letter if ord(letter) in known else ascii(letter)[1:-1] for letter in text)


@contextmanager
def figure(title: str, *, width_in: float, height_in: float) -> Iterator[Figure]:
    """A figure with a title, to draw on within the block."""
    with style.context(STYLE, after_reset=True):
        drawn = Figure(figsize=(width_in, height_in), dpi=DOTS_AN_INCH, layout="constrained")
        _Canvas(drawn)
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
    canvas = _Canvas(drawn)
    canvas.draw()  # type: ignore[no-untyped-call]
    return encode_png(np.asarray(canvas.buffer_rgba())[..., :3])  # type: ignore[no-untyped-call]
