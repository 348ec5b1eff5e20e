"""The camera before its jitter: the directions that relations follow, and the projection into its image."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from clevrhope.runtime.assets import blender_assets

LEAST_DEPTH = 0.1
"""The smallest depth of a point in a drawing, in Blender units before the camera."""


@cache
def default_location() -> tuple[float, float, float]:
    """The location of the package's camera before jitter, in Blender units; it looks at the origin."""
    x, y, z = json.loads((blender_assets() / "look.json").read_bytes())["camera"]["location"]
    return x, y, z


def directions_of(scene: Mapping[str, Any]) -> dict[str, list[float]]:
    """The `directions` of a scene that has none: as its camera sees them, looking at the origin.

    Without a camera they are those of the camera before its jitter, as in all published CLEVR scenes.

    Raises:
        ValueError: its camera has no location beside the origin.
    """
    camera = scene.get("camera", {})
    location = camera.get("location", default_location()) if isinstance(camera, Mapping) else camera
    if not _is_beside_origin(location):
        raise ValueError(location)
    x, y, _ = location
    length = math.hypot(x, y)
    x, y = round(x / length, 9), round(y / length, 9)
    return {
        "left": [y, -x, 0.0],
        "right": [-y, x, 0.0],
        "behind": [-x, -y, 0.0],
        "front": [x, y, 0.0],
        "above": [0.0, 0.0, 1.0],
        "below": [0.0, 0.0, -1.0],
    }


def _is_beside_origin(location: Any) -> bool:
    is_place = isinstance(location, Sequence) and len(location) == 3
    if not is_place or not all(isinstance(each, int | float) and math.isfinite(each) for each in location):
        return False
    return math.hypot(*location[:2]) > 0


def project(
    point: Sequence[float], camera: Sequence[float], *, focal_px: float, size_px: tuple[int, int]
) -> tuple[float, float, float]:
    """Right and down in pixels, and depth, of a point for a camera at a location that looks at the origin."""
    distance = math.hypot(*camera)
    forward = [-each / distance for each in camera]
    flat = math.hypot(forward[0], forward[1])
    right = (forward[1] / flat, -forward[0] / flat, 0.0)
    up = (right[1] * forward[2], -right[0] * forward[2], right[0] * forward[1] - right[1] * forward[0])
    offset = [a - b for a, b in zip(point, camera, strict=True)]
    aside, above, depth = (
        sum(a * b for a, b in zip(offset, axis, strict=True)) for axis in (right, up, forward)
    )
    depth = max(depth, LEAST_DEPTH)
    return size_px[0] / 2 + focal_px * aside / depth, size_px[1] / 2 - focal_px * above / depth, depth
