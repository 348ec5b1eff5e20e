"""Places scenes that can be rendered: their objects stand on the ground and are in the image."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from clevrhope.errors import SceneError
from clevrhope.images.placement import Placement, Thing, Vector, place
from clevrhope.look.definition import Look
from clevrhope.look.view import ground_height, off_the_ground

LEAST_LENGTH = 1e-6
"""A shorter vector has no usable direction: an image seen along it is black."""

FARTHEST = 1e6
"""From this distance, the camera sees nothing of a world whose objects stand within a few units."""


def place_inside(scene: Mapping[str, Any], look: Look, *, width_px: int, height_px: int) -> Placement:
    """As `place`, for a scene whose objects must all be in the world and in the image.

    Raises:
        SceneError: as for `place`; or an object is outside the world; the camera is at its target, straight
            above or below it, or too far away; or a light is at its target or below the ground.
    """
    placement = place(scene, look)
    found = find_object_outside(placement, look, width_px=width_px, height_px=height_px)
    if found is not None:
        i, problem = found
        at = ", ".join(f"{each:g}" for each in placement.things[i].location)
        raise SceneError(
            f"objects[{i}].3d_coords: ({at}) is outside the world, {problem}; objects of CLEVR stand on the "
            "ground, x and y from -3 to 3"
        )
    for name, location in placement.lights.items():
        if math.dist(location, look.look["lights"][name]["target"]) < LEAST_LENGTH:
            raise SceneError(f"lights.{name}: its place is its own target; move it")
        if not ground_height(look.look["ground"], location) < location[2]:
            at = ", ".join(f"{each:g}" for each in location)
            raise SceneError(f"lights.{name}: ({at}) is below the ground; move it")
    return placement


def find_object_outside(
    placement: Placement, look: Look, *, width_px: int, height_px: int
) -> tuple[int, str] | None:
    """The number of the first object outside the world, and where it is: off or in the ground, or unseen.

    The ground is flat below the objects of CLEVR and rises far behind them. An object outside the world would
    be missing from its image, partly or wholly, although the scene contains it.

    Raises:
        SceneError: the camera is at its target, straight above or below it, or too far away.
    """
    axes = view_axes(placement.camera, look.look["camera"]["target"])
    for i, thing in enumerate(placement.things):
        problem = off_the_ground(look.look["ground"], thing.location) or _out_of_sight(
            thing, placement.camera, axes, look.look["camera"], width_px, height_px
        )
        if problem:
            return i, problem
    return None


def view_axes(camera: Vector, target: Sequence[float]) -> tuple[Vector, Vector, Vector]:
    """Right, up and forward of a camera as unit vectors in the world; errors as for `find_object_outside`."""

    def problem(what: str) -> SceneError:
        here, there = (", ".join(f"{each:g}" for each in place) for place in (camera, target))
        return SceneError(f"camera.location: ({here}) is {what} ({there}), which it looks at; move it")

    way = [b - a for a, b in zip(camera, target, strict=True)]
    distance = math.hypot(*way)
    if not distance <= FARTHEST:
        raise problem("too far from")
    if distance < LEAST_LENGTH:
        raise problem("at the place")
    x, y, z = (each / distance for each in way)
    aside = math.hypot(x, y)
    if aside < LEAST_LENGTH:
        raise problem("straight above or below")
    right_x, right_y = y / aside, -x / aside
    up = (right_y * z, -right_x * z, right_x * y - right_y * x)
    return (right_x, right_y, 0.0), up, (x, y, z)


def _out_of_sight(
    thing: Thing,
    camera: Vector,
    axes: tuple[Vector, Vector, Vector],
    lens: Mapping[str, Any],
    width_px: int,
    height_px: int,
) -> str:
    """Where an object is if no part of a ball around it is in the image; "" if some part is."""
    way = [b - a for a, b in zip(camera, thing.location, strict=True)]
    right, up, depth = (sum(a * b for a, b in zip(way, axis, strict=True)) for axis in axes)
    reach = math.sqrt(3.0) * thing.radius  # the distance of a cube's corners from its centre
    # Written so that NaN, which results from huge distances, counts as out of the image.
    if not depth > reach:
        return "behind the camera, or around it"
    focal_px = lens["lens_mm"] / lens["sensor_width_mm"] * max(width_px, height_px)
    for aside, half_px in ((right, width_px / 2), (up, height_px / 2)):
        if not abs(aside) - reach <= half_px / focal_px * (depth + reach) < math.inf:
            return "out of the image"
    return ""
