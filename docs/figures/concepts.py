"""Figures of the ideas: pools and splits, what mentioning means, and diversity."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path

from PIL import Image
from style import (
    GREEN,
    LINE,
    MARGIN,
    NOTE,
    ORANGE,
    PALE_GREEN,
    PALE_ORANGE,
    PANEL,
    PAPER,
    SOFT,
    TITLE,
    WIDTH,
    Box,
    Canvas,
)

import data

_SCENES = 8
_PAIRS = (("rubber", "cylinder"), ("cyan", "cylinder"))
_PREFIXES = ((25_000, "#9fd3c4"), (200_000, "#52a88f"), (560_000, GREEN))


def pools(folder: Path) -> Image.Image:
    """A pool's first scenes, what two pairs take of them, and the three train sizes."""
    built = data.build(
        folder / "rubber_cylinder", "--hop", "rubber_cylinder", "--preset", "small", "--no-render"
    )
    data.run("build", "--hop", "cyan_cylinder", "--no-render", "--out", str(built))
    scenes = data.scenes(_SCENES)
    images = [data.image(scene) for scene in scenes]
    canvas = Canvas(WIDTH, 1100)
    top = canvas.text("A pool is a stream of scenes without end", MARGIN, MARGIN - 6, size=TITLE, face="bold")
    gap, tail = 12, 46
    wide = (WIDTH - 2 * MARGIN - tail - _SCENES * gap) / _SCENES
    lefts = [MARGIN + k * (wide + gap) for k in range(_SCENES)]
    for k, left in enumerate(lefts):
        canvas.image(images[k], left, top + 6, wide)
        canvas.text(
            f"scene {k}", left + wide / 2, top + 12 + wide / 1.5, size=NOTE, color=SOFT, align="middle"
        )
    _onwards(canvas, lefts[-1] + wide, top + 6 + wide / 3)
    top += wide / 1.5 + 66
    used: set[int] = set()
    for pair in _PAIRS:
        counts = Counter(row.index for row in data.questions(built, "_".join(pair), "train"))
        canvas.text(f"Train images of {'_'.join(pair)}", MARGIN, top, size=TITLE, face="bold")
        words = f"without a {' '.join(pair)}"
        if used:
            shared = [str(k) for k in range(_SCENES) if k in counts and k in used]
            words += f"; scene{'s' * (len(shared) > 1)} {' and '.join(shared)} "
            words += "serves both pairs" if len(shared) == 1 else "serve both pairs"
        used |= counts.keys()
        top = canvas.text(words, WIDTH - MARGIN, top + 4, size=NOTE + 1, color=SOFT, align="right")
        for k, left in enumerate(lefts):
            found = data.boxes(scenes[k], *pair)
            place = canvas.image(images[k], left, top + 12, wide, faded=0.5 if found else 0)
            for bbox in found:
                canvas.mark(place, bbox, (0, 0, *data.SIZE), width=3)
            if found:
                canvas.line([(place[0], place[3]), (place[2], place[1])], color=SOFT, width=5)
            words, color = ("not used", SOFT) if found else (f"{counts[k]} questions", GREEN)
            canvas.text(words, left + wide / 2, place[3] + 8, size=NOTE, color=color, align="middle")
        _onwards(canvas, lefts[-1] + wide, top + 12 + wide / 3)
        top += wide / 1.5 + 80
    return canvas.finished(_prefixes(canvas, top) + MARGIN - 8)


def _onwards(canvas: Canvas, x: float, y: float) -> None:
    for k in range(3):
        canvas.box((x + 14 + 14 * k, y - 3, x + 20 + 14 * k, y + 3), fill=SOFT, radius=3)


def _prefixes(canvas: Canvas, top: float) -> float:
    """The train sizes as bars from one start; returns the bottom."""
    canvas.text("A smaller train set is the beginning of a larger one", MARGIN, top, size=TITLE, face="bold")
    top += 48
    whole = WIDTH - 2 * MARGIN
    for number, color in reversed(_PREFIXES):
        canvas.box((MARGIN, top, MARGIN + whole * number / _PREFIXES[-1][0], top + 44), fill=color, radius=6)
    for number, color in _PREFIXES:
        right = MARGIN + whole * number / _PREFIXES[-1][0]
        canvas.line([(right - 1, top + 44), (right - 1, top + 56)], color=color, width=4)
        align = "left" if number == _PREFIXES[0][0] else "right"
        x = MARGIN if align == "left" else right
        canvas.text(f"{number:,} questions", x, top + 60, size=NOTE, align=align)
    return top + 90


