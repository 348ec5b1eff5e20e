"""Small images and sketches for a page, as data URLs, and the boxes of objects in them."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from PIL import Image

from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.describe.boxes import Box

WIDTH_PX, HEIGHT_PX = 480, 320
"""Size of a CLEVR image."""

FOCAL_PX = 525.0
"""Focal length of CLEVR's camera: a lens of 35 mm with a sensor of 32 mm."""


def thumbnail_url(pixels: ImageArray, *, width_px: int = WIDTH_PX) -> str:
    """A small JPEG of an image (height, width, 3), at most so wide, as a data URL."""
    memory = io.BytesIO()
    image = Image.fromarray(pixels)
    image.thumbnail((width_px, width_px))
    image.save(memory, "JPEG", quality=85, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(memory.getvalue()).decode()}"


def sketch_url(scene: Mapping[str, Any], colours: Mapping[str, Sequence[float]]) -> str:
    """A drawing of a scene's objects as a data URL."""
    return f"data:image/svg+xml,{quote(sketch_svg(scene, colours))}"


def sketch_svg(scene: Mapping[str, Any], colours: Mapping[str, Sequence[float]]) -> str:
    """A drawing of a scene's objects, far objects first, so that near ones hide them."""
    objects = sorted(scene["objects"], key=lambda each: -each["pixel_coords"][2])
    shapes = "".join(_sketched(each, colours) for each in objects)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}">'
        f'<rect width="{WIDTH_PX}" height="{HEIGHT_PX}" fill="#a7a6a3"/>{shapes}</svg>'
    )


def pair_boxes(scene: Mapping[str, Any], pair: Sequence[tuple[str, str]]) -> list[Box]:
    """The boxes of the objects that have all values of a pair."""
    return [object_box(each) for each in scene["objects"] if all(each[kind] == value for kind, value in pair)]


def object_box(item: Mapping[str, Any]) -> Box:
    """The box of an object."""
    left, top, right, bottom = box_px(item)
    return Box(
        100 * left / WIDTH_PX,
        100 * top / HEIGHT_PX,
        100 * (right - left) / WIDTH_PX,
        100 * (bottom - top) / HEIGHT_PX,
    )


def box_px(item: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of an object in its image, in pixels.

    Published CLEVR scenes have no boxes; there it is the box of a sphere of the object's size.
    """
    if "bbox" in item:
        left, top, right, bottom = item["bbox"]
        return left, top, right, bottom
    u, v, depth = item["pixel_coords"]
    reach = FOCAL_PX * item["3d_coords"][2] / depth
    return u - reach, v - reach, u + reach, v + reach


def _sketched(item: Mapping[str, Any], colours: Mapping[str, Sequence[float]]) -> str:
    left, top, right, bottom = box_px(item)
    width, height = right - left, bottom - top
    red, green, blue = (round(each) for each in colours.get(item["color"], (128, 128, 128)))
    style = f'fill="rgb({red},{green},{blue})" stroke="{"#fff" if item["material"] == "metal" else "#444"}"'
    if item["shape"] == "sphere":
        return (
            f'<ellipse cx="{left + width / 2:.1f}" cy="{top + height / 2:.1f}" rx="{width / 2:.1f}" '
            f'ry="{height / 2:.1f}" {style}/>'
        )
    corner = width / 2 if item["shape"] == "cylinder" else 3
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{corner:.1f}" ry="{min(corner, height / 5):.1f}" {style}/>'
    )
