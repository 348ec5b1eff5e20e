"""Meshes and materials of a user's own .blend files: read, checked, sampled, rendered and annotated."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from clevrhope.__main__ import run_command
from clevrhope._core import object_ids
from clevrhope.audit import audit
from clevrhope.errors import ConfigError, RenderError, SceneError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import read_png
from clevrhope.images.settings import RenderSettings
from clevrhope.look import blend_files
from clevrhope.look.blend_files import KEPT_SUFFIX, read_blends
from clevrhope.look.definition import read_look
from clevrhope.look.meshes import problem_of_mesh
from clevrhope.pipeline.scene_images import passes_file, render_scene_file
from clevrhope.runtime.assets import blender_assets
from clevrhope.scenes import read_world, sample_scenes
from waiting import HANG_S
from wording import refused

pytestmark = pytest.mark.slow

#: Writes the files that the tests need into a folder; runs where bpy may be imported.
MAKER = """
import sys
from pathlib import Path
import bpy

folder = Path(sys.argv[1])

def begin():
    bpy.ops.wm.read_factory_settings(use_empty=True)

def save(name):
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / name), compress=name.startswith("Pyramid"))

def mesh(name, vertices, faces, *, thing=True):
    data = bpy.data.meshes.new(name)
    data.from_pydata(vertices, [], faces)
    if thing:
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(name, data))
    else:
        data.use_fake_user = True
    return data

BASE = [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)]
PYRAMID = [(0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)]

begin(); mesh("Pyramid", [*BASE, (0, 0, 1)], PYRAMID); save("Pyramid.blend")
begin(); mesh("Other", [*BASE, (0, 0, 0.5)], PYRAMID, thing=False); save("OnlyMesh.blend")
# A cube whose upper side is pushed in.
TOP = [(x, y, 1) for x, y, _ in BASE]
SIDES = [(0, 3, 2, 1), *((k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k) for k in range(4))]
DENT = [(4 + k, 4 + (k + 1) % 4, 8) for k in range(4)]
begin(); mesh("Dented", [*BASE, *TOP, (0, 0, 0)], [*SIDES, *DENT]); save("Dented.blend")
# Two posts and what lies on them: one face each side, so the front is no convex polygon.
FRONT = [(-1, -1), (-0.7, -1), (-0.7, 0.7), (0.7, 0.7), (0.7, -1), (1, -1), (1, 1), (-1, 1)]
ARCH = [(x, y, z) for y in (-0.5, 0.5) for x, z in FRONT]
AROUND = [(k, k + 8, (k + 1) % 8 + 8, (k + 1) % 8) for k in range(8)]
begin(); mesh("Arch", ARCH, [tuple(range(8)), tuple(range(15, 7, -1)), *AROUND]); save("Arch.blend")
UP = [(x, y, z + 0.5) for x, y, z in [*BASE, (0, 0, 1)]]
begin(); mesh("Floating", UP, PYRAMID); save("Floating.blend")
begin(); mesh("A", [*BASE, (0, 0, 1)], PYRAMID); mesh("B", [*BASE, (0, 0, 1)], PYRAMID); save("Several.blend")
begin(); save("Empty.blend")
# Half a cube, whose other half is a modifier's.
begin()
HALF = [(max(x, 0), y, z) for x, y, z in [*BASE, *TOP]]
mesh("Modified", HALF, SIDES)
bpy.data.objects["Modified"].modifiers.new("other half", "MIRROR")
save("Modified.blend")

begin()
group = bpy.data.node_groups.new("Glow", "ShaderNodeTree"); group.use_fake_user = True
group.interface.new_socket("Color", in_out="INPUT", socket_type="NodeSocketColor")
group.interface.new_socket("Shader", in_out="OUTPUT", socket_type="NodeSocketShader")
enter, leave = group.nodes.new("NodeGroupInput"), group.nodes.new("NodeGroupOutput")
glow = group.nodes.new("ShaderNodeEmission")
group.links.new(enter.outputs["Color"], glow.inputs["Color"])
group.links.new(glow.outputs[0], leave.inputs["Shader"])
save("Glow.blend")

