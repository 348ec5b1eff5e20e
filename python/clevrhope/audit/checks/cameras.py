"""Scenes as CLEVR published them in, where their camera stood out, which they do not say.

It follows from where their objects' centres are seen, since a depth is a distance along the camera's view.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

CAMERA: Vector = np.array([7.48113, -6.50764, 5.34367])
"""CLEVR's, before its jitter; it looks at the origin."""
JITTER = 0.5
"""Along each axis, in Blender units."""
FOCAL_PX, CENTRE_PX = 525.0, (240.0, 160.0)
"""Of an image of 480 x 320."""

NEAR_DEPTH, NEAR_PX = 1e-3, 2.0
"""How far published depths and centres, which are rounded to pixels, may be from a camera's."""

STEPS = 20
"""At most, towards a camera; four or five do."""

_SLOPE_STEP = 1e-5
_AROUND: Vector = np.concatenate([np.zeros((1, 3)), np.eye(3) * _SLOPE_STEP])


class Cameras:
    """Where published scenes' cameras stood, each worked out once: it takes a millisecond."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[Vector | None, tuple[str, object] | None]] = {}

    def of(self, pool: str, scene: Mapping[str, Any]) -> tuple[Vector | None, tuple[str, object] | None]:
        """Where the camera of a pool's scene stood, or what is wrong: problem and value.

        Both are None where none of CLEVR's cameras sees it so, which `check_published` alone tells.
        """
        key = (pool, int(scene["image_index"]))
        if key not in self._found:
            self._found[key] = _camera_or_fault(scene)
        return self._found[key]


def with_camera(scene: Mapping[str, Any], camera: Vector) -> bytes:
    """The row of a published scene, which does not say where its camera stood, with its place."""
    return json.dumps({**scene, "camera": {"location": camera.tolist()}}).encode()


def _camera_or_fault(scene: Mapping[str, Any]) -> tuple[Vector | None, tuple[str, object] | None]:
    try:
        return camera_of(scene), None
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return None, ("no scene of CLEVR's form", repr(error))


def camera_of(scene: Mapping[str, Any]) -> Vector | None:
    """Where a published scene's camera stood, by its objects' centres; None where none of CLEVR's sees so.

    Raises:
        KeyError, TypeError, ValueError: no scene of CLEVR's form.
    """
    positions, seen = (_places(scene["objects"], key) for key in ("3d_coords", "pixel_coords"))
    weights = np.array([0.1, 0.1, 1e4])  # a pixel is rounded by half of one, a depth to 32 bits
    camera, off = CAMERA, np.zeros_like(seen)
    for _ in range(STEPS):  # Gauss and Newton, with differences for slopes
        there, *beside = _projected(positions, camera + _AROUND)
        off = there - seen
        slopes = [((each - there) * weights).ravel() / _SLOPE_STEP for each in beside]
        step = np.linalg.lstsq(np.stack(slopes, axis=1), -(off * weights).ravel(), rcond=None)[0]
        camera = camera + np.clip(step, -JITTER, JITTER)
        if float(np.abs(step).max()) < 1e-7:
            break
    fits = np.abs(off[:, :2]).max() <= NEAR_PX and np.abs(off[:, 2]).max() <= NEAR_DEPTH
    return camera if fits and np.abs(camera - CAMERA).max() <= JITTER + 1e-3 else None


def _places(objects: Sequence[Mapping[str, Any]], key: str) -> Vector:
    """Three finite numbers of each of one object or more, (n, 3)."""
    if not objects:
        raise ValueError("no objects")
    places = np.asarray([each[key] for each in objects], np.float64)
    if places.shape != (len(objects), 3) or not np.isfinite(places).all():
        raise ValueError(f"{key} are not three numbers of each object")
    return places


def _projected(positions: Vector, cameras: Vector) -> Vector:
    """Pixels right and down, and depth, (m, n, 3), of n positions as each of m cameras sees them."""
    forward = -cameras / np.sqrt((cameras**2).sum(axis=1, keepdims=True))
    # The view is crossed with the upright, then with what that gives.
    right = np.stack([forward[:, 1], -forward[:, 0], np.zeros(len(forward))], axis=1)
    right /= np.sqrt((right**2).sum(axis=1, keepdims=True))
    up = np.cross(right, forward)
    offsets = positions - cameras[:, None, :]
    u, v, depth = (np.einsum("mnk,mk->mn", offsets, axis) for axis in (right, up, forward))
    scale = FOCAL_PX / depth
    projected: Vector = np.stack([CENTRE_PX[0] + u * scale, CENTRE_PX[1] - v * scale, depth], axis=2)
    return projected
