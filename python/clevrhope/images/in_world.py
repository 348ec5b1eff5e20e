"""Placed objects in, the first one that is not in the world, and why, out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import SceneError
from clevrhope.images.placement import Placement, Thing, Vector
from clevrhope.look.read import Look

Axes = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]

LEAST_LENGTH = 1e-6
"""A direction that is shorter, of the world's units or of 1, is none: an image seen along it is black."""

FARTHEST = 1e6
"""From which the camera sees nothing of a world whose objects stand within a few units."""


def outside(placement: Placement, look: Look, *, width_px: int, height_px: int) -> tuple[int, str] | None:
    """Which object is outside the world, and how: off the ground sheet or in it, or nowhere in the image.

    The ground is flat below the objects of CLEVR and rises far behind them. Rendered all the same, such an
    object would be missing from its image, in part or whole, while the scene says that it is there.

    Raises:
        SceneError: the camera stands where it looks, or straight above or below, or out of all reach.
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
    """Right, up and forward in the image, each of length 1.

    Raises:
        SceneError: the camera stands where it looks, or straight above or below, or out of all reach.
    """

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
    """Of a ball around the object: whether any of it is in the image."""
    right, up, forward = axes
    seen = np.asarray(thing.location) - np.asarray(camera)
    depth = float(seen @ forward)
    # The farthest corner of a cube is so many times its half side from its centre.
    reach = math.sqrt(3.0) * thing.radius
    # Asked so that what is no number, of objects farther than numbers reach, is not in the image.
    if not depth > reach:
        return "behind the camera, or around it"
    focal_px = lens["lens_mm"] / lens["sensor_width_mm"] * max(width_px, height_px)
    for axis, half_px in ((right, width_px / 2), (up, height_px / 2)):
        if not abs(float(seen @ axis)) - reach <= half_px / focal_px * (depth + reach) < math.inf:
            return "out of the image"
    return ""