begin()
white = bpy.data.materials.new("Blank"); white.use_fake_user = True; white.use_nodes = True
tree = white.node_tree; tree.nodes.clear()
glow, output = tree.nodes.new("ShaderNodeEmission"), tree.nodes.new("ShaderNodeOutputMaterial")
glow.inputs["Color"].default_value = (1, 1, 1, 1); glow.inputs["Strength"].default_value = 5
tree.links.new(glow.outputs[0], output.inputs["Surface"])
save("Blank.blend")

# What would run if it could: a text when it is loaded, a driver's expression, the text's function in one.
def drive(place, channel, expression, *index):
    driver = place.driver_add(channel, *index).driver
    driver.type, driver.expression = "SCRIPTED", expression

def write_mark():
    text = bpy.data.texts.new("register.py"); text.use_module = True; text.use_fake_user = True
    text.write(f"import bpy\\nopen({MARK!r}, 'w')\\n")
    text.write(f"bpy.app.driver_namespace['mark'] = lambda: open({MARK!r}, 'w')")

MARK = str(folder / "it ran")
WRITE = f"__import__('pathlib').Path({MARK!r}).write_text('')"
begin(); write_mark()
driven = mesh("Driven", [*BASE, (0, 0, 1)], PYRAMID)
thing = bpy.data.objects["Driven"]
bpy.context.scene.collection.objects.unlink(thing); thing.use_fake_user = True
drive(thing, "location", WRITE, 0); drive(thing, "location", "mark() or 1", 1)
drive(thing.modifiers.new("array", "ARRAY"), "count", "len('abc')")
thing.modifiers["array"].count = 1
save("Driven.blend")
begin(); write_mark()
paint = bpy.data.materials.new("Paint"); paint.use_fake_user = True; paint.use_nodes = True
shader = paint.node_tree.nodes["Principled BSDF"]
shader.inputs["Base Color"].default_value = (0, 1, 0, 1)
drive(shader.inputs["Roughness"], "default_value", WRITE)
drive(shader.inputs["Metallic"], "default_value", "mark() or 1")
drive(shader.inputs["Base Color"], "default_value", "float(len('a'))", 2)
save("Paint.blend")

begin()
with bpy.data.libraries.load(str(folder / "Pyramid.blend"), link=True) as (_, wanted):
    wanted.meshes = ["Pyramid"]
thing = bpy.data.objects.new("Linked", wanted.meshes[0]); thing.use_fake_user = True
save("Linked.blend")
begin()
for name, kind, field, value in (("Slow", "SMOOTH", "iterations", 30_000), ("Huge", "SUBSURF", "levels", 6)):
    mesh(name, [*BASE, (0, 0, 1)] * 500, PYRAMID)
    thing = bpy.data.objects[name]
    bpy.context.scene.collection.objects.unlink(thing); thing.use_fake_user = True
    for _ in range(90):
        setattr(thing.modifiers.new(kind, kind), field, value)
    save(f"{name}.blend")
    begin()
"""

THING = {
    "shape": "lump",
    "size": "large",
    "color": "red",
    "material": "rubber",
    "rotation": 30.0,
    "3d_coords": [0.0, 0.0, 0.7],
}
SMALL = RenderSettings(width=120, height=80, samples=2, device="cpu")
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("blends")
    subprocess.run([sys.executable, "-c", MAKER, str(place)], check=True, stdout=subprocess.DEVNULL)
    return place


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine Blender is slow with any file."""
    monkeypatch.setattr(blend_files, "READ_TIMEOUT_S", HANG_S)


@pytest.fixture
def properties(folder: Path, request: pytest.FixtureRequest) -> Write:
    """Writes a properties file beside the .blend files: CLEVR's, with these shapes or materials instead."""

    def write(**sections: dict[str, str]) -> Path:
        raw = json.loads((blender_assets() / "properties.json").read_text())
        path = folder / f"{request.node.name.partition('[')[0]}.json"
        path.write_text(json.dumps({**raw, **sections}))
        return path

    return write


def scene_file(path: Path, *objects: dict[str, Any]) -> Path:
    basis = {"size": "large", "color": "red", "material": "rubber", "rotation": 30.0}
    things = [{**basis, "3d_coords": [0.0, 0.0, 0.7], **each} for each in objects]
    path.write_text(json.dumps({"scenes": [{"objects": things}]}))
    return path


