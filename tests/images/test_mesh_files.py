"""Meshes and materials of glTF and OBJ files: read, checked, sampled and rendered, without Blender."""

from __future__ import annotations

import base64
import json
import re
import struct
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from knots import glb, knot, obj
from things import at, check_raster, overlap, thing, volume, write_properties

from clevrhope.errors import ClevrhopeError, ConfigError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.passes import BACKGROUND
from clevrhope.images.settings import BlenderSettings
from clevrhope.look import meshes
from clevrhope.look.definition import read_look
from clevrhope.look.meshes import Mesh, build_mesh
from clevrhope.scenes import read_world, sample_scenes
from wording import check_refused, refused

Write = Callable[..., Path]

BASE = np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [0, 0, 1]], dtype=float)
SIDES = np.array([[0, 2, 1], [0, 3, 2], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
#: Two posts and what lies on them: boxes of eight corners and six quads.
BOX = [(0, 3, 2, 1), (4, 5, 6, 7), *((k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k) for k in range(4))]


def arch() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    points, faces = [], []
    for (left, right), (low, high) in (((-1, -0.7), (-1, 1)), ((0.7, 1), (-1, 1)), ((-0.7, 0.7), (0.7, 1))):
        faces += [[corner + len(points) for corner in face] for face in BOX]
        points += [
            (x, y, z)
            for z in (low, high)
            for x, y in ((left, -0.5), (right, -0.5), (right, 0.5), (left, 0.5))
        ]
    return np.array(points, dtype=float), np.array(faces)


@pytest.fixture
def properties(tmp_path: Path) -> Write:
    return partial(write_properties, tmp_path / "named.json")


def only_mesh(properties: Path) -> Mesh:
    look = read_look(properties=properties)
    (name,) = look.properties["shapes"].values()
    return build_mesh(look.shapes[name])


def test_a_glb_and_an_obj_of_a_mesh_are_the_same_shape(properties: Write, tmp_path: Path) -> None:
    points, normals, triangles = knot()
    (tmp_path / "Knot.glb").write_bytes(glb(points, triangles, normals))
    (tmp_path / "knot.obj").write_text(obj(points, triangles, normals))
    found = [only_mesh(properties(shapes={"knot": name})) for name in ("Knot.glb", "knot.obj")]
    assert [len(mesh.faces[0]) for mesh in found] == [5_120, 5_120]
    assert found[0].vertices == pytest.approx(found[1].vertices, abs=2e-6)
    # Outwards, and as large as a tube of radius 0.1 about a curve of its length.
    for mesh in found:
        assert volume(mesh) == pytest.approx(volume(Mesh(points, (triangles,), True)), rel=1e-5)
        assert volume(mesh) > 0.1
        corners, own = mesh.vertices[mesh.faces[0]], mesh.corner_normals
        flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert own is not None
        assert (np.einsum("ij,ikj->ik", flat, own.reshape(-1, 3, 3)) > 0.0).all()


def test_nodes_are_placed_and_buffers_may_lie_beside(properties: Write, tmp_path: Path) -> None:
    content = glb(BASE * 0.5, SIDES)
    (length,) = struct.unpack_from("<I", content, 12)
    document = json.loads(content[20 : 20 + length])
    binary = content[28 + length :]
    half = float(np.sqrt(0.5))
    # Twice as large, turned by 90 degrees about the vertical, and a child that moves it nowhere.
    document["nodes"] = [
        {"children": [1], "rotation": [0.0, half, 0.0, half], "scale": [2.0, 2.0, 2.0]},
        {"mesh": 0, "translation": [0.0, 0.0, 0.0]},
    ]
    wanted = set(map(tuple, BASE))
    for uri in (
        "Pyramid%20part.bin",
        "data:application/octet-stream;base64," + base64.b64encode(binary).decode(),
    ):
        document["buffers"][0]["uri"] = uri
        (tmp_path / "Pyramid part.bin").write_bytes(binary)
        (tmp_path / "pyramid.gltf").write_text(json.dumps(document))
        mesh = only_mesh(properties(shapes={"p": "pyramid.gltf"}))
        assert set(map(tuple, mesh.vertices)) == wanted
        assert volume(mesh) == pytest.approx(8.0 / 3.0)
    # A mirrored mesh still looks outwards.
    document["nodes"][0]["scale"] = [-2.0, 2.0, 2.0]
    (tmp_path / "pyramid.gltf").write_text(json.dumps(document))
    assert volume(only_mesh(properties(shapes={"p": "pyramid.gltf"}))) == pytest.approx(8.0 / 3.0)


def test_the_raster_of_meshes_is_what_the_native_renderer_shows(properties: Write, tmp_path: Path) -> None:
    points, normals, triangles = knot()
    (tmp_path / "Knot.glb").write_bytes(glb(points, triangles, normals))
    (tmp_path / "arch.obj").write_text(obj(*arch()))
    (tmp_path / "pyramid.obj").write_text(obj(BASE, SIDES))
    named = properties(shapes={"knot": "Knot.glb", "arch": "arch.obj", "pyramid": "pyramid.obj"})
    world = read_world(properties=named)
    batch = sample_scenes(3, seed=4, pool="train", world=world)
    scenes = json.loads(batch.to_json())
    assert {each["shape"] for scene in scenes for each in scene["objects"]} == {"knot", "arch", "pyramid"}
    with NativeRenderer(look=read_look(properties=named)) as renderer:
        shown = dict(renderer.passes(enumerate(scenes)))
    check_raster(world, batch, shown, least_px=0, fraction_off=0.02)
    for passes in shown.values():
        normals_seen = passes.normal[passes.mask != BACKGROUND].astype(float)
        assert np.linalg.norm(normals_seen, axis=1) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.slow
def test_blender_shows_what_the_native_renderer_shows(properties: Write, tmp_path: Path) -> None:
    """Own normals, normals by angle, and flat sides, each as a file and in both renderers."""
    points, normals, triangles = knot()
    (tmp_path / "Knot.glb").write_bytes(glb(points, triangles, normals))
    (tmp_path / "bare.obj").write_text(obj(points, triangles))
    (tmp_path / "arch.obj").write_text(obj(*arch()))
    named = properties(
        shapes={"knot": "Knot.glb", "bare": "bare.obj", "arch": "arch.obj"},
        materials={"plastic": {"metallic": 0.3, "roughness": 0.4}},
    )
    places = {"knot": at(1.4, -1.4), "bare": at(-1.4, 1.4), "arch": at(1.4, 1.4)}
    scene = {"objects": [thing(shape=name, material="plastic", **place) for name, place in places.items()]}
    look = read_look(properties=named)
    settings = BlenderSettings(samples=1, device="cpu")
    with CyclesRenderer(look=look, settings=settings, workers=1) as renderer:
        [(_, cycles)] = renderer.passes([(0, scene)])
    with NativeRenderer(look=look) as renderer:
        [(_, native)] = renderer.passes([(0, scene)])
    for number in range(3):
        ours, theirs = native.mask == number, cycles.mask == number
        assert theirs.sum() > 1_000
        assert overlap(ours, theirs) >= 0.99
        a, b = (each.normal[ours & theirs].astype(float) for each in (native, cycles))
        turned = (a * b).sum(axis=1)
        assert np.median(turned) >= 0.9995
        assert np.quantile(turned, 0.02) >= 0.98


def test_images_need_no_blender(properties: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.runtime.blender.blender_folder", lambda: None)
    (tmp_path / "arch.obj").write_text(obj(*arch()))
    named = properties(
        shapes={"arch": "arch.obj", "cube": "cube"},
        materials={
            "red_plastic": {"metallic": 0, "roughness": 0.4, "base_color": [200, 10, 10]},
            "rubber": "rubber",
        },
    )
    cyan = thing(shape="arch", color="cyan", rotation=60.0)
    scenes = [{"objects": [{**cyan, "material": material}]} for material in ("rubber", "red_plastic")]
    with NativeRenderer(look=read_look(properties=named), width=240, height=160) as renderer:
        [(_, own), (_, red)] = renderer.render(enumerate(scenes))
        [(_, passes), _] = renderer.passes(enumerate(scenes))
    arch_pixels = passes.mask == 0
    assert arch_pixels.sum() > 500
    seen = [image[arch_pixels].astype(float).mean(axis=0) for image in (own, red)]
    assert seen[0][2] > 1.5 * seen[0][0]  # the object's color
    assert seen[1][0] > 1.5 * seen[1][2]  # the material's own
    # Ground is seen between the posts.
    left, right = np.nonzero(arch_pixels.any(axis=0))[0][[0, -1]]
    assert not arch_pixels[:, (left + right) // 2].all()


def test_a_world_is_bound_to_meshes_and_not_to_their_paths(properties: Write, tmp_path: Path) -> None:
    def fingerprint(name: str) -> str:
        return read_world(properties=properties(shapes={"solid": name})).fingerprint

    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "first.obj").write_text(obj(BASE, SIDES))
    (tmp_path / "second.obj").write_text("# the same\n" + obj(BASE, SIDES))
    (tmp_path / "third.obj").write_text(obj(BASE * [1.0, 0.9, 1.0], SIDES))
    assert fingerprint("meshes/first.obj") == fingerprint("second.obj") != fingerprint("third.obj")


def test_a_gltf_file_gives_a_material(properties: Write, tmp_path: Path) -> None:
    numbers = {"metallicFactor": 0.25, "roughnessFactor": 0.5, "baseColorFactor": [1, 0, 0, 1]}
    extra = {"materials": [{"pbrMetallicRoughness": numbers}]}
    (tmp_path / "Satin.glb").write_bytes(glb(BASE, SIDES, extra=extra))
    written = properties(materials={"satin": {"metallic": 0.25, "roughness": 0.5}})
    by_hand = read_world(properties=written).fingerprint
    named = properties(materials={"satin": "Satin.glb"})
    assert read_world(properties=named).fingerprint == by_hand
    look = read_look(properties=named)
    assert look.materials[look.properties["materials"]["satin"]]["shader"] == {
        "node": "principled",
        "color": "object",
        "metallic": 0.25,
        "roughness": 0.5,
    }


def many() -> str:
    n = 300
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    number = np.arange(n * n).reshape(n, n)
    quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1)
    return obj(np.stack([x, y, np.full_like(x, -1)], axis=-1).reshape(-1, 3), quads.reshape(-1, 4))


def elsewhere(uri: str) -> bytes:
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"uri": uri, "byteLength": 36}],
    }
    return json.dumps(document).encode()


