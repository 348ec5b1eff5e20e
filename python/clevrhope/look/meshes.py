"""Meshes from their descriptions in look.json, built with numpy and without Blender.

Shapes have unit size and are centred on the origin, Z up. A scene scales a shape by its object's radius r and
lifts it to z = r, so that it rests on the ground.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Faces = npt.NDArray[np.int32]

MOST_TRIANGLES = 200_000
LOWEST_Z, Z_TOLERANCE = -1.0, 0.02
"""The z at which a shape touches the ground, in units of the object's radius, and its tolerance."""
FARTHEST = math.sqrt(3.0) + 0.01
"""Distance from a cube's centre to its corners, with a tolerance."""


@dataclass(frozen=True)
class Mesh:
    """Vertices and faces of a shape; faces are anticlockwise as seen from outside.

    Attributes:
        vertices: (n, 3) float64, in units of the object's radius.
        faces: arrays of (m, k) int32 vertex numbers, one array for each number k of corners.
        smooth: interpolate vertex normals, or shade each face flat.
        smooth_angle_deg: for a smooth mesh, the angle between faces beyond which an edge stays sharp.
        corner_normals: (c, 3) a smooth mesh's own normals, at the corners of all faces in turn.
    """

    vertices: Points
    faces: tuple[Faces, ...]
    smooth: bool
    smooth_angle_deg: float | None = None
    corner_normals: Points | None = None


def icosphere(*, subdivisions: int, catmull_clark_steps: int, smooth: bool) -> Mesh:
    """A sphere of radius 1 from an icosahedron, with a vertex at each pole.

    Args:
        subdivisions: counted as in Blender: 1 is the icosahedron, and each further one doubles the triangles
            along an edge, so 5 gives 5,120 triangles.
        catmull_clark_steps: smoothing steps after that. One step turns the triangles into 15,360 quads and
            pulls the vertices inwards, to radii of 0.9989 to 0.9995.
        smooth: False shades the facets flat, which is visible in CLEVR's metal spheres.
    """
    vertices, faces = _split_icosahedron(2 ** (subdivisions - 1))
    for _ in range(catmull_clark_steps):
        vertices, faces = _catmull_clark(vertices, faces)
    return Mesh(vertices, (faces,), smooth)


def rounded_cube(*, edge_profile: list[list[float]], edge_exponent: float, smooth: bool) -> Mesh:
    """A cube of half extent 1 whose edges and corners are superellipses.

    In a section across an edge, the outline is |u|^p + |v|^p = offset^p around (1 - offset, 1 - offset),
    where p is the exponent; a corner has the same form in three coordinates. With offset 0.25, exponent 3 and
    a profile of 13 points, each side has 25 x 25 quads, the corner is at 0.9233, and the narrow first quads
    of the rounding keep the vertex normals of the flats straight.

    Args:
        edge_profile: (coordinate, coordinate) pairs from the end of the flat, (1, 1 - offset), to the
            diagonal, where the rounding is cut. Each is moved onto the superellipse, because its four digits
            would make the normals uneven.
        edge_exponent: 2 is a circle; larger values are squarer.
        smooth: interpolate normals.
    """
    section = np.asarray(edge_profile, dtype=np.float64)
    flat = section[0, 1]
    slopes = (section[:, 1] - flat) / (section[:, 0] - flat)  # (k,) from 0 to 1
    # Along one axis of a side: the depth into the rounding, and the end of the flat at which it is.
    rounding = np.concatenate([-slopes[::-1], slopes])
    end = np.repeat([-flat, flat], len(slopes))
    a, b = np.meshgrid(rounding, rounding, indexing="ij")  # (2k, 2k)
    direction = np.stack([np.ones_like(a), a, b], axis=-1)
    length = (np.abs(direction) ** edge_exponent).sum(axis=-1, keepdims=True) ** (1.0 / edge_exponent)
    centre = np.stack([np.full_like(a, flat), *np.meshgrid(end, end, indexing="ij")], axis=-1)
    side = (centre + (1.0 - flat) * direction / length).reshape(-1, 3)

    n = 2 * len(slopes)
    quads = _grid_quads(np.arange(n * n, dtype=np.int32).reshape(n, n))
    sides = [side, side[:, [2, 0, 1]], side[:, [1, 2, 0]]]
    sides += [half * -1.0 for half in sides]
    vertices = np.concatenate(sides)
    # A point reflection turns faces inside out, so the three far sides are wound the other way.
    faces = np.concatenate([(quads if i < 3 else quads[:, ::-1]) + i * n * n for i in range(6)])
    return Mesh(*_weld(vertices, faces), smooth)