def test_a_mesh_is_rendered_and_annotated(properties: Write, tmp_path: Path) -> None:
    named = properties(shapes={"pyramid": "Pyramid.blend", "cube": "SmoothCube_v2"})
    scenes = scene_file(
        tmp_path / "scenes.json", {"shape": "pyramid"}, {"shape": "cube", "3d_coords": [-1.6, 1.6, 0.7]}
    )
    out = tmp_path / "out"
    made = render_scene_file(scenes, out, rendering=SMALL, properties=named, passes=("mask", "normal"))
    assert (made.n_rendered, made.n_annotated) == (1, 1)
    with h5py.File(passes_file(out, scenes)) as file:
        mask, normal = file["mask"][0], file["normal"][0].astype(np.float32)
        alone = file["alone_px"][0]
    image = read_png(out / "000000.png").astype(float)
    red = image[mask == 0].mean(axis=0)
    assert red[0] > 1.5 * red[1]
    # A pyramid has two sides that are seen from here, and both lean.
    sides = np.unique(normal[mask == 0].round(2), axis=0)
    assert len(sides) == 2
    assert np.abs(sides[:, 2] - 1 / np.sqrt(5)).max() < 0.01
    assert (mask == 1).sum() < alone[1]
    # Further off, but twice as broad at its top.
    assert 0.4 < alone[0] / alone[1] < 1.0


def test_colours_reach_a_group_of_nodes_and_not_a_material(properties: Write, tmp_path: Path) -> None:
    named = properties(materials={"glow": "Glow.blend", "blank": "Blank.blend"})
    scenes = scene_file(
        tmp_path / "scenes.json",
        {"shape": "cube", "material": "glow", "color": "green", "3d_coords": [1.0, -1.0, 0.7]},
        {"shape": "cube", "material": "blank", "3d_coords": [-1.0, 1.0, 0.7]},
    )
    render_scene_file(scenes, tmp_path / "out", rendering=SMALL, properties=named, passes=("mask",))
    image = read_png(tmp_path / "out" / "000000.png").astype(float)
    with h5py.File(passes_file(tmp_path / "out", scenes)) as file:
        mask = file["mask"][0]
    green, white = (np.median(image[mask == number], axis=0) for number in (0, 1))
    assert green[1] > green[0] + 60
    assert white.min() > 240


def test_a_world_is_bound_to_what_its_files_hold(properties: Write, folder: Path) -> None:
    def fingerprint(**sections: dict[str, str]) -> str:
        return read_world(properties=properties(**sections)).fingerprint

    pyramid = fingerprint(shapes={"solid": "Pyramid.blend"})
    assert pyramid == fingerprint(shapes={"solid": "Pyramid.blend"})
    assert pyramid != fingerprint(shapes={"solid": "OnlyMesh.blend"})
    glow = fingerprint(shapes={"solid": "Pyramid.blend"}, materials={"m": "Glow.blend"})
    assert glow != fingerprint(shapes={"solid": "Pyramid.blend"}, materials={"m": "Blank.blend"})
    # Where the files lie does not matter.
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "Pyramid.blend").write_bytes((folder / "Pyramid.blend").read_bytes())
    (elsewhere / "named.json").write_bytes(properties(shapes={"solid": "Pyramid.blend"}).read_bytes())
    assert read_world(properties=elsewhere / "named.json").fingerprint == pyramid


def test_modifiers_are_applied(properties: Write) -> None:
    mesh = read_look(properties=properties(shapes={"lump": "Modified.blend"})).shapes["Modified.blend"]
    assert np.asarray(mesh["vertices"])[:, 0].min() == -1.0


@pytest.mark.parametrize(
    ("section", "file"),
    [
        ("shapes", "Empty.blend"),
        ("shapes", "Missing.blend"),
        ("shapes", "text.blend"),
        ("shapes", "Several.blend"),
        ("shapes", "Floating.blend"),
        ("materials", "Pyramid.blend"),
    ],
)
def test_what_a_file_lacks_is_said(section: str, file: str, properties: Write, folder: Path) -> None:
    (folder / "text.blend").write_text("no Blender")
    named = properties(**{section: {"lump": file}})
    with refused(ConfigError):
        read_look(properties=named)
    with refused(ConfigError):
        read_world(properties=named)


