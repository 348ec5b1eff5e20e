"""Shapes against facts read off CLEVR's own files."""

import json

import numpy as np
import pytest
from things import PYRAMID, volume

from clevrhope.look.meshes import Mesh, build_mesh
from clevrhope.runtime.assets import blender_assets

LOOK = json.loads((blender_assets() / "look.json").read_text())


def shape(name: str) -> Mesh:
    return build_mesh(LOOK["shapes"][name])


def vertex_normals(mesh: Mesh) -> np.ndarray:
    """Normals of faces weighted by their angle at the vertex, as Blender interpolates them."""
    normals = np.zeros_like(mesh.vertices)
    for group in mesh.faces:
        points = mesh.vertices[group]
        ahead = np.roll(points, -1, axis=1) - points
        behind = np.roll(points, 1, axis=1) - points
        ahead /= np.linalg.norm(ahead, axis=2, keepdims=True)
        behind /= np.linalg.norm(behind, axis=2, keepdims=True)
        angle = np.arccos(np.clip((ahead * behind).sum(axis=2), -1.0, 1.0))
        face = np.cross(points[:, 2] - points[:, 0], points[:, 3] - points[:, 1])
        face /= np.linalg.norm(face, axis=1, keepdims=True)
        np.add.at(normals, group, angle[:, :, None] * face[:, None, :])
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["cube", "sphere", "cylinder"])
def test_solids_are_closed_and_look_outwards(name: str) -> None:
    mesh = shape(name)
    edges = []
    for group in mesh.faces:
        edges.append(np.stack([group, np.roll(group, -1, axis=1)], axis=-1).reshape(-1, 2))
    directed = np.concatenate(edges)
    passed = {(int(a), int(b)) for a, b in directed}
    assert len(passed) == len(directed)  # no edge is passed twice in the same direction
    assert all((b, a) in passed for a, b in passed)
    ideal = {"cube": 8.0, "sphere": 4.0 / 3.0 * np.pi, "cylinder": 2.0 * np.pi}[name]
    assert 0.9 < volume(mesh) / ideal < 1.0


def test_a_sphere_has_the_originals_facets() -> None:
    mesh = shape("sphere")
    radius = np.linalg.norm(mesh.vertices, axis=1)
    assert [group.shape for group in mesh.faces] == [(15360, 4)]
    assert round(float(radius.min()), 4) == 0.9989
    assert round(float(radius.max()), 4) == 0.9995
    assert not mesh.smooth


def test_a_cube_has_the_originals_corners_sides_and_edge() -> None:
    mesh = shape("cube")
    assert sum(map(len, mesh.faces)) == 6 * 25 * 25
    assert mesh.smooth
    assert np.abs(mesh.vertices).max() == 1.0
    assert np.abs(mesh.vertices).min(axis=1).max() == pytest.approx(0.9233, abs=5e-5)
    # The section across an edge, and the normals on it, in the middle of the flat.
    normals = vertex_normals(mesh)
    for point, normal in zip(
        LOOK["shapes"]["cube"]["edge_profile"], LOOK["shapes"]["cube"]["edge_normals"], strict=True
    ):
        distance = np.linalg.norm(mesh.vertices - [*point, 0.75], axis=1)
        assert distance.min() < 2e-4
        assert normals[distance.argmin(), :2] == pytest.approx(normal, abs=4e-3)


def test_a_cylinder_follows_its_rims() -> None:
    mesh = shape("cylinder")
    assert not mesh.smooth
    radius = np.linalg.norm(mesh.vertices[:, :2], axis=1)
    rings = set(map(tuple, np.stack([radius, mesh.vertices[:, 2]], axis=1).round(4).tolist()))
    assert rings - {(0.0, 1.0), (0.0, -1.0)} == {*map(tuple, LOOK["shapes"]["cylinder"]["profile_radius_z"])}
    assert np.sum(np.isclose(radius, 1.0)) == 1024  # the top of the side alone: its foot has 0.9996


def test_the_ground_is_flat_under_the_objects_and_rises_behind() -> None:
    mesh = build_mesh(LOOK["ground"])
    x, z = mesh.vertices[:, 0], mesh.vertices[:, 2]
    assert z[(x > -17) & (x < -10)].max() < 0.036
    assert z.max() > 20.0
    first, second, _, fourth = np.moveaxis(mesh.vertices[mesh.faces[0]], 1, 0)
    assert (np.cross(second - first, fourth - first)[:, 2] > 0.0).all()


def test_a_users_polyhedron_is_taken_as_it_is() -> None:
    mesh = build_mesh(PYRAMID)
    assert sum(map(len, mesh.faces)) == 5
    assert volume(mesh) == pytest.approx(8.0 / 3.0)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"kind": "torus", "shading": "flat"}, 'unknown kind of mesh "torus"'),
        ({"kind": "icosphere", "shading": "shiny"}, 'unknown shading "shiny"'),
        ({"kind": "icosphere", "shading": "flat", "subdivisions": 2}, 'needs "catmull_clark_steps"'),
        ({"kind": "revolved", "shading": "flat", "segments": 8, "profile_radius_z": 3}, "can be built"),
    ],
)
def test_a_mesh_that_is_none_is_named(description: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_mesh(description)