# A step: its function, and the alternatives of its description; None for what is no set of objects.
_Step = tuple[str, list[list[str]] | None]
_CHAINS: tuple[tuple[str, list[_Step]], ...] = (
    (
        "Are there any rubber cylinders?",
        [
            ("scene", [[]]),
            ("filter cylinder", [["cylinder"]]),
            ("filter rubber", [["rubber", "cylinder"]]),
            ("exist", None),
        ],
    ),
    (
        "What color is the cylinder of the same material as the rubber cube?",
        [
            ("scene", [[]]),
            ("filter cube", [["cube"]]),
            ("filter rubber", [["rubber", "cube"]]),
            ("unique, same material", [[]]),
            ("filter cylinder", [["cylinder"]]),
            ("unique, query color", None),
        ],
    ),
)
_UNION = "How many matte things are either cylinders or red cubes?"
_LEFT: list[_Step] = [("scene", [[]]), ("filter cylinder", [["cylinder"]])]
_RIGHT: list[_Step] = [("scene", [[]]), ("filter cube", [["cube"]]), ("filter red", [["red", "cube"]])]
_JOINED: list[_Step] = [
    ("union", [["cylinder"], ["red", "cube"]]),
    ("filter rubber", [["rubber", "cylinder"], ["rubber", "red", "cube"]]),
    ("count", None),
]
_HIGH, _BETWEEN = 68, 30


def mention(folder: Path) -> Image.Image:
    """Three questions with their programs and the description of each step."""
    canvas = Canvas(WIDTH, 1100)
    gap = 44
    wide = (WIDTH - 2 * MARGIN - 2 * gap) / 3
    lefts = [MARGIN + k * (wide + gap) for k in range(3)]
    texts = [_CHAINS[0][0], _CHAINS[1][0], _UNION]
    for left, text in zip(lefts, texts, strict=True):
        canvas.text(text, left, MARGIN - 6, size=TITLE - 3, face="bold", width=wide)
    top = MARGIN + 118
    ends = []
    for left, (_, steps) in zip(lefts, _CHAINS, strict=False):
        ends.append(_chain(canvas, steps, left + wide * 0.08, wide * 0.84, top))
    words = (
        "In each box: a step of the program, and in bold what its objects are asked to be. "
        "A question mentions the pair where one alternative has both values."
    )
    canvas.text(words, lefts[0], ends[0] + 44, size=NOTE, color=SOFT, width=wide)
    half = (wide - 16) / 2
    left, right = lefts[2], lefts[2] + half + 16
    start = top + _HIGH + _BETWEEN
    _chain(canvas, _LEFT, left, half, start)
    end = _chain(canvas, _RIGHT, right, half, top)
    for x in (left, right):
        canvas.arrow((x + half / 2, end), (x + half / 2, end + _BETWEEN - 2))
    ends.append(_chain(canvas, _JOINED, left, wide, end + _BETWEEN))
    low = max(ends) + 26
    verdicts = (
        ("mentions rubber cylinder", True),
        ("does not mention it", False),
        ("mentions rubber cylinder", True),
    )
    for left, (words, held) in zip(lefts, verdicts, strict=True):
        canvas.box((left, low, left + wide, low + 50), fill=ORANGE if held else GREEN)
        canvas.text(words, left + wide / 2, low + 11, color=PAPER, face="bold", align="middle")
    return canvas.finished(low + 50 + MARGIN)


def _chain(canvas: Canvas, steps: list[_Step], left: float, width: float, top: float) -> float:
    """Steps below one another, joined by arrows; returns the bottom."""
    for k, (function, alternatives) in enumerate(steps):
        found = any({"rubber", "cylinder"} <= set(values) for values in alternatives or [])
        high = _HIGH + (28 if alternatives and len(alternatives) > 1 and found else 0)
        fill, line = (PALE_ORANGE, ORANGE) if found else (PANEL, LINE)
        canvas.box((left, top, left + width, top + high), fill=fill, line=line, width=4 if found else 2)
        middle = left + width / 2
        canvas.text(function, middle, top + 6, size=20, face="mono", color=SOFT, align="middle")
        if alternatives is None:
            canvas.text(
                "an answer, not objects",
                middle,
                top + 35,
                size=NOTE,
                color=SOFT,
                face="italic",
                align="middle",
            )
        else:
            names = [" ".join(values) or "any object" for values in alternatives]
            y = top + 35
            for row in "\nor ".join(names).split("\n") if found else [" or ".join(names)]:
                marked = _PAIRS[0] if set(_PAIRS[0]) <= set(row.split()) else ()
                y = canvas.text(row, middle, y, size=NOTE, face="bold", align="middle", marked=marked)
        top += high
        if k + 1 < len(steps):
            canvas.arrow((middle, top), (middle, top + _BETWEEN - 2))
            top += _BETWEEN
    return top