def test_nothing_in_a_file_runs(properties: Write, folder: Path, tmp_path: Path) -> None:
    look = read_look(properties=properties(shapes={"lump": "Driven.blend"}))
    assert len(look.shapes["Driven.blend"]["vertices"]) == 5  # a driver would make it three times as many
    named = properties(materials={"paint": "Paint.blend"})
    read_look(properties=named)
    scenes = scene_file(tmp_path / "scenes.json", {"shape": "cube", "material": "paint"})
    render_scene_file(scenes, tmp_path / "out", rendering=SMALL, properties=named, passes=("mask",))
    with h5py.File(passes_file(tmp_path / "out", scenes)) as file:
        mask = file["mask"][0]
    red, green, blue = np.median(read_png(tmp_path / "out" / "000000.png")[mask == 0].astype(float), axis=0)
    assert green > red + 40
    assert green > blue + 40  # which a driver would set to 1, too
    assert not (folder / "it ran").exists()


@pytest.mark.parametrize(
    "file",
    [
        "Slow.blend",
        "Huge.blend",
    ],
)
def test_a_file_that_takes_too_much_is_given_up(
    file: str, properties: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    if file == "Slow.blend":
        monkeypatch.setattr(blend_files, "READ_TIMEOUT_S", 1.0)
    with refused(ConfigError):
        read_look(properties=properties(shapes={"lump": file}))


def test_no_other_file_is_read_for_one(properties: Write) -> None:
    with refused(ConfigError):
        read_look(properties=properties(shapes={"lump": "Linked.blend"}))


def make(path: Path, kind: str, whole: bytes) -> None:
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path.name)
    else:
        contents = {
            "empty": b"",
            "cut": whole[: len(whole) // 2],
            "gzip": gzip.compress(whole)[:2_000] + bytes(2_000),
            "zstd": b"\x28\xb5\x2f\xfd" + bytes(range(256)) * 8,
            "disturbed": whole[:12] + bytes(255 - byte for byte in whole[12:]),
        }
        path.write_bytes(contents[kind])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("empty", "is not a .blend file that Blender can read"),
        ("cut", "is not a .blend file that Blender can read"),
        ("gzip", "is not a .blend file that Blender can read"),
        ("zstd", "is not a .blend file that Blender can read"),
        ("disturbed", "is not a .blend file that Blender can read"),
        ("folder", "not a regular file; expected one that Blender wrote"),
        ("pipe", "not a regular file; expected one that Blender wrote"),
        ("loop", "cannot be read"),
    ],
)
def test_what_is_no_blend_file_is_said(kind: str, words: str, properties: Write, folder: Path) -> None:
    make(folder / f"{kind}.blend", kind, (folder / "Driven.blend").read_bytes())
    named = properties(shapes={"lump": f"{kind}.blend"})
    with pytest.raises(ConfigError) as error:
        read_look(properties=named)
    said = str(error.value)
    assert said.startswith(f"{named}: shapes.lump: ")
    assert words in said
    assert "\n" not in said


@pytest.mark.parametrize("name", ["a" * 300, "a\0b", "\ud800"])
def test_what_is_no_files_name_is_said(name: str, tmp_path: Path) -> None:
    with refused(ConfigError):
        read_blends({"shapes": {"solid": f"{name}.blend"}}, tmp_path / "named.json")


def test_meshes_of_another_size_are_told() -> None:
    huge = {"vertices": [[3, 3, -1], [-3, 3, -1], [0, -3, -1]], "faces": [[0, 1, 2]]}
    assert problem_of_mesh(huge) == (
        "has a mesh that reaches 4.36 from the origin; it should fit a cube of half side 1"
    )
    assert problem_of_mesh({**huge, "faces": []}) == "has a mesh without faces; expected at least one"
    endless = {**huge, "vertices": [[0, 0, -1], [0, float("nan"), 0], [1, 0, 0]]}
    words = "has a mesh whose vertex 1 is at (0, nan, 0); expected finite coordinates"
    assert problem_of_mesh(endless) == words
    many = {"vertices": [[0, 0, -1]] * 3, "faces": [[0, 1, 2, 0]] * 100_001}
    assert problem_of_mesh(many) == "has a mesh of 200,002 triangles; at most 200,000 are allowed"


