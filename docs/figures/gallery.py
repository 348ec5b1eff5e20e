"""Figures of the gallery: passes, worlds, and the kinds of test sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from PIL import Image
from style import (
    BLUE,
    BODY,
    INK,
    MARGIN,
    NOTE,
    ORANGE,
    PANEL,
    PAPER,
    SOFT,
    TITLE,
    WIDTH,
    Box,
    Canvas,
    Pixels,
    length_of,
)

import clevrhope
import data
from clevrhope.config.sources import resolve_config
from clevrhope.images.native import NativeRenderer
from clevrhope.look.definition import read_look

_GAP = 22
_WHOLE = (0, 0, *data.SIZE)
_HOP = "rubber_cylinder"
# Okabe and Ito's, which also people with another sense of color tell apart.
_OBJECT_COLORS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")


def _cells(columns: int, top: float, caption: float) -> tuple[float, list[Box]]:
    """The width of the images of a grid, and the places of two rows of them with captions below."""
    wide = (WIDTH - 2 * MARGIN - (columns - 1) * _GAP) / columns
    high = wide / 1.5
    boxes = []
    for k in range(2 * columns):
        x = MARGIN + (k % columns) * (wide + _GAP)
        y = top + (k // columns) * (high + caption)
        boxes.append((x, y, x + wide, y + high))
    return wide, boxes


def _overlaps(scene: data.Scene) -> bool:
    """Whether a scene of six objects has one that is hidden by half."""
    return len(scene["objects"]) == 6 and min(item["visible_fraction"] for item in scene["objects"]) < 0.6


def passes(folder: Path) -> Image.Image:
    """An image with its boxes, mask, depths and normals."""
    scene = next(scene for scene in data.scenes(60) if _overlaps(scene))
    pixels, found = data.image(scene), data.passes(scene)
    canvas = Canvas(WIDTH, 900)
    wide, boxes = _cells(3, MARGIN, 62)
    ground = found.mask == 255
    colors = np.array([[int(code[k : k + 2], 16) for k in (1, 3, 5)] for code in _OBJECT_COLORS], np.uint8)
    mask = np.where(ground[..., None], np.uint8(236), colors[np.where(ground, 0, found.mask)])
    near, far = found.depth[~ground].min() - 1, found.depth[~ground].max() + 2
    depth = colormaps["gray"](np.clip((far - found.depth) / (far - near), 0, 1))[..., :3]
    normal = np.where(ground[..., None], 236 / 255, (found.normal.astype(np.float64) + 1) / 2)
    shown: Sequence[tuple[str, Pixels]] = (
        ("image", pixels),
        ("boxes, and the share of each object seen", pixels),
        ("mask: which object each pixel shows", mask),
        ("depth: the nearer, the lighter", (255 * depth).astype(np.uint8)),
        ("normal: where each surface faces", (255 * normal).astype(np.uint8)),
    )
    for box, (name, image) in zip(boxes, shown, strict=False):
        place = canvas.image(image, box[0], box[1], wide)
        canvas.text(name, box[0], box[3] + 8, size=NOTE)
        if name.startswith("boxes"):
            _fractions(canvas, place, found)
    x, y = boxes[5][0] + 10, boxes[5][1] + 6
    canvas.text("In Python", x, y, size=TITLE, face="bold")
    y = canvas.text("load(..., passes=...)", x, y + 52, face="mono")
    words = "gives these as arrays, with boxes and visible fractions, in a dataset built with"
    y = canvas.text(words, x, y + 8, width=wide - 20)
    canvas.text("--passes mask,depth,normal", x, y + 8, face="mono")
    return canvas.finished(boxes[5][3] + 44 + MARGIN / 2)


def _fractions(canvas: Canvas, place: Box, found: data.Passes) -> None:
    """A box around each object, with the per cent of it that is seen."""
    scale = (place[2] - place[0]) / data.SIZE[0]
    for left, top, wide, high in found.boxes:
        canvas.mark(place, (left, top, left + wide, top + high), _WHOLE, color=PAPER, width=2.5)
    for k, (left, top, wide, high) in enumerate(found.boxes):
        words = f"{100 * found.visible_px[k] / found.alone_px[k]:.0f}%"
        long = length_of(words, size=18, face="bold") + 8
        x, y = place[0] + (left + wide / 2) * scale - long / 2, place[1] + (top + high / 2) * scale - 11
        canvas.box((x, y, x + long, y + 22), fill=PAPER, radius=4)
        canvas.text(words, x + 4, y + 1, size=18, face="bold")


def worlds(folder: Path) -> Image.Image:
    """Scenes of six worlds."""
    tests = data.ROOT / "tests" / "data"
    low = {
        "camera": {"location": [8.2, -7.2, 2.8], "target": [0.0, 0.0, 0.3]},
        "lights": {"key": {"color": [1.0, 0.72, 0.42]}},
        "ground": {"color": [0.8, 0.62, 0.4]},
    }
    shown: Sequence[tuple[str, dict[str, Any], int]] = (
        ("CLEVR's world", {}, 6),
        ("few objects: 1 to 3", {"constraints": {"min_objects": 1, "max_objects": 3}}, 0),
        ("dense: always 10 objects", {"constraints": {"min_objects": 10}}, 0),
        (
            "lights and ground of one's own",
            {"changes": resolve_config(file=tests / "own_look" / "look.toml").look},
            3,
        ),
        ("a low camera, warm light, sand", {"changes": low}, 2),
        ("a mesh and materials of one's own", {"properties": tests / "look_meshes" / "properties.json"}, 0),
    )
    canvas = Canvas(WIDTH, 900)
    wide, boxes = _cells(3, MARGIN, 62)
    for box, (name, world, number) in zip(boxes, shown, strict=True):
        scene = data.scenes(number + 1, **world)[number]
        look = read_look(properties=world.get("properties"), changes=world.get("changes"))
        with NativeRenderer(look=look, quality="high") as renderer:
            [(_, pixels)] = renderer.render([(0, scene)])
        canvas.image(pixels, box[0], box[1], wide)
        canvas.text(name, box[0], box[3] + 8, size=NOTE + 1)
    return canvas.finished(boxes[5][3] + 44 + MARGIN / 2)


_SEVERAL = "One of the images shows a cube that is behind a blue cylinder; is it metal?"


def covr(folder: Path) -> Image.Image:
    """A question over several images, about two sets with different answers."""
    options = ("--covr", "--hop", _HOP, "--preset", "demo", "--no-render")
    built = data.build(folder / "covr", *options)
    rows = clevrhope.load(built, _HOP, "covr_test", images=False, text=True, scenes=True)
    pair = [row for row in rows if row["question_text"] == _SEVERAL]
    canvas = Canvas(WIDTH, 800)
    top = canvas.text(_SEVERAL, MARGIN, MARGIN - 6, size=TITLE, face="bold", width=WIDTH - 2 * MARGIN) + 24
    wide = (WIDTH - 2 * MARGIN - 4 * _GAP) / 5
    for row in pair:
        for k, scene in enumerate(row["scenes"]):
            x = MARGIN + k * (wide + _GAP)
            place = canvas.image(data.image(scene), x, top, wide)
            if k == row["source"]:
                canvas.box(
                    (place[0] - 5, place[1] - 5, place[2] + 5, place[3] + 5), line=BLUE, width=6, radius=4
                )
                canvas.text(
                    "source", x + wide / 2, place[3] + 12, size=NOTE, color=BLUE, face="bold", align="middle"
                )
        canvas.tag(row["answer_text"], MARGIN, top + wide / 1.5 + 10, fill=PANEL, color=INK, size=BODY)
        top += wide / 1.5 + 78
    words = "source: the image that shows what the question describes; no other image of the set shows it"
    canvas.text(words, MARGIN, top, size=NOTE, color=SOFT)
    return canvas.finished(top + NOTE * 1.3 + MARGIN - 8)


_EDITED = (
    "Are there more brown balls that are behind the large brown shiny thing "
    "than there are brown rubber cylinders?"
)
_EDITS = {
    "edit": "one value of one object changed",
    "removal": "objects that do not matter removed",
    "blur_3": "all but what matters blurred",
    "fill": "all but what matters filled",
    "crop": "cropped to what matters",
}


def suites(folder: Path) -> Image.Image:
    """A question about an image and about the edited ones of the suite `visual`."""
    options = (
        "--hop",
        _HOP,
        "--preset",
        "demo",
        "--renderer",
        "native",
        "--quality",
        "high",
        "--images",
        "png",
    )
    built = data.build(folder / "edited", *options)
    if not (built / "hops" / _HOP / "suites").exists():
        data.run("suite", "visual", str(built), "--hop", _HOP)
    rows = clevrhope.load(built, _HOP, "complex_ood", suite="visual", text=True)
    pairs = {row["test"]: row for row in rows if row["original"]["question_text"] == _EDITED}
    canvas = Canvas(WIDTH, 1100)
    top = canvas.text(_EDITED, MARGIN, MARGIN - 6, size=TITLE, face="bold", width=WIDTH - 2 * MARGIN) + 18
    wide, boxes = _cells(3, top, 106)
    shown = [("the original image", pairs["edit"]["original"])]
    shown += [(words, pairs[test]["partner"]) for test, words in _EDITS.items()]
    for k, (box, (words, asked)) in enumerate(zip(boxes, shown, strict=True)):
        canvas.image(asked["image"], box[0], box[1], wide)
        canvas.text(words, box[0], box[3] + 8, size=NOTE)
        flips = asked["answer_text"] != shown[0][1]["answer_text"]
        end = canvas.tag(
            asked["answer_text"],
            box[0],
            box[3] + 44,
            fill=ORANGE if flips else PANEL,
            color=PAPER if flips else INK,
        )
        if k:
            canvas.text(
                "the answer changes" if flips else "the same answer",
                end + 14,
                box[3] + 49,
                size=NOTE,
                color=SOFT,
            )
    return canvas.finished(boxes[5][3] + 80 + MARGIN / 2)


_GROUP = "Are there any visible rubber cylinders?"


def minimal(folder: Path) -> Image.Image:
    """A group of four one-object images with one question."""
    built = data.build(folder / _HOP, "--hop", _HOP, "--preset", "small", "--no-render")
    rows = data.questions(built, _HOP, "minimal_ood")
    first = rows.index(data.find(rows, _GROUP))
    group = rows[first : first + 4]
    canvas = Canvas(WIDTH, 560)
    top = canvas.text(_GROUP, MARGIN, MARGIN - 6, size=TITLE, face="bold") + 14
    wide = (WIDTH - 2 * MARGIN - 3 * _GAP) / 4
    frame = data.frame_of([row.scene for row in group], margin=60)
    for k, row in enumerate(group):
        x = MARGIN + k * (wide + _GAP)
        place = canvas.image(data.image(row.scene), x, top, wide, frame=frame)
        for bbox in data.boxes(row.scene, "rubber", "cylinder"):
            canvas.mark(place, bbox, frame)
        [item] = row.scene["objects"]
        words = f"{item['size']} {item['color']}\n{item['material']} {item['shape']}"
        end = canvas.text(words, x, place[3] + 10, size=BODY, marked=("rubber", "cylinder"))
        yes = row.answer == "yes"
        canvas.tag(
            row.answer, x, end + 8, fill=ORANGE if yes else PANEL, color=PAPER if yes else INK, size=BODY
        )
    return canvas.finished(end + 50 + MARGIN)


def counting(folder: Path) -> Image.Image:
    """A set of six images with 0, 1, ... 5 objects of a value."""
    built = data.build(folder / "prelim", "--prelim", "cyan", "--preset", "demo", "--no-render")
    group = data.questions(built, "prelim_cyan", "counting")[:6]
    canvas = Canvas(WIDTH, 1000)
    top = canvas.text(group[0].text, MARGIN, MARGIN - 6, size=TITLE, face="bold") + 14
    wide, boxes = _cells(3, top, 66)
    frame = data.frame_of([row.scene for row in group], margin=30)
    for box, row in zip(boxes, group, strict=True):
        place = canvas.image(data.image(row.scene), box[0], box[1], wide, frame=frame)
        for bbox in data.boxes(row.scene, "cyan"):
            canvas.mark(place, bbox, frame, color=PAPER, width=2.5)
        canvas.tag(row.answer, box[0], box[3] + 10, fill=PANEL, color=INK, size=BODY)
    return canvas.finished(boxes[5][3] + 50 + MARGIN)
