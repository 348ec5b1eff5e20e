"""Small images and sketches for a page, as data URLs, and the boxes of objects in them."""

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from PIL import Image

from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.scenes.sketch import HEIGHT_PX, WIDTH_PX, box_px, scene_svg

__all__ = ["WIDTH_PX", "Box", "object_box", "pair_boxes", "sketch_url", "thumbnail_url"]


@dataclass(frozen=True)
class Box:
    """A rectangle in an image, in per cent of its width and height."""

    left: float
    top: float
    width: float
    height: float


def thumbnail_url(pixels: ImageArray, *, width_px: int = WIDTH_PX) -> str:
    """A small JPEG of an image (height, width, 3), at most `width_px` wide, as a data URL."""
    memory = io.BytesIO()
    image = Image.fromarray(pixels)
    image.thumbnail((width_px, width_px))
    image.save(memory, "JPEG", quality=85, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(memory.getvalue()).decode()}"


def sketch_url(scene: Mapping[str, Any], colours: Mapping[str, Sequence[float]]) -> str:
    """A drawing of a scene's objects as a data URL."""
    return f"data:image/svg+xml,{quote(scene_svg(scene, colors=colours))}"


def pair_boxes(scene: Mapping[str, Any], held_out: Sequence[tuple[str, str]]) -> list[Box]:
    """The boxes of the objects that have all values of a pair."""
    return [
        object_box(item) for item in scene["objects"] if all(item[kind] == value for kind, value in held_out)
    ]


def object_box(item: Mapping[str, Any]) -> Box:
    """The box of an object."""
    left, top, right, bottom = box_px(item)
    return Box(
        100 * left / WIDTH_PX,
        100 * top / HEIGHT_PX,
        100 * (right - left) / WIDTH_PX,
        100 * (bottom - top) / HEIGHT_PX,
    )
