"""A program as a graph in SVG: `scene` at the top, the answer at the bottom."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from clevrhope.programs.text import token_text

LETTER_PX = 7.3
"""Width of a letter in the labels."""

BOX_PX, LEVEL_PX, GAP_PX = 24, 42, 18
"""Height of a box, distance between levels, and smallest gap between neighbouring boxes."""

MAX_LABEL = 40
"""The most letters of a note."""


def program_svg(nodes: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> str:
    """Draws the graph of a program's nodes, with a note under each function if notes are given."""
    labels = [token_text(node) for node in nodes]
    notes = [note if len(note) <= MAX_LABEL else f"{note[: MAX_LABEL - 1]}…" for note in notes]
    lines = [max(len(label), *(len(note) for note in notes[i : i + 1]), 1) for i, label in enumerate(labels)]
    box_px = BOX_PX + (14 if notes else 0)
    level_px = LEVEL_PX + (14 if notes else 0)
    columns, levels = places_of_nodes(nodes)
    step_px = max(lines) * LETTER_PX + 16 + GAP_PX
    width = (max(columns) + 1) * step_px
    height = (max(levels) + 1) * level_px
    centres = [
        ((column + 0.5) * step_px, level * level_px + box_px / 2 + 2)
        for column, level in zip(columns, levels, strict=True)
    ]
    arrows = "".join(
        f'<path d="M{centres[source][0]:.1f},{centres[source][1] + box_px / 2:.1f} '
        f'L{centres[number][0]:.1f},{centres[number][1] - box_px / 2:.1f}" stroke="#8a877f" fill="none"/>'
        for number, node in enumerate(nodes)
        for source in node["inputs"]
    )
    boxes = ""
    for number, (x, y) in enumerate(centres):
        wide = lines[number] * LETTER_PX + 16
        is_answer = number == len(nodes) - 1
        boxes += (
            f'<rect x="{x - wide / 2:.1f}" y="{y - box_px / 2:.1f}" width="{wide:.1f}" height="{box_px}" '
            f'rx="6" fill="{"#e9efe4" if is_answer else "#ffffff"}" '
            f'stroke="{"#2f5a1c" if is_answer else "#b9b5ab"}"/>'
            f'<text x="{x:.1f}" y="{y + (-3 if notes else 4):.1f}" fill="#22211f">{escape(labels[number])}'
            "</text>"
        )
        if notes:
            boxes += f'<text x="{x:.1f}" y="{y + 12:.1f}" fill="#1a62d6">{escape(notes[number])}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Graph of a program" '
        'font-family="ui-monospace, Menlo, DejaVu Sans Mono, monospace" font-size="12" text-anchor="middle">'
        f"{arrows}{boxes}</svg>"
    )


def places_of_nodes(nodes: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[int]]:
    """Column and level of each node; a node is placed below all of its inputs, centred under them."""
    columns: list[float] = []
    levels: list[int] = []
    next_free: dict[int, float] = {}  # by level: the first free column on the right
    n_leaves = 0
    for node in nodes:
        sources = node["inputs"]
        levels.append(1 + max((levels[source] for source in sources), default=-1))
        if sources:
            column = sum(columns[source] for source in sources) / len(sources)
        else:
            column = n_leaves
            n_leaves += 1
        column = max(column, next_free.get(levels[-1], 0.0))
        next_free[levels[-1]] = column + 1.0
        columns.append(column)
    return columns, levels