def revolved(*, profile_radius_z: list[list[float]], segments: int, smooth: bool) -> Mesh:
    """A body of revolution around Z, closed by a fan of triangles at each end.

    Args:
        profile_radius_z: (radius, z) pairs from the top to the bottom, radii above 0.
        segments: corners of the outline seen from above.
        smooth: interpolate normals.
    """
    rings = np.asarray(profile_radius_z, dtype=np.float64)[::-1]  # (p, 2), now from the bottom
    angle_rad = np.arange(segments) * (2.0 * np.pi / segments)
    circle = np.stack([np.cos(angle_rad), np.sin(angle_rad)], axis=-1)
    xy = rings[:, None, :1] * circle  # (p, segments, 2)
    z = np.broadcast_to(rings[:, None, 1:], (*xy.shape[:2], 1))
    walls = np.concatenate([xy, z], axis=-1).reshape(-1, 3)
    poles = [[0.0, 0.0, rings[0, 1]], [0.0, 0.0, rings[-1, 1]]]
    vertices = np.concatenate([walls, poles])

    here = np.arange(len(rings) * segments, dtype=np.int32).reshape(len(rings), segments)
    beside = np.roll(here, -1, axis=1)
    quads = np.stack([here[:-1], beside[:-1], beside[1:], here[1:]], axis=-1).reshape(-1, 4)
    bottom = np.stack([beside[0], here[0], np.full(segments, len(walls), dtype=np.int32)], axis=-1)
    top = np.stack([here[-1], beside[-1], np.full(segments, len(walls) + 1, dtype=np.int32)], axis=-1)
    return Mesh(vertices, (quads, np.concatenate([bottom, top])), smooth)


def mesh(
    *,
    vertices: list[list[float]],
    faces: list[list[int]],
    smooth: bool,
    smooth_angle_deg: float | None = None,
    normals: Sequence[Sequence[float]] = (),
    face_normals: Sequence[Sequence[int]] = (),
) -> Mesh:
    """A mesh given vertex by vertex.

    Args:
        vertices: (x, y, z) triples.
        faces: vertex numbers of each face.
        smooth: interpolate normals.
        smooth_angle_deg: as in `Mesh`.
        normals: (x, y, z) triples, if the mesh has its own normals; its faces are then triangles.
        face_normals: for each triangle, the numbers of its corners' normals.
    """
    corners = sorted({len(face) for face in faces})
    groups = tuple(np.asarray([f for f in faces if len(f) == k], dtype=np.int32) for k in corners)
    plain = Mesh(np.asarray(vertices, dtype=np.float64), groups, smooth, smooth_angle_deg)
    if not normals:
        return plain
    own = np.asarray(normals, dtype=np.float64)[np.asarray(face_normals, dtype=np.int64)]  # (m, 3, 3)
    if own.shape != (len(faces), 3, 3):
        raise ValueError("face_normals should have three numbers for each of the faces, which are triangles")
    return replace(plain, smooth_angle_deg=None, corner_normals=own.reshape(-1, 3))


def sheet(*, profile_x_z: list[list[float]], local_y: list[float], rows: int, smooth: bool) -> Mesh:
    """A sheet that is constant along y: the ground with its rising back.

    Args:
        profile_x_z: (x, z) pairs in order of increasing x.
        local_y: where it begins and ends.
        rows: number of vertices along y, evenly spaced.
        smooth: interpolate normals.
    """
    section = np.asarray(profile_x_z, dtype=np.float64)  # (p, 2)
    y = np.linspace(local_y[0], local_y[1], rows)
    grid = np.empty((len(section), rows, 3))
    grid[:, :, 0] = section[:, None, 0]
    grid[:, :, 1] = y
    grid[:, :, 2] = section[:, None, 1]
    here = np.arange(len(section) * rows, dtype=np.int32).reshape(len(section), rows)
    return Mesh(grid.reshape(-1, 3), (_grid_quads(here),), smooth)


