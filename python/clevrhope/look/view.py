"""What the camera of a look sees of its ground."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RAYS = 33
"""Rays along each side of an image that look for the ground."""

HEIGHT_PER_WIDTH = 2.0 / 3.0
"""Of the image that they go through: CLEVR's."""


def sees_ground(look: Mapping[str, Any]) -> bool:
    """Whether a look's camera sees the upper side of its ground anywhere in an image.

    Its rays leave from where it is before its jitter; it is above the ground wherever that takes it.
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
    start, ways = _to_local(ground, location), _turned(ground, rays.reshape(-1, 3))
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
    """Height of the ground at a place's x and y; beyond its ends, that of the planes that it ends with."""
    x, _, _ = _to_local(ground, np.asarray(place, np.float64))
    profile = np.asarray(ground["profile_x_z"], np.float64)
    slopes = np.diff(profile[:, 1]) / np.diff(profile[:, 0])
    piece = int(np.clip(np.searchsorted(profile[:, 0], x, side="right") - 1, 0, len(slopes) - 1))
    z = profile[piece, 1] + slopes[piece] * (x - profile[piece, 0])
    return float(z + ground["translation"][2])


def off_the_ground(ground: Mapping[str, Any], place: Sequence[float]) -> str:
    """How a place is not above the ground: beyond it, or in it; "" if it is above."""
    with np.errstate(all="ignore"):  # at huge places, which are beyond any ground
        x, y, _ = _to_local(ground, np.asarray(place, np.float64))
    first, last = ground["profile_x_z"][0][0], ground["profile_x_z"][-1][0]
    if not (first <= x <= last and min(ground["local_y"]) <= y <= max(ground["local_y"])):
        return "beyond the ground"
    return "with its centre in the ground" if place[2] < ground_height(ground, place) else ""


def _to_local(ground: Mapping[str, Any], point: Array) -> Array:
    return _turned(ground, point - np.asarray(ground["translation"], np.float64))


def _turned(ground: Mapping[str, Any], vectors: Array) -> Array:
    """Vectors (..., 3) of the world along the ground's own axes."""
    cos, sin = math.cos(ground["rotation_z_rad"]), math.sin(ground["rotation_z_rad"])
    x, y, z = np.moveaxis(vectors, -1, 0)
    return np.stack([cos * x + sin * y, cos * y - sin * x, z], axis=-1)
