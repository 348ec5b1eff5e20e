"""The look that all figures share: colors, letters, and a canvas measured in pixels."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from PIL import Image, ImageColor, ImageDraw, ImageFont

Pixels = npt.NDArray[np.uint8]
Box = tuple[float, float, float, float]  # left, top, right, bottom
Frame = tuple[int, int, int, int]

PAPER = "#ffffff"
PANEL = "#f4f5f7"
INK = "#1f2328"
SOFT = "#57606a"
LINE = "#c9ced6"
# The splits' colors in all plots, of Okabe and Ito, a little darker, since white letters stand on them.
GREEN, BLUE, ORANGE = "#00795a", "#0068a6", "#c24e00"
PALE_ORANGE, PALE_GREEN = "#fdeadd", "#e0f3ed"

WIDTH = 1520  # twice what a page of the site gives a figure
MARGIN = 36
TITLE, BODY, NOTE = 28, 24, 21  # heights of letters, twice those on a page
MOST_BYTES = 250_000
_FINER = 2  # canvases are drawn this much larger, and reduced, so that lines are smooth
_FONTS = Path(matplotlib.get_data_path(), "fonts", "ttf")
_FACES = {
    "regular": "DejaVuSans",
    "bold": "DejaVuSans-Bold",
    "mono": "DejaVuSansMono",
    "italic": "DejaVuSans-Oblique",
}


def _font(size: float, face: str) -> ImageFont.FreeTypeFont:
    # The basic layout is the same with and without libraqm.
    file = _FONTS / f"{_FACES[face]}.ttf"
    return ImageFont.truetype(str(file), round(size * _FINER), layout_engine=ImageFont.Layout.BASIC)


class Canvas:
    """A white sheet; coordinates are pixels of the finished figure, y downwards."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        size = round(width * _FINER), round(height * _FINER)
        self._image = Image.new("RGB", size, PAPER)
        self._draw = ImageDraw.Draw(self._image)

    def finished(self, height: float) -> Image.Image:
        """The figure, cut off at a height."""
        size = round(self.width), round(self.height)
        whole = self._image.resize(size, Image.Resampling.LANCZOS)
        return whole.crop((0, 0, size[0], round(height)))

    def box(
        self,
        box: Box,
        *,
        fill: str | None = None,
        line: str | None = None,
        width: float = 2,
        radius: float = 10,
    ) -> None:
        """A rectangle with round corners."""
        pixels = [value * _FINER for value in box]
        self._draw.rounded_rectangle(pixels, radius * _FINER, fill, line, round(width * _FINER))

    def line(self, points: Sequence[tuple[float, float]], *, color: str = SOFT, width: float = 2.5) -> None:
        """A line through some points."""
        pixels = [(x * _FINER, y * _FINER) for x, y in points]
        self._draw.line(pixels, color, round(width * _FINER), joint="curve")

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], *, color: str = SOFT, width: float = 2.5
    ) -> None:
        """A straight arrow."""
        tip = np.asarray(end, float)
        along = (tip - start) / np.hypot(*(tip - start))
        across = np.array([-along[1], along[0]])
        head = 4.5 * width
        base = tip - head * along
        self.line([start, (base[0], base[1])], color=color, width=width)
        corners = [tip, base + 0.45 * head * across, base - 0.45 * head * across]
        self._draw.polygon([tuple(corner * _FINER) for corner in corners], color)

    def cross(self, box: Box, *, color: str = ORANGE, width: float = 5) -> None:
        """Two diagonals of a rectangle."""
        left, top, right, bottom = box
        self.line([(left, top), (right, bottom)], color=color, width=width)
        self.line([(left, bottom), (right, top)], color=color, width=width)

    def image(
        self,
        pixels: Pixels | Image.Image,
        x: float,
        y: float,
        width: float,
        *,
        frame: Frame | None = None,
        faded: float = 0.0,
        line: str | None = LINE,
    ) -> Box:
        """An image, or what `frame` cuts out of it, scaled to a width and mixed with white by `faded`.

        Returns its rectangle.
        """
        image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
        image = image.crop(frame) if frame else image
        height = width * image.height / image.width
        size = round(width * _FINER), round(height * _FINER)
        image = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        if faded:
            image = Image.blend(image, Image.new("RGB", size, PAPER), faded)
        self._image.paste(image, (round(x * _FINER), round(y * _FINER)))
        box = x, y, x + width, y + height
        if line:
            self.box(box, line=line, width=1.5, radius=0)
        return box

    def mark(
        self, place: Box, bbox: Sequence[float], frame: Frame, *, color: str = ORANGE, width: float = 4
    ) -> None:
        """A box around an object of the image at `place` that shows `frame` of an image, in its pixels."""
        scale = (place[2] - place[0]) / (frame[2] - frame[0])
        left, top, right, bottom = bbox
        box = (
            max(place[0] + (left - frame[0]) * scale - 5, place[0] + 2),
            max(place[1] + (top - frame[1]) * scale - 5, place[1] + 2),
            min(place[0] + (right - frame[0]) * scale + 5, place[2] - 2),
            min(place[1] + (bottom - frame[1]) * scale + 5, place[3] - 2),
        )
        self.box(box, line=color, width=width, radius=5)

    def text(
        self,
        words: str,
        x: float,
        y: float,
        *,
        size: float = BODY,
        color: str = INK,
        face: str = "regular",
        width: float | None = None,
        align: str = "left",
        leading: float = 1.3,
        marked: Sequence[str] = (),
        marks: str = ORANGE,
    ) -> float:
        """Writes text whose first line has its top at y, broken to `width`; returns the bottom.

        `align` says what x is: the left end, the middle or the right end of each line. Words that are
        `marked`, in the singular or plural, have the color `marks` and are underlined.
        """
        font = _font(size, face)
        share = {"left": 0.0, "middle": 0.5, "right": 1.0}[align]
        for row in lines_of(words, size=size, face=face, width=width):
            at = x - share * length_of(row, size=size, face=face)
            for word in row.split(" "):
                bare = word.strip(";,.?")
                self._draw.text((at * _FINER, y * _FINER), word, color, font, "la")
                if bare.removesuffix("s") in marked:
                    self._draw.text((at * _FINER, y * _FINER), bare, marks, font, "la")
                    end, below = at + length_of(bare, size=size, face=face), y + size * 1.12
                    self.line([(at, below), (end, below)], color=marks, width=size / 10)
                at += length_of(word + " ", size=size, face=face)
            y += size * leading
        return y

    def tag(
        self, words: str, x: float, y: float, *, fill: str, color: str = PAPER, size: float = NOTE
    ) -> float:
        """A word on a colored ground, for an answer; returns its right end."""
        wide = length_of(words, size=size, face="bold")
        self.box((x, y, x + wide + 24, y + size * 1.6), fill=fill, radius=8)
        self.text(words, x + 12, y + size * 0.22, size=size, color=color, face="bold")
        return x + wide + 24