#: Kind of mesh in look.json -> its function, whose arguments besides `smooth` are those of the description.
CONSTRUCTIONS: dict[str, Callable[..., Mesh]] = {
    "icosphere": icosphere,
    "rounded_cube": rounded_cube,
    "revolved": revolved,
    "polyhedron": mesh,
    "mesh": mesh,
    "sheet": sheet,
}
SHADINGS = {"flat": False, "smooth": True}


def build_mesh(description: Mapping[str, Any]) -> Mesh:
    """Builds the mesh of a look.json entry.

    Args:
        description: "kind", one of CONSTRUCTIONS; "shading", flat or smooth; and the kind's arguments.

    Raises:
        ValueError: the kind or shading is unknown, or an argument is missing or impossible.
    """
    kind, shading = description.get("kind"), description.get("shading")
    if kind not in CONSTRUCTIONS:
        raise ValueError(f'unknown kind of mesh "{kind}"; known: {", ".join(CONSTRUCTIONS)}')
    if shading not in SHADINGS:
        raise ValueError(f'unknown shading "{shading}"; known: {", ".join(SHADINGS)}')
    arguments = {}
    for name, parameter in signature(CONSTRUCTIONS[kind]).parameters.items():
        if name in description:
            arguments[name] = description[name]
        elif name != "smooth" and parameter.default is parameter.empty:
            raise ValueError(f'a mesh of kind "{kind}" needs "{name}"')
    try:
        return CONSTRUCTIONS[kind](**{**arguments, "smooth": SHADINGS[shading]})
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f'no mesh of kind "{kind}" can be built: {error}') from error


def problem_of_mesh(shape: Mapping[str, Any]) -> str:
    """The problem of a mesh from a file, as a clause that follows the file's name; "" if there is none."""
    vertices, faces = shape["vertices"], shape["faces"]
    if not faces:
        return "has a mesh without faces; expected at least one"
    if problem := problem_of_triangles(sum(len(face) - 2 for face in faces)):
        return problem
    for number, vertex in enumerate(vertices):
        if not all(map(math.isfinite, vertex)):
            place = ", ".join(f"{x:g}" for x in vertex)
            return f"has a mesh whose vertex {number} is at ({place}); expected finite coordinates"
    lowest = min(vertex[2] for vertex in vertices)
    if abs(lowest - LOWEST_Z) > Z_TOLERANCE:
        return (
            f"has a mesh whose lowest point is at z = {lowest:g}; it should stand at {LOWEST_Z:g}, with its "
            "centre at the origin"
        )
    farthest = max(math.dist(vertex, (0.0, 0.0, 0.0)) for vertex in vertices)
    if farthest > FARTHEST:
        return f"has a mesh that reaches {farthest:.3g} from the origin; it should fit a cube of half side 1"
    return ""


def problem_of_triangles(n: int) -> str:
    """Says that n triangles are too many, as a clause that follows the file's name; "" if they are not."""
    if n <= MOST_TRIANGLES:
        return ""
    return f"has a mesh of {n:,} triangles; at most {MOST_TRIANGLES:,} are allowed"


def _grid_quads(corner: Faces) -> Faces:
    """Quads between vertices numbered in a grid, for a view with rows to the right and columns upwards."""
    corners = [corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]]
    quads: Faces = np.stack(corners, axis=-1).reshape(-1, 4)
    return quads