_DIVERSITIES = (4, 8, 16, 24)
_HOP = ("cyan", "cylinder")
_SHAPES = ("cube", "sphere", "cylinder")
_COLORS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")


def diversity(folder: Path) -> Image.Image:
    """Which combinations of color and shape a train set shows at each diversity."""
    built = data.diversities(folder)
    palettes = json.loads((built / "manifest.json").read_text())["palettes"]
    images = _single_objects()
    canvas = Canvas(WIDTH, 1000)
    names, gap = 92, 34
    cell = (WIDTH - 2 * MARGIN - names - 3 * gap) / 12
    high = cell * 0.86
    top = MARGIN + 112
    for row, color in enumerate(_COLORS):
        canvas.text(color, MARGIN, top + row * high + high / 2 - 14, size=NOTE + 1)
    for k, number in enumerate(_DIVERSITIES):
        left = MARGIN + names + k * (3 * cell + gap)
        seen = {tuple(values) for values in palettes[f"cyan_cylinder-d{number}"]["rows"][0]}
        canvas.text(
            f"Diversity {number}", left + 1.5 * cell, MARGIN - 8, size=TITLE, face="bold", align="middle"
        )
        canvas.text(
            f"{len(seen)} seen in training",
            left + 1.5 * cell,
            MARGIN + 30,
            size=NOTE,
            color=SOFT,
            align="middle",
        )
        for column, shape in enumerate(_SHAPES):
            x = left + column * cell
            canvas.text(shape, x + cell / 2, top - 36, size=NOTE, align="middle")
            for row, color in enumerate(_COLORS):
                box = x + 2, top + row * high + 2, x + cell - 2, top + (row + 1) * high - 2
                _combination(canvas, box, images[color, shape], (color, shape), seen)
    low = top + 8 * high + 20
    for k, (fill, line, words) in enumerate(
        (
            (PALE_GREEN, GREEN, "seen in training"),
            (PANEL, LINE, "never seen"),
            (PALE_ORANGE, ORANGE, "held out, and tested"),
        )
    ):
        x = MARGIN + names + k * (3 * cell + gap)
        canvas.box((x, low, x + 34, low + 28), fill=fill, line=line, width=3, radius=5)
        canvas.text(words, x + 48, low, size=NOTE + 1)
    return canvas.finished(low + 28 + MARGIN)


def _combination(
    canvas: Canvas, box: Box, image: Image.Image, values: tuple[str, str], seen: set[tuple[str, ...]]
) -> None:
    if values in seen:
        canvas.box(box, line=GREEN, width=3, radius=4)
        _centered(canvas, image, box, 0.0)
    elif values == _HOP:
        _centered(canvas, image, box, 0.45)
        canvas.cross((box[0] + 6, box[1] + 6, box[2] - 6, box[3] - 6), width=4)
        canvas.box(box, line=ORANGE, width=5, radius=4)
    else:
        canvas.box(box, fill=PANEL, line=LINE, width=1.5, radius=4)


def _centered(canvas: Canvas, image: Image.Image, box: Box, faded: float) -> None:
    canvas.image(image, box[0] + 3, box[1] + 3, box[2] - box[0] - 6, faded=faded, line=None)


def _single_objects() -> dict[tuple[str, str], Image.Image]:
    """An image of an object of each color and shape, at one place."""
    [scene] = (
        scene for scene in data.scenes(1, pool="one object", constraints={"min_objects": 1, "max_objects": 1})
    )
    images = {}
    x = y = 0
    for color in _COLORS:
        for shape in _SHAPES:
            changed = copy.deepcopy(scene)
            changed["objects"][0] |= {"color": color, "shape": shape, "size": "large", "material": "rubber"}
            changed["objects"][0]["3d_coords"] = [0.0, 0.0, 0.7]
            if not images:  # a cube, the widest of the three
                left, top, wide, high = data.passes(changed).boxes[0]
                x, y = round(left + wide / 2), round(top + high / 2)
            images[color, shape] = Image.fromarray(data.image(changed)).crop((x - 70, y - 60, x + 70, y + 60))
    return images