BROKEN = {
    "empty.obj": "",
    "flat.obj": obj(BASE, SIDES[:0]),
    "nan.obj": "v 0 -1 0\nv nan 0 0\nv 1 0 0\nf 1 2 3\n",
    "short.obj": "v 0 -1\n",
    "word.obj": "v 0 -1 zero\n",
    "zero.obj": "v 0 -1 0\nf 0 1 1\n",
    "behind.obj": "v 0 -1 0\nf 1 2 3\n",
    "concave.obj": obj(
        np.array([[-1, -1, -1], [1, -1, -1], [0, 0, -1], [1, 1, -1.0]]), np.array([[0, 1, 2, 3]])
    ),
    "floating.obj": obj(BASE + np.array([0, 0, 0.5]), SIDES),
    "huge.obj": obj(BASE * [3, 3, 1], SIDES),
    "overflowing.obj": obj(BASE * 1e200, np.array([[0, 3, 2, 1]])),
    "overflowing.glb": glb(BASE, SIDES, extra={"nodes": [{"mesh": 0, "scale": [1e200, 1e200, 1e200]}]}),
    "turned.glb": glb(BASE, SIDES, extra={"nodes": [{"mesh": 0, "rotation": [1e200, 0, 0, 1]}]}),
    "nan.glb": glb(np.where(BASE == 0.0, np.nan, BASE), SIDES),
    "flat.glb": glb(BASE, SIDES[:0]),
    "far.glb": glb(BASE, SIDES + 9),
    "signed.glb": glb(BASE, np.where(SIDES == 4, 65535, SIDES)).replace(b"5123", b"5122"),
    "cut.glb": glb(BASE, SIDES)[:-40],
    "text.glb": b"no glTF",
    "first.gltf": b'{"asset": {"version": "1.0"}}',
    "packed.gltf": b'{"asset": {"version": "2.0"}, "extensionsRequired": ["KHR_draco_mesh_compression"]}',
    "lines.glb": glb(
        BASE, SIDES, extra={"meshes": [{"primitives": [{"attributes": {"POSITION": 1}, "mode": 1}]}]}
    ),
    "round.glb": glb(BASE, SIDES, extra={"nodes": [{"mesh": 0, "children": [0]}]}),
    "lost.gltf": elsewhere("gone.bin"),
    "outside.gltf": elsewhere("../gone.bin"),
}


