"""Boxes of objects in an image, and groups of objects that cannot hide each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.images.bounds import view_axes
from clevrhope.images.placement import Vector

Box = tuple[float, float, float, float]
"""Smallest x and y, largest x and y, in pixels."""

MARGIN_PX = 1.0
EVERYWHERE: Box = (-math.inf, -math.inf, math.inf, math.inf)


def box_in_image(
    corners: npt.NDArray[np.float64], camera: Vector, lens: Mapping[str, Any], width_px: int, height_px: int
) -> Box:
    """A box around all pixels of a body; `corners` are those of its hull in the world, (n, 3)."""
    right, up, forward = view_axes(camera, lens["target"])
    seen = corners - np.asarray(camera)
    depth = seen @ forward
    if depth.min() <= 0.0:
        return EVERYWHERE  # part of it is beside the camera or behind it
    focal_px = lens["lens_mm"] / lens["sensor_width_mm"] * max(width_px, height_px)
    x = width_px / 2 + focal_px * (seen @ right) / depth
    y = height_px / 2 - focal_px * (seen @ up) / depth
    return (x.min() - MARGIN_PX, y.min() - MARGIN_PX, x.max() + MARGIN_PX, y.max() + MARGIN_PX)


def disjoint_groups(boxes: Sequence[Box]) -> list[list[int]]:
    """Groups the numbers of boxes so that no two in a group overlap; leaves out boxes that overlap no other.

    Each box joins the first group in which it overlaps no other. There is at most one group more than the
    largest number of boxes that one box overlaps: two or three groups in practice.
    """
    overlapping = [[i != j and _overlap(a, b) for j, b in enumerate(boxes)] for i, a in enumerate(boxes)]
    groups: list[list[int]] = []
    for number, others in enumerate(overlapping):
        if not any(others):
            continue
        room = next((group for group in groups if not any(others[each] for each in group)), None)
        if room is None:
            groups.append([number])
        else:
            room.append(number)
    return groups


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
