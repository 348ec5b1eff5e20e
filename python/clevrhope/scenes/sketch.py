"""Draws a scene's objects in SVG, from their boxes in the image or from their coordinates.

If a scene has neither, its objects stand in a row. Each shape has its own outline, each size its own size,
and metal shines. Attributes that an object does not have are drawn dashed.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from clevrhope.runtime.assets import blender_assets
from clevrhope.scenes.camera import default_location, project

Item = Mapping[str, Any]
Colors = Mapping[str, Sequence[float]]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""

SIZE_PX = (480, 320)
"""Width and height of a CLEVR image, and of the raster of scenes in its shape."""

FOCAL_LENGTH = 35 / 32
"""Focal length of CLEVR's camera as a multiple of the longer side: a lens of 35 mm with a sensor of 32 mm."""

RADII = {"small": 0.35, "large": 0.7}
"""Radii of objects in Blender units, if neither a box nor coordinates say how large they are."""

GLOSS = (
    '<linearGradient id="clevrhope-gloss" x1="0" y1="0" x2="1" y2="1">'
    '<stop offset="0" stop-color="#fff" stop-opacity=".1"/>'
    '<stop offset=".3" stop-color="#fff" stop-opacity=".85"/>'
    '<stop offset=".45" stop-color="#fff" stop-opacity=".1"/>'
    '<stop offset="1" stop-color="#000" stop-opacity=".4"/>'
    "</linearGradient>"
)
"""Drawn over a metal object."""

SHINY = "metal"
"""The material that is drawn shining."""


@cache
def default_colors() -> Colors:
    """Color -> red, green and blue from 0 to 255, from the properties file that comes with the package."""
    properties = json.loads((blender_assets() / "properties.json").read_bytes())
    named: Colors = properties["colors"]
    return named


def scene_svg(
    scene: Mapping[str, Any],
    *,
    colors: Colors | None = None,
    numbered: bool = False,
    size_px: tuple[int, int] | None = None,
) -> str:
    """Draws a scene, far objects first, so that near ones hide them.

    Args:
        scene: in CLEVR's JSON form; only `objects` must be there.
        colors: the meanings of color names; by default CLEVR's.
        numbered: write each object's number on it.
        size_px: width and height of the scene's raster, see `scenes.raster`; by default CLEVR's, and more
            where an object's `bbox` ends beyond it.
    """
    colors = colors or default_colors()
    items: Sequence[Item] = scene["objects"]
    boxes = _boxes(scene, size_px or SIZE_PX)
    drawn = sorted(zip(items, boxes, range(len(items)), strict=True), key=lambda each: each[1][1])
    objects = "".join(
        f"<g><title>{escape(f'{number}: {object_words(item)}')}</title>{_outlined(item, box, colors)}"
        f"{_number(number, box) if numbered else ''}</g>"
        for item, (box, _), number in drawn
    )
    ends = [box[2:] for item, (box, _) in zip(items, boxes, strict=True) if "bbox" in item]
    width, height = size_px or (math.ceil(max(side)) for side in zip(SIZE_PX, *ends, strict=True))
    label = f"Sketch of a scene with {len(items)} object{'' if len(items) == 1 else 's'}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        f'<defs>{GLOSS}</defs><rect width="{width}" height="{height}" fill="#a7a6a3"/>'
        f"{objects}</svg>"
    )


def swatch_svg(item: Item) -> str:
    """A small drawing of one object, for use in a line of text."""
    reach = 7.0 if item.get("size") != "small" else 4.5
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="18" height="18" viewBox="0 0 18 18" '
        f'style="vertical-align:-4px"><defs>{GLOSS}</defs>'
        f"{_outlined(item, (9 - reach, 9 - reach, 9 + reach, 9 + reach), default_colors())}</svg>"
    )


def object_words(item: Item) -> str:
    """The attributes of an object in words: "small red rubber cube"."""
    said = (str(item[kind]) for kind in ("size", "color", "material") if kind in item)
    return " ".join([*said, str(item.get("shape", "object"))])


def box_px(item: Item, size_px: tuple[int, int] = SIZE_PX) -> Box:
    """Left, top, right and bottom of an object in its image, in pixels.

    Published CLEVR scenes have no boxes; for them it is the box of a sphere of the object's size.
    """
    if "bbox" in item:
        left, top, right, bottom = item["bbox"]
        return left, top, right, bottom
    u, v, depth = item["pixel_coords"]
    reach = FOCAL_LENGTH * max(size_px) * item["3d_coords"][2] / depth
    return u - reach, v - reach, u + reach, v + reach