@pytest.mark.parametrize("file", ["gone.obj", *BROKEN])
def test_what_is_no_shape_is_said(file: str, properties: Write, tmp_path: Path) -> None:
    content = BROKEN.get(file)
    if content is not None:
        (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    named = properties(shapes={"lump": file})
    before = set(tmp_path.rglob("*"))
    # Recorded, since a warning that is raised would itself become a sentence of the reader.
    with warnings.catch_warnings(record=True) as warned, refused(ConfigError) as error:
        warnings.simplefilter("always")
        read_look(properties=named)
    assert [str(each.message) for each in warned] == []
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match=re.escape(str(error.value))):
        read_world(properties=named)
    assert set(tmp_path.rglob("*")) == before


def test_a_corner_on_a_straight_edge_may_turn_by_rounding(properties: Write, tmp_path: Path) -> None:
    points = np.insert(BASE, 1, [0.333333, -0.999999, -1.0], axis=0)
    base, sides = [[0, 4, 3, 2, 1]], np.where(SIDES[2:] > 0, SIDES[2:] + 1, 0)
    text = obj(points, np.array(base)) + "".join("f {} {} {}\n".format(*side) for side in sides + 1)
    (tmp_path / "rounded.obj").write_text(text)
    assert read_world(properties=properties(shapes={"lump": "rounded.obj"}))


@pytest.mark.slow
def test_a_mesh_has_so_many_triangles_at_most(
    properties: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert meshes.MOST_TRIANGLES == 200_000
    monkeypatch.setattr("clevrhope.look.meshes.MOST_TRIANGLES", 100_000)
    (tmp_path / "many.obj").write_text(many())
    check_refused(ConfigError, read_world, properties=properties(shapes={"lump": "many.obj"}))


@pytest.mark.parametrize(
    "material",
    [{"roughness": 0.5}, {"metallic": 2, "roughness": 0.5}, {"metallic": 0, "roughness": 0, "ior": 1}],
)
def test_numbers_that_are_no_material_are_said(material: dict[str, float], properties: Write) -> None:
    named = properties(materials={"odd": material})
    check_refused(ClevrhopeError, read_world, properties=named)
    check_refused(ClevrhopeError, read_look, properties=named)
