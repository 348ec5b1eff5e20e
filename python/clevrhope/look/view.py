"""The height of a look's ground, and whether a place is above it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any


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
