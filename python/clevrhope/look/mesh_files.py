"""Shapes and materials from glTF and OBJ files that a properties file names.

From a glTF file, a shape takes all triangles of its scene, with each mesh placed by its node; from an OBJ
file, all faces. Both formats have Y up, so y becomes z. A material takes the metallic and roughness of a glTF
file's only material. Nothing else is read: no textures, and no files besides a .gltf file's buffers.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from clevrhope.errors import ConfigError, shown
from clevrhope.look.meshes import problem_of_mesh, problem_of_triangles
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_bytes, reading

GLTF_SUFFIXES = (".glb", ".gltf")
SUFFIXES = (*GLTF_SUFFIXES, ".obj")

#: The most bytes of a mesh file.
MAX_BYTES = 1 << 28
#: In a mesh without normals, edges stay sharp if their faces differ by more than this angle.
SMOOTH_ANGLE_DEG = 30.0
#: Cycles and the native renderer support no sharper mirror.
LEAST_ROUGHNESS = 0.05
#: Decimals of a coordinate; vertices that are closer are merged.
DECIMALS = 6

Array = npt.NDArray[Any]
#: glTF's component types, and the number of components in each type of element.
_NUMBERS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_COUNTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_TRIANGLES = 4


@dataclass(frozen=True)
class _Triangles:
    """Triangles as in a file: (n, 3) points and (m, 3) indices of points; the same for normals, if any."""

    points: Array
    faces: Array
    normals: Array | None = None
    face_normals: Array | None = None


def read_mesh(path: Path) -> dict[str, Any]:
    """Reads the shape in a glTF or OBJ file, as a mesh of look.json.

    Raises:
        ConfigError: the file is missing, not of its format, or has no mesh that can be a shape.
    """
    what = "a glTF file" if path.suffix in GLTF_SUFFIXES else "an OBJ file"
    # Numbers that overflow are refused below, without numpy's warnings before.
    with reading(path, what, error=ConfigError), np.errstate(all="ignore"):
        parts = list(_gltf_triangles(path)) if path.suffix in GLTF_SUFFIXES else [_obj_triangles(path)]
        mesh = _described(parts, path)
    problem = problem_of_mesh(mesh)
    if problem:
        raise ConfigError(f"{path}: {problem}")
    return mesh


def read_material(path: Path) -> dict[str, float]:
    """Reads the metallic and roughness of a glTF file's only material; errors as for `read_mesh`."""
    with reading(path, "a glTF file", error=ConfigError):
        materials = _document(path)[0].get("materials", [])
        if len(materials) != 1:
            raise ConfigError(f"{path}: has {len(materials)} materials; expected one")
        numbers = materials[0].get("pbrMetallicRoughness", {})
        metallic, roughness = (float(numbers.get(f"{each}Factor", 1.0)) for each in ("metallic", "roughness"))
        for name, number in (("metallic", metallic), ("roughness", roughness)):
            if not 0.0 <= number <= 1.0:
                raise ConfigError(f"{path}: has a material of {name} {number:g}; expected 0 to 1")
    return {"metallic": metallic, "roughness": max(roughness, LEAST_ROUGHNESS)}


def _described(parts: list[_Triangles], path: Path) -> dict[str, Any]:
    """Triangles as a mesh of the look: coinciding vertices are merged, and Z is up."""
    if problem := problem_of_triangles(sum(len(part.faces) for part in parts)):
        raise ConfigError(f"{path}: {problem}")
    for part in parts:
        wrong = part.faces[(part.faces < 0) | (part.faces >= len(part.points))]
        if wrong.size:
            found = f"vertex {wrong[0]}, counted from 0, of {len(part.points)}"
            raise ConfigError(f"{path}: has a triangle with {found}")
    corners = np.concatenate([np.zeros((0, 3, 3)), *(part.points[part.faces] for part in parts)])
    vertices, faces = _joined(corners)
    # A triangle with a repeated vertex is invisible.
    whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    mesh: dict[str, Any] = {"kind": "mesh", "vertices": vertices.tolist(), "faces": faces[whole].tolist()}
    mesh |= {"shading": "smooth"}
    normals = [
        part.normals[part.face_normals]
        for part in parts
        if part.normals is not None and part.face_normals is not None
    ]
    if whole.any() and len(normals) == len(parts):
        directions = np.concatenate(normals)[whole]
        lengths = np.linalg.norm(directions, axis=2, keepdims=True)
        if (lengths > 0.0).all() and np.isfinite(lengths).all():
            own, numbers = _joined(directions / lengths)
            return mesh | {"normals": own.tolist(), "face_normals": numbers.tolist()}
    return mesh | {"smooth_angle_deg": SMOOTH_ANGLE_DEG}


