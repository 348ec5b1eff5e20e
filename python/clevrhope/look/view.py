"""Computes what the camera of a look sees of the ground."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RAYS = 33
"""Number of rays along each side of an image that are tested for the ground."""

HEIGHT_PER_WIDTH = 2.0 / 3.0
"""Aspect ratio of the image for these rays: CLEVR's."""


def sees_ground(look: Mapping[str, Any]) -> bool:
    """Whether a look's camera sees the upper side of its ground anywhere in an image.

    Its rays start at its position before jitter; it is above the ground wherever jitter moves it.
    """
    camera, ground = look["camera"], look["ground"]
    location = np.asarray(camera["location"], np.float64)
    forward = np.asarray(camera["target"], np.float64) - location
    right = np.cross(forward, (0.0, 0.0, 1.0))
    if not np.linalg.norm(right) > 0.0 or location[2] - camera["jitter"] <= ground_height(
        ground, camera["location"]
    ):
        return False
    forward, right = forward / np.linalg.norm(forward), right / np.linalg.norm(right)
    half = 0.5 * camera["sensor_width_mm"] / camera["lens_mm"]
    x, y = np.meshgrid(np.linspace(-half, half, RAYS), HEIGHT_PER_WIDTH * np.linspace(-half, half, RAYS))
    rays = forward + x[..., None] * right + y[..., None] * np.cross(right, forward)
    start, ways = _turned(ground, location - ground["translation"]), _turned(ground, rays.reshape(-1, 3))
    profile = np.asarray(ground["profile_x_z"], np.float64)
    slopes = np.diff(profile[:, 1]) / np.diff(profile[:, 0])  # (pieces,)
    rises = ways[:, 2:] - slopes * ways[:, :1]  # (rays, pieces), below 0 where a ray comes from above
    above = start[2] - profile[:-1, 1] - slopes * (start[0] - profile[:-1, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = -above / rises
        at_x, at_y = start[0] + reach * ways[:, :1], start[1] + reach * ways[:, 1:2]
    least_y, most_y = min(ground["local_y"]), max(ground["local_y"])
    met = (rises < 0.0) & (reach > 0.0) & (at_x >= profile[:-1, 0]) & (at_x <= profile[1:, 0])
    return bool((met & (at_y >= least_y) & (at_y <= most_y)).any())


def ground_height(ground: Mapping[str, Any], place: Sequence[float]) -> float:
    """Height of the ground at a place's x and y; beyond its ends, that of the planes at its ends."""
    x, _ = _local_x_y(ground, place)
    profile = ground["profile_x_z"]
    after = bisect_right(profile, x, key=itemgetter(0))
    piece = min(max(after - 1, 0), len(profile) - 2)
    (x0, z0), (x1, z1) = profile[piece : piece + 2]
    return float(z0 + (z1 - z0) / (x1 - x0) * (x - x0) + ground["translation"][2])


def off_the_ground(ground: Mapping[str, Any], place: Sequence[float]) -> str:
    """Why a place is not above the ground: beyond it, or in it; "" if it is above."""
    x, y = _local_x_y(ground, place)
    first, last = ground["profile_x_z"][0][0], ground["profile_x_z"][-1][0]
    if not (first <= x <= last and min(ground["local_y"]) <= y <= max(ground["local_y"])):
        return "beyond the ground"
    return "with its centre in the ground" if place[2] < ground_height(ground, place) else ""


def _local_x_y(ground: Mapping[str, Any], place: Sequence[float]) -> tuple[float, float]:
    """A place in the world in the ground's own coordinates."""
    (x, y, _), (at_x, at_y, _) = place, ground["translation"]
    x, y = x - at_x, y - at_y
    cos, sin = math.cos(ground["rotation_z_rad"]), math.sin(ground["rotation_z_rad"])
    return cos * x + sin * y, cos * y - sin * x


def _turned(ground: Mapping[str, Any], vectors: Array) -> Array:
    """Vectors (..., 3) in the world, in the ground's own axes."""
    cos, sin = math.cos(ground["rotation_z_rad"]), math.sin(ground["rotation_z_rad"])
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.stack([cos * x + sin * y, cos * y - sin * x, z], axis=-1)
