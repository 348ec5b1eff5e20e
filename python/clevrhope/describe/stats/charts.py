"""Figures of one style for the plots of datasets and of reports.

They are drawn with Agg and with the settings of charts.mplstyle, which override a user's matplotlibrc, so
that the same numbers give the same bytes on one machine.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.artist import Artist, getp
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.transforms import BboxBase

from clevrhope.images.png import encode_png

DOTS_AN_INCH = 130
INK = "#222222"
FAINT = "#767676"
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


class _SvgRenderer(RendererSVG):
    """Leaves such letters to the reader's fonts, and measures them as their escapes."""

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


def svg(drawn: Figure) -> tuple[str, list[str]]:
    """The figure as SVG with its texts as texts, and each panel and legend of it alone, for a page.

    A page sets the parts in rows, so that they stay readable where the whole figure would have to shrink.
    """
    for axes in drawn.axes:
        _label_like_its_row(axes)
    drawn.set_dpi(72)  # so that a pixel is a point
    drawn.draw_without_rendering()
    drawn.set_layout_engine("none")
    renderer = _Canvas(drawn).get_renderer()
    shown: list[Artist] = [axes for axes in drawn.axes if axes.get_visible() and axes.axison]
    parts = [(each, each.get_tightbbox(renderer)) for each in (*shown, *drawn.legends)]
    whole = _svg_of(drawn, drawn, drawn.bbox)
    return whole, [_svg_of(drawn, each, box) for each, box in parts if box is not None]


def _label_like_its_row(axes: Axes) -> None:
    """Gives a panel the labels of a shared axis, which only the first panel of a row or column has."""
    vertical, horizontal = axes.get_shared_y_axes(), axes.get_shared_x_axes()
    for axis, shared, name in ((axes.yaxis, vertical, "ylabel"), (axes.xaxis, horizontal, "xlabel")):
        labels = [getp(each, name) for each in shared.get_siblings(axes)]
        if len(labels) > 1:
            axis.set_tick_params(label1On=True)  # at the left or below
            axes.set(**{name: max(labels)})


def _svg_of(drawn: Figure, artist: Artist, box: BboxBase) -> str:
    """The part of a figure within a box, in points, without what depends on the time and on versions."""
    text = io.StringIO()
    width, height = drawn.bbox.size
    renderer = _SvgRenderer(width, height, text, image_dpi=144, metadata={"Date": None})  # type: ignore[no-untyped-call]
    artist.draw(renderer)
    renderer.finalize()  # type: ignore[no-untyped-call]
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{box.x0:.1f} {height - box.y1:.1f} {box.width:.1f} {box.height:.1f}" '
        f'width="{box.width:.0f}pt" height="{box.height:.0f}pt" stroke-linejoin="round">'
    )
    body = re.sub(r".*?</style>\s*</defs>", head, text.getvalue(), count=1, flags=re.DOTALL)
    body = re.sub(r'<g id="\w+_\d+">', "<g>", body)  # other figures of a page have the same ones
    return body.replace("'DejaVu Sans'", "'DejaVu Sans', sans-serif")
