"""An object of a scene, wherever a test needs one, and the engine's pixels of objects beside a renderer's."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, World, object_ids
from clevrhope.images.passes import Passes

PYRAMID = {
    "kind": "polyhedron",
    "shading": "flat",
    "vertices": [[0, 0, 1], [1, 1, -1], [-1, 1, -1], [-1, -1, -1], [1, -1, -1]],
    "faces": [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [4, 3, 2, 1]],
}


def thing(**change: Any) -> dict[str, Any]:
    """A large gray rubber sphere in the middle of the ground, with these values instead."""
    basis = {"shape": "sphere", "size": "large", "color": "gray", "material": "rubber", "rotation": 30.0}
    return {**basis, "3d_coords": [0.0, 0.0, 0.7], **change}


def at(x: float, y: float) -> dict[str, Any]:
    """Another place on the ground, for a large object."""
    return {"3d_coords": [x, y, 0.7]}


def overlap(a: npt.NDArray[np.bool_], b: npt.NDArray[np.bool_]) -> float:
    """Intersection over union of two masks."""
    return float(np.sum(a & b) / np.sum(a | b))


def check_raster(
    world: World, batch: SceneBatch, shown: dict[int, Passes], *, least_px: int, fraction_off: float
) -> None:
    """Asserts that the engine counts the pixels that a renderer shows.

    The outline of an object of fewer pixels than `least_px` weighs too much.
    """
    rasters = object_ids(world, batch)
    for number, scene in enumerate(json.loads(batch.to_json())):
        for k, each in enumerate(scene["objects"]):
            ours, theirs = rasters[number] == k + 1, shown[number].mask == k
            assert each["visible_pixels"] == ours.sum() >= 100
            assert theirs.sum() < least_px or overlap(ours, theirs) >= 0.98
            fraction = shown[number].visible_px[k] / shown[number].alone_px[k]
            assert abs(fraction - each["visible_fraction"]) <= fraction_off