def length_of(words: str, *, size: float = BODY, face: str = "regular") -> float:
    """The width of a line of text."""
    return _font(size, face).getlength(words) / _FINER


def lines_of(
    words: str, *, size: float = BODY, face: str = "regular", width: float | None = None
) -> list[str]:
    """Text broken into lines of at most `width`, and at its own line breaks."""
    rows: list[str] = []
    for paragraph in words.split("\n"):
        rows.append("")
        for word in paragraph.split():
            longer = f"{rows[-1]} {word}".strip()
            if width is None or not rows[-1] or length_of(longer, size=size, face=face) <= width:
                rows[-1] = longer
            else:
                rows.append(word)
    return rows


def chart(width: float, height: float) -> Figure:
    """An empty matplotlib figure of this many pixels, in the style of the others."""
    settings = {
        "font.family": "DejaVu Sans",
        "font.size": NOTE * 0.72,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": SOFT,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 1.5,
        "xtick.major.width": 1.5,
        "ytick.major.width": 1.5,
    }
    matplotlib.rcParams.update(settings)
    return Figure(figsize=(width / 100, height / 100), dpi=100)


def drawn(figure: Figure) -> Image.Image:
    """A chart as an image."""
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor=PAPER)
    return Image.open(file).convert("RGB")


def save(image: Image.Image, file: Path) -> None:
    """Writes a figure with 256 colors; two runs write the same bytes.

    Raises:
        ValueError: it is larger than a page should have to load.
    """
    # Shades are dithered, since a wide floor would show steps; paper and letters keep their exact colors.
    exact = [ImageColor.getrgb(color) for color in (PAPER, PANEL, INK, SOFT, LINE, GREEN, BLUE, ORANGE)]
    others = image.quantize(256 - len(exact), method=Image.Quantize.MAXCOVERAGE, kmeans=1)
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for color in exact for value in color] + (others.getpalette() or []))
    nearest = image.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB")
    softened = Image.blend(nearest, image, 0.75)  # dithered in part, which is less grainy, and smaller
    few = softened.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    numbers, pixels = np.array(few), np.asarray(image)
    for k, color in enumerate(exact):
        numbers[(pixels == color).all(axis=2)] = k
    clean = Image.fromarray(numbers, "P")
    clean.putpalette(few.getpalette() or [])
    clean.save(file, optimize=True)
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file.name} has {file.stat().st_size:,} bytes, over {MOST_BYTES:,}")