def _joined(corners: Array) -> tuple[Array, Array]:
    """The distinct vectors of (m, 3, 3) corners, Z up, and the index of each corner's vector."""
    upright = np.stack([corners[..., 0], -corners[..., 2], corners[..., 1]], axis=-1).reshape(-1, 3)
    vectors, number = np.unique(np.round(upright, DECIMALS) + 0.0, axis=0, return_inverse=True)
    return vectors, number.reshape(-1, 3)


def _obj_triangles(path: Path) -> _Triangles:
    points: list[list[float]] = []
    normals: list[list[float]] = []
    faces: list[list[int]] = []
    face_normals: list[list[int]] = []
    text = str(
        read_bytes(path, "an OBJ file", error=ConfigError, max_bytes=MAX_BYTES), "utf-8-sig", "replace"
    )
    for number, line in enumerate(text.splitlines(), start=1):
        kind, *words = line.split("#")[0].split() or [""]
        try:
            if kind == "v":
                points.append(_vector(words))
            elif kind == "vn":
                normals.append(_vector(words))
            elif kind == "f":
                corners = [[*word.split("/"), "", ""] for word in words]
                own = [_index(corner[0], len(points)) for corner in corners]
                theirs = [_index(corner[2], len(normals)) for corner in corners if corner[2]]
                if len(own) < 3 or not _is_convex([points[corner] for corner in own]):
                    raise ValueError("expected a convex polygon of three or more vertices")
                if len(theirs) not in (0, len(own)):
                    raise ValueError("expected a normal at each of its vertices or at none")
                faces += [[own[0], *pair] for pair in pairwise(own[1:])]
                face_normals += [[theirs[0], *pair] for pair in pairwise(theirs[1:])]
        except ValueError as error:
            raise ConfigError(f"{path}:{number}: {shown(line.strip())} ({error})") from error
    triangles = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
    positions = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    if len(face_normals) < len(faces):
        return _Triangles(positions, triangles)
    return _Triangles(
        positions,
        triangles,
        np.asarray(normals, dtype=np.float64).reshape(-1, 3),
        np.asarray(face_normals, dtype=np.int64).reshape(-1, 3),
    )


def _vector(words: Sequence[str]) -> list[float]:
    try:
        vector = [float(word) for word in words[:3]]
    except ValueError:
        vector = []
    if len(vector) < 3 or not all(map(math.isfinite, vector)):
        raise ValueError("expected three finite numbers")
    return vector


def _index(word: str, n: int) -> int:
    """The index of an OBJ reference to one of `n`: from 1 on, or backwards from the last as -1, -2, ..."""
    if not re.fullmatch(r"-?[1-9][0-9]{0,9}", word):
        raise ValueError(f"expected indices of vertices, not {shown(word)}")
    place = int(word) - 1 if int(word) > 0 else int(word) + n
    if not 0 <= place < n:
        raise ValueError(f"there are {n} before it, so {word} is none of them")
    return place


def _is_convex(corners: list[list[float]]) -> bool:
    """Whether triangles from the first corner of a polygon to all others fill it."""
    if len(corners) == 3:
        return True
    face = np.asarray(corners)
    edges = np.roll(face, -1, axis=0) - face
    turns = np.cross(edges, np.roll(edges, -1, axis=0))
    # Files round coordinates, so a corner on a straight edge may turn slightly either way.
    least = -1e-4 * np.linalg.norm(turns.sum(axis=0)) ** 2
    return bool((turns @ turns.sum(axis=0) >= least).all())


def _document(path: Path) -> tuple[dict[str, Any], bytes]:
    """The JSON of a glTF file, and the binary data that a .glb contains in addition."""
    content = read_bytes(path, "a glTF file", error=ConfigError, max_bytes=MAX_BYTES)
    binary = b""
    if content[:4] == b"glTF":
        (length,) = struct.unpack_from("<I", content, 12)
        content, rest = content[20 : 20 + length], content[20 + length :]
        if rest:
            (size,) = struct.unpack_from("<I", rest)
            binary = rest[8 : 8 + size]
    document = parse_json(content, path, error=ConfigError)
    if not isinstance(document, dict) or not str(document.get("asset", {}).get("version")).startswith("2."):
        raise ConfigError(f"{path}: not a file of glTF 2")
    if document.get("extensionsRequired"):
        names = ", ".join(map(str, document["extensionsRequired"]))
        raise ConfigError(f"{path}: needs glTF's extensions {shown(names)}; export it without them")
    return document, binary


