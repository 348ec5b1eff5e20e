"""The cameras of the scenes that CLEVR published, which are missing from its files.

A camera follows from the objects' centres in the image and their depths, which are distances along its view.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

CAMERA: Vector = np.array([7.48113, -6.50764, 5.34367])
"""Position of CLEVR's camera before its jitter; it looks at the origin."""
JITTER = 0.5
"""Largest jitter along each axis, in Blender units."""
FOCAL_PX, CENTRE_PX = 525.0, (240.0, 160.0)
"""Focal length and centre in pixels, for an image of 480 x 320."""

NEAR_DEPTH, NEAR_PX = 1e-3, 2.0
"""Tolerances between a camera's depths and centres and the published ones, which are rounded to pixels."""

STEPS = 20
"""Maximum number of steps in the search for a camera; four or five are enough."""

_SLOPE_STEP = 1e-5
_AROUND: Vector = np.concatenate([np.zeros((1, 3)), np.eye(3) * _SLOPE_STEP])


class Cameras:
    """The cameras of published scenes, each computed once, in about a millisecond."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[Vector | None, tuple[str, object] | None]] = {}

    def of(self, pool: str, scene: Mapping[str, Any]) -> tuple[Vector | None, tuple[str, object] | None]:
        """The position (3,) of a scene's camera, and the problem and value of a malformed scene.

        Both are None if no camera of CLEVR's fits the scene, a fault that `check_clevr_scenes` reports.
        """
        key = (pool, int(scene["image_index"]))
        if key not in self._found:
            try:
                self._found[key] = camera_of(scene), None
            except (KeyError, TypeError, ValueError, IndexError) as error:
                self._found[key] = None, ("not a scene in CLEVR's format", repr(error))
        return self._found[key]


def with_camera(scene: Mapping[str, Any], camera: Vector) -> bytes:
    """A published scene as JSON, with the position of its camera added."""
    return json.dumps({**scene, "camera": {"location": camera.tolist()}}).encode()


def camera_of(scene: Mapping[str, Any]) -> Vector | None:
    """The position (3,) of a published scene's camera, from its objects' centres; None if no camera fits.

    Raises:
        KeyError, TypeError, ValueError: not a scene in CLEVR's format.
    """
    positions, seen = (_places(scene["objects"], key) for key in ("3d_coords", "pixel_coords"))
    weights = np.array([0.1, 0.1, 1e4])  # pixels are rounded to integers, depths to 32 bits
    camera, off = CAMERA, np.zeros_like(seen)
    for _ in range(STEPS):  # Gauss-Newton with finite differences
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
    """Coordinates (n, 3) of n > 0 objects."""
    if not objects:
        raise ValueError("no objects")
    places = np.asarray([each[key] for each in objects], np.float64)
    if places.shape != (len(objects), 3) or not np.isfinite(places).all():
        raise ValueError(f"{key} is not three numbers for each object")
    return places


def _projected(positions: Vector, cameras: Vector) -> Vector:
    """Pixels right and down, and depth, of n positions as m cameras see them, (m, n, 3)."""
    forward = -cameras / np.sqrt((cameras**2).sum(axis=1, keepdims=True))
    # The cross product of the view with the vertical, then with the result.
    right = np.stack([forward[:, 1], -forward[:, 0], np.zeros(len(forward))], axis=1)
    right /= np.sqrt((right**2).sum(axis=1, keepdims=True))
    up = np.cross(right, forward)
    offsets = positions - cameras[:, None, :]
    u, v, depth = (np.einsum("mnk,mk->mn", offsets, axis) for axis in (right, up, forward))
    scale = FOCAL_PX / depth
    projected: Vector = np.stack([CENTRE_PX[0] + u * scale, CENTRE_PX[1] - v * scale, depth], axis=2)
    return projected
