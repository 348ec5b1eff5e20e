"""Checks that objects of a scene stand on the ground and in the image, before anything is rendered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import SceneError
from clevrhope.images.placement import Placement, Thing, Vector
from clevrhope.look.definition import Look

Axes = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]

LEAST_LENGTH = 1e-6
"""A shorter vector has no usable direction: an image seen along it is black."""

FARTHEST = 1e6
"""From here the camera sees nothing of a world whose objects stand within a few units."""


def find_object_outside(
    placement: Placement, look: Look, *, width_px: int, height_px: int
) -> tuple[int, str] | None:
    """The number of the first object outside the world, and where: off or in the ground, or out of view.

    The ground is flat below the objects of CLEVR and rises far behind them. An object outside would be
    missing from its image, in part or whole, although the scene says that it is there.

    Raises:
        SceneError: the camera is at its target, straight above or below it, or too far away.
    """
    axes = view_axes(placement.camera, look.look["camera"]["target"])
    for i, thing in enumerate(placement.things):
        problem = _off_the_ground(thing, look.look["ground"]) or _out_of_sight(
            thing, placement.camera, axes, look.look["camera"], width_px, height_px
        )
        if problem:
            return i, problem
    return None


def _off_the_ground(thing: Thing, ground: Mapping[str, Any]) -> str:
    x, y, z = thing.location
    angle, (x0, y0, z0) = ground["rotation_z_rad"], ground["translation"]
    local_x = math.cos(angle) * (x - x0) + math.sin(angle) * (y - y0)
    local_y = math.cos(angle) * (y - y0) - math.sin(angle) * (x - x0)
    profile_x, profile_z = np.transpose(ground["profile_x_z"])
    if not (profile_x[0] <= local_x <= profile_x[-1]):
        return "beyond the ground"
    if not (min(ground["local_y"]) <= local_y <= max(ground["local_y"])):
        return "beyond the ground"
    if z < z0 + float(np.interp(local_x, profile_x, profile_z)):
        return "with its centre in the ground"
    return ""


def view_axes(camera: Vector, target: Sequence[float]) -> Axes:
    """Right, up and forward of a camera as unit vectors in the world; raises as `find_object_outside`."""

    def problem(what: str) -> SceneError:
        here, there = (", ".join(f"{each:g}" for each in place) for place in (camera, target))
        return SceneError(f"camera.location: ({here}) is {what} ({there}), which it looks at; move it")

    way = [b - a for a, b in zip(camera, target, strict=True)]
    distance = math.hypot(*way)
    if not distance <= FARTHEST:
        raise problem("too far from")
    if distance < LEAST_LENGTH:
        raise problem("at the place")
    forward = np.asarray(way) / distance
    right = np.cross(forward, (0.0, 0.0, 1.0))
    aside = float(np.linalg.norm(right))
    if aside < LEAST_LENGTH:
        raise problem("straight above or below")
    right /= aside
    return right, np.cross(right, forward), forward


def _out_of_sight(
    thing: Thing, camera: Vector, axes: Axes, lens: Mapping[str, Any], width_px: int, height_px: int
) -> str:
    """Where an object is if no part of a ball around it is in the image; "" if some part is."""
    right, up, forward = axes
    seen = np.asarray(thing.location) - np.asarray(camera)
    depth = float(seen @ forward)
    reach = math.sqrt(3.0) * thing.radius  # the distance of a cube's corners from its centre
    # Written so that NaN, which objects at huge distances give, counts as out of the image.
    if not depth > reach:
        return "behind the camera, or around it"
    focal_px = lens["lens_mm"] / lens["sensor_width_mm"] * max(width_px, height_px)
    for axis, half_px in ((right, width_px / 2), (up, height_px / 2)):
        if not abs(float(seen @ axis)) - reach <= half_px / focal_px * (depth + reach) < math.inf:
            return "out of the image"
    return ""