class _Buffers:
    """The arrays of a glTF file."""

    def __init__(self, path: Path) -> None:
        self.document, self._binary = _document(path)
        self._path = path
        self._read: dict[int, bytes] = {}

    def _bytes(self, number: int) -> bytes:
        if number not in self._read:
            uri = self.document["buffers"][number].get("uri")
            if uri is None:
                self._read[number] = self._binary
            elif uri.startswith("data:"):
                self._read[number] = base64.b64decode(uri.partition(",")[2])
            else:
                name = Path(unquote(uri))
                if name.is_absolute() or ".." in name.parts:
                    place = f"{self._path}: buffers[{number}]"
                    raise ConfigError(f"{place}: is {shown(uri)}; expected a file beside it")
                what = "a buffer of a glTF file"
                beside = self._path.parent / name
                self._read[number] = read_bytes(beside, what, error=ConfigError, max_bytes=MAX_BYTES)
        return self._read[number]

    def array(self, number: int) -> Array:
        """The (n, k) numbers of an accessor, or (n,) scalars."""
        accessor = self.document["accessors"][number]
        if "sparse" in accessor or "bufferView" not in accessor:
            raise ConfigError(f"{self._path}: accessors[{number}]: is sparse; export it as a whole array")
        view = self.document["bufferViews"][accessor["bufferView"]]
        dtype, k = np.dtype(_NUMBERS[accessor["componentType"]]), _COUNTS[accessor["type"]]
        start = view.get("byteOffset", 0)
        content = self._bytes(view["buffer"])[start : start + view["byteLength"]]
        count, offset = accessor["count"], accessor.get("byteOffset", 0)
        stride = view.get("byteStride", dtype.itemsize * k)
        if offset + stride * (count - 1) + dtype.itemsize * k > len(content):
            raise ConfigError(
                f"{self._path}: accessors[{number}]: has {count} elements, more than its buffer"
            )
        found: Array = np.ndarray((count, k), dtype, content, offset, (stride, dtype.itemsize))
        for x in found[~np.isfinite(found)]:
            raise ConfigError(f"{self._path}: accessors[{number}]: has {x:g}; expected finite numbers")
        return found[:, 0] if k == 1 else found


def _gltf_triangles(path: Path) -> Iterator[_Triangles]:
    buffers = _Buffers(path)
    document = buffers.document
    nodes, seen = document.get("nodes", []), set()
    scenes = document.get("scenes", [])
    roots = scenes[document.get("scene", 0)].get("nodes", []) if scenes else range(len(nodes))
    waiting = [(root, np.eye(4)) for root in reversed(roots)]
    while waiting:
        number, parent = waiting.pop()
        if number in seen:
            raise ConfigError(f"{path}: nodes[{number}]: is in the scene twice")
        seen.add(number)
        node = nodes[number]
        matrix = parent @ _matrix(node)
        waiting += [(child, matrix) for child in reversed(node.get("children", []))]
        if "mesh" in node:
            for k, primitive in enumerate(document["meshes"][node["mesh"]]["primitives"]):
                mode = primitive.get("mode", _TRIANGLES)
                if mode != _TRIANGLES:
                    place = f"meshes[{node['mesh']}].primitives[{k}]"
                    raise ConfigError(f"{path}: {place}: has mode {mode}; expected {_TRIANGLES}, triangles")
                yield _placed(buffers, primitive, matrix)


def _placed(buffers: _Buffers, primitive: Mapping[str, Any], matrix: Array) -> _Triangles:
    """The triangles of a primitive, placed by its node."""
    attributes = primitive["attributes"]
    points = buffers.array(attributes["POSITION"]).astype(np.float64)
    numbers = buffers.array(primitive["indices"]) if "indices" in primitive else np.arange(len(points))
    faces = numbers.astype(np.int64).reshape(-1, 3)
    turn = matrix[:3, :3]
    if np.linalg.det(turn) < 0.0:
        faces = faces[:, ::-1]
    points = points @ turn.T + matrix[:3, 3]
    if "NORMAL" not in attributes:
        return _Triangles(points, faces)
    # Transformed like planes, by the inverse's transpose.
    normals = buffers.array(attributes["NORMAL"]).astype(np.float64) @ np.linalg.inv(turn)
    return _Triangles(points, faces, normals, faces)


def _matrix(node: Mapping[str, Any]) -> Array:
    """A node's transformation, (4, 4)."""
    if "matrix" in node:
        return np.asarray(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    turn = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    matrix = np.eye(4)
    matrix[:3, :3] = np.asarray(turn) * np.asarray(node.get("scale", (1.0, 1.0, 1.0)))
    matrix[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return matrix
