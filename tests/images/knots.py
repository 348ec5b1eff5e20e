"""A torus knot of 5,120 triangles, by formula, and files of meshes: `python knots.py FILE.glb`."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def knot(along: int = 160, around: int = 16) -> tuple[Array, Array, Array]:
    """Points, normals, triangles of a tube that runs twice about the z axis, and up and down three times."""
    t = np.linspace(0.0, 2.0 * np.pi, along, endpoint=False)[:, None]

    def curve(t: Array) -> Array:
        reach = 0.58 + 0.24 * np.cos(3.0 * t)
        return np.concatenate(
            [reach * np.cos(2.0 * t), reach * np.sin(2.0 * t), -0.45 + 0.45 * np.sin(3.0 * t)], axis=1
        )

    middle = curve(t)
    ahead = curve(t + 1e-4) - curve(t - 1e-4)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    side = np.cross(ahead, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, ahead)
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)[None, :, None]
    normals = side[:, None] * np.cos(angle) + up[:, None] * np.sin(angle)
    points = middle[:, None] + 0.17 * normals
    number = np.arange(along * around).reshape(along, around)
    after, beside = np.roll(number, -1, axis=0), np.roll(number, -1, axis=1)
    across = np.roll(after, -1, axis=1)
    triangles = np.concatenate(
        [
            np.stack(each, axis=-1).reshape(-1, 3)
            for each in ((number, after, across), (number, across, beside))
        ]
    )
    points = points.reshape(-1, 3)
    points[:, 2] -= 1.0 + points[:, 2].min()
    return points, normals.reshape(-1, 3), triangles


def y_up(vectors: Array) -> Array:
    """Vectors as files of meshes have them."""
    return np.stack([vectors[:, 0], vectors[:, 2], -vectors[:, 1]], axis=1)


def glb(
    points: Array, triangles: Array, normals: Array | None = None, *, extra: Mapping[str, Any] | None = None
) -> bytes:
    """A binary glTF file; `extra` replaces parts of its JSON."""
    arrays = [triangles.astype("<u2").ravel(), y_up(points).astype("<f4")]
    attributes = {"POSITION": 1}
    if normals is not None:
        arrays.append(y_up(normals).astype("<f4"))
        attributes["NORMAL"] = 2
    views, accessors, content = [], [], b""
    for array in arrays:
        views.append({"buffer": 0, "byteOffset": len(content), "byteLength": array.nbytes})
        kind = "SCALAR" if array.ndim == 1 else "VEC3"
        component = 5123 if array.ndim == 1 else 5126
        accessors.append(
            {"bufferView": len(views) - 1, "componentType": component, "count": len(array), "type": kind}
        )
        content += array.tobytes() + bytes(-array.nbytes % 4)
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 0}]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(content)}],
        **(extra or {}),
    }
    head = json.dumps(document).encode()
    head += b" " * (-len(head) % 4)
    chunks = (
        struct.pack("<I4s", len(head), b"JSON") + head + struct.pack("<I4s", len(content), b"BIN\0") + content
    )
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def obj(points: Array, faces: Array, normals: Array | None = None) -> str:
    """An OBJ file's text."""
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in y_up(points)]
    if normals is not None:
        lines += [f"vn {x:.6f} {y:.6f} {z:.6f}" for x, y, z in y_up(normals)]
    corner = "{0}//{0}" if normals is not None else "{0}"
    lines += ["f " + " ".join(corner.format(number + 1) for number in face) for face in faces]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    POINTS, NORMALS, TRIANGLES = knot()
    Path(sys.argv[1]).write_bytes(glb(POINTS, TRIANGLES, NORMALS))
