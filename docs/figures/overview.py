"""The figure of the README: what the model learns from, and what it is tested on."""

from __future__ import annotations

from pathlib import Path

from PIL import Image
from style import BLUE, BODY, GREEN, INK, LINE, MARGIN, NOTE, ORANGE, PANEL, PAPER, SOFT, TITLE, Canvas

import data

PAIR = ("rubber", "cylinder")
HOP = "rubber_cylinder"
WIDTH = 1600
GAP = 30
COLUMN = (WIDTH - 2 * MARGIN - 3 * GAP) / 4

_COLUMNS = (
    ("Train", "never a rubber cylinder,\nin images or words", GREEN, "train"),
    ("IID test", "also without rubber\ncylinders", BLUE, "complex_iid"),
    ("OOD test", "always about a rubber\ncylinder", ORANGE, "complex_ood"),
    ("Minimal tests", "one object each, one\nquestion on several images", SOFT, None),
)
_QUESTIONS = {
    "train": (
        "There is a brown metal cylinder; what size does it have?",
        "Is there any brown metallic thing that is behind the green rubber cube?",
    ),
    "complex_iid": (
        "There is a blue metal cylinder; how large is it?",
        "Is any purple shiny thing the same size as the brown rubber block?",
    ),
    "complex_ood": (
        "How large is the green rubber cylinder?",
        "Is any shiny thing the same size as the brown rubber cylinder?",
    ),
}
# The four images of this place, by the number of its first scene, are asked about in both minimal sets.
_PLACE = 1440
_GROUPS = (
    ("IID", BLUE, "minimal_iid", "Are there rubber cubes?"),
    ("OOD", ORANGE, "minimal_ood", "Is there any rubber cylinder?"),
)


def overview(folder: Path) -> Image.Image:
    """Four columns: train, IID test, OOD test and the minimal tests, each with images and questions."""
    built = data.build(folder / HOP, "--hop", HOP, "--preset", "small", "--no-render")
    canvas = Canvas(WIDTH, 1400)
    lefts = [MARGIN + k * (COLUMN + GAP) for k in range(4)]
    top = _stages(canvas, lefts)
    ends = []
    for left, (name, meaning, color, split) in zip(lefts, _COLUMNS, strict=True):
        canvas.box((left, top, left + COLUMN, top + 122), fill=color, radius=10)
        canvas.text(name, left + 16, top + 10, size=TITLE, color=PAPER, face="bold")
        canvas.text(meaning, left + 16, top + 50, size=NOTE + 1, color=PAPER)
        end = top + 140
        if split is None:
            scenes = {row.index: row.scene for row in data.questions(built, HOP, "minimal_ood")}
            place = [scenes[_PLACE + k] for k in range(4)]
            for name, color, split, text in _GROUPS:
                rows = [row for row in data.questions(built, HOP, split) if row.text == text]
                answers = {row.index: row.answer for row in rows}
                end = _group(canvas, place, answers, (name, color, text), left, end) + 26
        else:
            rows = data.questions(built, HOP, split)
            for text in _QUESTIONS[split]:
                end = _question(canvas, data.find(rows, text), left, end, color) + 26
        ends.append(end)
    return canvas.finished(_notes(canvas, lefts, max(ends)) + MARGIN)


def _stages(canvas: Canvas, lefts: list[float]) -> float:
    """What happens in which columns; returns the bottom."""
    for words, left, right in (
        ("A model learns from", lefts[0], lefts[0] + COLUMN),
        ("and is then tested on", lefts[1], lefts[3] + COLUMN),
    ):
        canvas.text(words, (left + right) / 2, MARGIN - 8, size=BODY, color=SOFT, align="middle")
        canvas.line([(left, MARGIN + 34), (right, MARGIN + 34)], color=LINE, width=3)
    return MARGIN + 48


def _question(canvas: Canvas, row: data.Asked, left: float, top: float, color: str) -> float:
    """An image, and its question and answer below it; returns the bottom."""
    frame = data.frame_of([row.scene])
    place = canvas.image(data.image(row.scene), left, top, COLUMN, frame=frame)
    for bbox in data.boxes(row.scene, *PAIR):
        canvas.mark(place, bbox, frame)
    end = canvas.text(row.text, left, place[3] + 12, width=COLUMN, marked=PAIR, marks=color)
    canvas.tag(row.answer, left, end + 6, fill=PANEL, color=INK, size=BODY)
    return end + 46


def _group(
    canvas: Canvas,
    place: list[data.Scene],
    answers: dict[int, str],
    words: tuple[str, str, str],
    left: float,
    top: float,
) -> float:
    """The four images of a place with the answers to one question; returns the bottom."""
    name, color, text = words
    canvas.tag(name, left, top, fill=color)
    end = canvas.text(text, left, top + 42, width=COLUMN, marked=PAIR, marks=color) + 10
    wide, frame = (COLUMN - 12) / 2, data.frame_of(place, margin=52)
    for k, scene in enumerate(place):
        x, y = left + (k % 2) * (wide + 12), end + (k // 2) * (wide / 1.5 + 12)
        box = x, y, x + wide, y + wide / 1.5
        answer = answers.get(scene["image_index"])
        if answer is None:
            canvas.box(box, fill=PANEL, line=LINE, radius=0)
            canvas.text(
                "not used:\nit shows a\nrubber cylinder",
                x + wide / 2,
                y + 18,
                size=19,
                color=SOFT,
                align="middle",
            )
            continue
        canvas.image(data.image(scene), x, y, wide, frame=frame)
        for bbox in data.boxes(scene, *PAIR):
            canvas.mark(box, bbox, frame)
        canvas.tag(answer, x + 5, box[3] - 35, fill=PAPER, color=INK, size=19)
    return end + 2 * wide / 1.5 + 12


def _notes(canvas: Canvas, lefts: list[float], top: float) -> float:
    """What the boxes mean and what is measured; returns the bottom."""
    canvas.box((lefts[0], top + 4, lefts[0] + 32, top + 32), line=ORANGE, width=4, radius=5)
    canvas.text("a rubber cylinder,\nthe held-out pair", lefts[0] + 48, top - 8, size=NOTE + 1)
    middle = (lefts[1] + lefts[2] + COLUMN) / 2
    canvas.line(
        [
            (lefts[1], top - 14),
            (lefts[1], top - 4),
            (lefts[2] + COLUMN, top - 4),
            (lefts[2] + COLUMN, top - 14),
        ]
    )
    canvas.text(
        "systematicity gap = accuracy on OOD minus accuracy on IID",
        middle,
        top + 10,
        size=NOTE + 1,
        align="middle",
    )
    return top + 44