def _icosahedron() -> tuple[Points, Faces]:
    """Unit icosahedron with a vertex at each pole, the lower ring turned by -36 degrees."""
    lower_rad = np.radians([-36.0, -108.0, 180.0, 108.0, 36.0])
    upper_rad = np.radians([-72.0, -144.0, 144.0, 72.0, 0.0])
    z = 1.0 / np.sqrt(5.0)
    ring = [[2.0 * z * np.cos(a), 2.0 * z * np.sin(a), -z] for a in lower_rad]
    ring += [[2.0 * z * np.cos(a), 2.0 * z * np.sin(a), z] for a in upper_rad]
    vertices = np.array([[0.0, 0.0, -1.0], *ring, [0.0, 0.0, 1.0]])
    triangles = []
    for i in range(5):
        low, next_low = 1 + i, 1 + (i + 1) % 5
        high, next_high = 6 + i, 6 + (i + 1) % 5
        triangles += [[0, low, next_low], [low, high, next_low]]
        triangles += [[high, next_high, next_low], [high, 11, next_high]]
    return vertices, np.array(triangles, dtype=np.int32)


def _edges(faces: Faces) -> tuple[Faces, Faces]:
    """The edges of a closed mesh, (e, 2), and each corner's edge to the next corner, as `faces`."""
    pairs = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1)  # (m, k, 2)
    edges, number = np.unique(np.sort(pairs.reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    return edges.astype(np.int32), number.reshape(faces.shape).astype(np.int32)


def _split_icosahedron(n: int) -> tuple[Points, Faces]:
    """Each triangle cut evenly into n * n, and then all vertices moved out to radius 1.

    Moving them out after each doubling instead would shift them by up to 0.02.
    """
    vertices, triangles = _icosahedron()
    steps = [(i, j) for i in range(n + 1) for j in range(n + 1 - i)]
    number = {step: k for k, step in enumerate(steps)}
    weight = np.array([(n - i - j, i, j) for i, j in steps]) / n  # (s, 3)
    parts = [[number[i, j], number[i + 1, j], number[i, j + 1]] for i, j in steps if i + j < n]
    parts += [[number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]] for i, j in steps if i + j < n - 1]
    points = (weight @ vertices[triangles]).reshape(-1, 3)
    faces = (np.array(parts) + len(steps) * np.arange(len(triangles))[:, None, None]).reshape(-1, 3)
    vertices, (faces,) = _weld(points, faces.astype(np.int32))
    return vertices / np.linalg.norm(vertices, axis=1, keepdims=True), faces


def _catmull_clark(vertices: Points, faces: Faces) -> tuple[Points, Faces]:
    """One step on a closed mesh. Source: Catmull and Clark 1978, with its weights for any valence."""
    n, n_corners = len(vertices), faces.shape[1]
    edges, edge_of = _edges(faces)
    face_point = vertices[faces].mean(axis=1)  # (m, 3)
    beside_edge = np.zeros((len(edges), 3))
    np.add.at(beside_edge, edge_of.ravel(), np.repeat(face_point, n_corners, axis=0))
    edge_point = (vertices[edges].sum(axis=1) + beside_edge) / 4.0

    valence = np.bincount(faces.ravel(), minlength=n)[:, None]
    mean_face = np.zeros((n, 3))
    np.add.at(mean_face, faces.ravel(), np.repeat(face_point, n_corners, axis=0))
    mean_edge = np.zeros((n, 3))
    np.add.at(mean_edge, edges.ravel(), np.repeat(vertices[edges].mean(axis=1), 2, axis=0))
    moved = (mean_face / valence + 2.0 * mean_edge / valence + (valence - 3) * vertices) / valence

    edge_vertex = n + edge_of
    face_vertex = np.broadcast_to((n + len(edges) + np.arange(len(faces)))[:, None], faces.shape)
    quads = np.stack([faces, edge_vertex, face_vertex, np.roll(edge_vertex, 1, axis=1)], axis=-1)
    return np.concatenate([moved, edge_point, face_point]), quads.reshape(-1, 4).astype(np.int32)


def _weld(vertices: Points, faces: Faces) -> tuple[Points, tuple[Faces, ...]]:
    """Merges vertices that coincide (to 1e-7), so that normals are continuous across the seams."""
    _, first, number = np.unique(np.round(vertices, 7) + 0.0, axis=0, return_index=True, return_inverse=True)
    return vertices[first], (number.ravel()[faces].astype(np.int32),)