def test_without_blender_no_other_renderer_is_named(
    properties: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrhope.runtime.blender.blender_folder", lambda: None)
    (folder / "Unread.blend").write_bytes((folder / "Pyramid.blend").read_bytes())
    with refused(RenderError):
        read_world(properties=properties(shapes={"pyramid": "Unread.blend"}))


def test_a_mesh_is_kept_and_read_again_without_blender(
    properties: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blend, kept = folder / "OnlyMesh.blend", folder / f"OnlyMesh.blend{KEPT_SUFFIX}"
    named = properties(shapes={"lump": "OnlyMesh.blend"})
    kept.unlink(missing_ok=True)
    before = read_world(properties=named).fingerprint
    content = kept.read_bytes()
    with monkeypatch.context() as without:
        without.setattr("clevrhope.runtime.blender.blender_folder", lambda: None)
        assert read_world(properties=named).fingerprint == before
        scene = {"objects": [THING]}
        with NativeRenderer(look=read_look(properties=named), width=120, height=80) as renderer:
            [(_, passes)] = renderer.passes([(0, scene)])
            [(_, image)] = renderer.render([(0, scene)])
        red = image[passes.mask == 0].astype(float).mean(axis=0)
        assert red[0] > 1.5 * red[1]
    # Of another file, or spoilt, it is made anew.
    for spoilt in (content.replace(b'"sha256": "', b'"sha256": "0'), content[:50], b"[]"):
        kept.write_bytes(spoilt)
        blend_files._read_contents.cache_clear()
        assert read_world(properties=named).fingerprint == before
        assert kept.read_bytes() == content
    assert blend.exists()


def test_a_dataset_is_built_and_audited(properties: Write, tmp_path: Path) -> None:
    named = properties(shapes={"arch": "Arch.blend", "sphere": "Sphere"}, materials={"glow": "Glow.blend"})
    few = "--hop none --splits val --test-questions 18 --seed 1 --no-render --quiet"
    for name in ("a", "b"):
        command = f"build {few} --properties {named} --out {tmp_path / name}"
        assert run_command(command.split()) == 0
    scenes = [(tmp_path / name / "scenes" / "val" / "0000.json").read_bytes() for name in ("a", "b")]
    assert scenes[0] == scenes[1]
    report = audit(tmp_path / "a", properties=named)
    checks = {check.name: check for check in report.checks}
    assert report.ok
    assert checks["visible objects"].result == "passed"


def test_the_native_renderer_names_the_other_one(properties: Write) -> None:
    look = read_look(properties=properties(materials={"glow": "Glow.blend"}))
    with refused(SceneError):
        NativeRenderer(look=look)


def test_the_raster_of_meshes_with_hollows_is_what_blender_shows(properties: Write) -> None:
    named = properties(shapes={"dented": "Dented.blend", "arch": "Arch.blend", "pyramid": "Pyramid.blend"})
    world = read_world(properties=named)
    batch = sample_scenes(2, seed=4, pool="train", world=world)
    scenes = json.loads(batch.to_json())
    rasters = object_ids(world, batch)
    settings = RenderSettings(samples=1, device="cpu")
    with CyclesRenderer(look=read_look(properties=named), settings=settings, workers=1) as renderer:
        shown = dict(renderer.passes(enumerate(scenes)))
    for number, scene in enumerate(scenes):
        for k, each in enumerate(scene["objects"]):
            ours, theirs = rasters[number] == k + 1, shown[number].mask == k
            assert each["visible_pixels"] == ours.sum() >= 100
            if theirs.sum() >= 400:
                assert np.sum(ours & theirs) / np.sum(ours | theirs) >= 0.98
            fraction = shown[number].visible_px[k] / shown[number].alone_px[k]
            assert fraction == pytest.approx(each["visible_fraction"], abs=0.03)
