"""An object of a scene, wherever a test needs one, and the engine's pixels of objects beside a renderer's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import SceneBatch, World, object_ids
from clevrhope.images.passes import Passes
from clevrhope.look.meshes import Mesh
from clevrhope.runtime.assets import blender_assets

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


def volume(mesh: Mesh) -> float:
    """Six times the sum of signed tetrahedra to the origin, over six; positive if faces look outwards."""
    total = 0.0
    for group in mesh.faces:
        points = mesh.vertices[group]
        for k in range(1, group.shape[1] - 1):
            total += float(np.einsum("ij,ij->", points[:, 0], np.cross(points[:, k], points[:, k + 1])))
    return total / 6.0


def write_properties(path: Path, **sections: Any) -> Path:
    """Writes CLEVR's properties file, with these sections instead."""
    raw = json.loads((blender_assets() / "properties.json").read_text())
    path.write_text(json.dumps({**raw, **sections}))
    return path


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