def _boxes(scene: Mapping[str, Any], size_px: tuple[int, int]) -> list[tuple[Box, float]]:
    """The box of each object, and minus its distance from the camera."""
    try:
        return [_finite(*each) for each in _placed(scene, size_px)]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # It does not say where each object is, or has other content there.
        return list(_in_rows(scene["objects"], size_px))


def _finite(box: Box, depth: float) -> tuple[Box, float]:
    left, top, right, bottom, depth = map(float, (*box, depth))
    if not math.isfinite(left + top + right + bottom + depth):
        raise ValueError
    return (left, top, right, bottom), depth


def _placed(scene: Mapping[str, Any], size_px: tuple[int, int]) -> Iterator[tuple[Box, float]]:
    camera = scene.get("camera", {}).get("location") or default_location()
    for item in scene["objects"]:
        pixel_coords = item.get("pixel_coords", [])
        # Super-CLEVR's are nested, and in images of another size.
        if len(pixel_coords) == 3 and item.keys() & {"bbox", "3d_coords"}:
            yield box_px(item, size_px), -pixel_coords[2]
        else:
            yield _projected(item, camera, size_px)


def _in_rows(items: Sequence[Item], size_px: tuple[int, int]) -> Iterator[tuple[Box, float]]:
    width, height = size_px
    n_rows = math.ceil(math.sqrt(len(items) / 1.5))
    n_columns = math.ceil(len(items) / max(n_rows, 1))
    step = min(width / max(n_columns, 1), height / max(n_rows, 1))
    for number, item in enumerate(items):
        row, column = divmod(number, n_columns)
        reach = step * 0.45 * RADII.get(item.get("size", ""), 0.7)
        u = width / 2 + (column - (n_columns - 1) / 2) * step
        v = height / 2 + (row - (n_rows - 1) / 2) * step
        yield (u - reach, v - reach, u + reach, v + reach), 0.0


def _projected(item: Item, camera: Sequence[float], size_px: tuple[int, int]) -> tuple[Box, float]:
    """The box of an object at `3d_coords` in a camera's image, and minus its distance."""
    focal_px = FOCAL_LENGTH * max(size_px)
    u, v, depth = project(item["3d_coords"], camera, focal_px=focal_px, size_px=size_px)
    reach = focal_px * RADII.get(item.get("size", ""), item["3d_coords"][2]) / depth
    return (u - reach, v - reach, u + reach, v + reach), -depth


def _outlined(item: Item, box: Box, colors: Colors) -> str:
    """Draws an object in its box."""
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    known = colors.get(item.get("color", ""))
    fill = "#fff" if known is None else f"rgb({','.join(str(round(each)) for each in known)})"
    lid = ""
    dashed = ' stroke-dasharray="4 3"' if {"color", "shape", "material"} - item.keys() else ""
    shape = item.get("shape")
    if shape == "cube":
        drawn = f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"'
    elif shape == "cylinder":
        rim = min(height / 8, width / 4)
        drawn = (
            f'<path d="M{left:.1f},{top + rim:.1f} a{width / 2:.1f},{rim:.1f} 0 0 1 {width:.1f},0 '
            f'v{height - 2 * rim:.1f} a{width / 2:.1f},{rim:.1f} 0 0 1 {-width:.1f},0 z"'
        )
        lid = (
            f'<path d="M{left:.1f},{top + rim:.1f} a{width / 2:.1f},{rim:.1f} 0 0 0 {width:.1f},0" '
            'fill="none" stroke="#333"/>'
        )
    elif shape == "sphere":
        drawn = (
            f'<ellipse cx="{left + width / 2:.1f}" cy="{top + height / 2:.1f}" rx="{width / 2:.1f}" '
            f'ry="{height / 2:.1f}"'
        )
    else:
        drawn = (
            f'<path d="M{left + width / 2:.1f},{top:.1f} L{right:.1f},{top + height / 2:.1f} '
            f'L{left + width / 2:.1f},{bottom:.1f} L{left:.1f},{top + height / 2:.1f} z"'
        )
    gloss = f'{drawn} fill="url(#clevrhope-gloss)"/>' if item.get("material") == SHINY else ""
    return f'{drawn} fill="{fill}" stroke="#333"{dashed}/>{gloss}{lid}'


def _number(number: int, box: Box) -> str:
    left, top, right, bottom = box
    return (
        f'<text x="{(left + right) / 2:.1f}" y="{(top + bottom) / 2 + 5:.1f}" text-anchor="middle" '
        'font-family="system-ui, sans-serif" font-size="14" font-weight="700" fill="#fff" stroke="#000" '
        f'stroke-width="3" paint-order="stroke">{number}</text>'
    )
