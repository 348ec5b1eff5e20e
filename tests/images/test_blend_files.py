"""Meshes and materials of a user's own .blend files: read, checked, sampled, rendered and annotated."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from blend_making import MAKER
from building import Cli
from things import at, check_raster, thing, write_properties

from clevrhope.audit import audit
from clevrhope.errors import ConfigError, RenderError, SceneError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import read_png
from clevrhope.images.settings import BlenderSettings
from clevrhope.look import blend_files
from clevrhope.look.blend_files import KEPT_SUFFIX, read_blends
from clevrhope.look.definition import read_look
from clevrhope.look.meshes import problem_of_mesh
from clevrhope.pipeline.scene_images import passes_file, render_scene_file
from clevrhope.scenes import read_world, sample_scenes
from waiting import HANG_S
from wording import check_refused, check_words, refused

pytestmark = pytest.mark.slow

SMALL = BlenderSettings(width=120, height=80, samples=2, device="cpu")
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
    """Writes a properties file beside the .blend files."""
    return partial(write_properties, folder / f"{request.node.name.partition('[')[0]}.json")


def scene_file(path: Path, *objects: dict[str, Any]) -> Path:
    things = [thing(**{"color": "red", **each}) for each in objects]
    path.write_text(json.dumps({"scenes": [{"objects": things}]}))
    return path


def test_a_mesh_is_rendered_and_annotated(properties: Write, tmp_path: Path) -> None:
    named = properties(shapes={"pyramid": "Pyramid.blend", "cube": "SmoothCube_v2"})
    scenes = scene_file(tmp_path / "scenes.json", {"shape": "pyramid"}, {"shape": "cube", **at(-1.6, 1.6)})
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
        {"shape": "cube", "material": "glow", "color": "green", **at(1.0, -1.0)},
        {"shape": "cube", "material": "blank", **at(-1.0, 1.0)},
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


@pytest.fixture(scope="module")
def faulty(folder: Path) -> Path:
    """The folder, with files in it that Blender did not write as they are."""
    whole = (folder / "Driven.blend").read_bytes()
    for name, content in (
        ("text", b"no Blender"),
        ("empty", b""),
        ("cut", whole[: len(whole) // 2]),
        ("gzip", gzip.compress(whole)[:2_000] + bytes(2_000)),
        ("zstd", b"\x28\xb5\x2f\xfd" + bytes(range(256)) * 8),
        ("disturbed", whole[:12] + bytes(255 - byte for byte in whole[12:])),
    ):
        (folder / f"{name}.blend").write_bytes(content)
    (folder / "folder.blend").mkdir()
    os.mkfifo(folder / "pipe.blend")
    (folder / "loop.blend").symlink_to("loop.blend")
    return folder


@pytest.mark.usefixtures("faulty")
@pytest.mark.parametrize(
    "shape",
    [
        *("text", "empty", "cut", "gzip", "zstd", "disturbed", "folder", "pipe", "loop"),
        *("Empty", "Missing", "Several", "Floating", "Huge", "Linked"),
    ],
)
def test_what_is_no_shape_is_said(shape: str, properties: Write) -> None:
    named = properties(shapes={"lump": f"{shape}.blend"})
    with refused(ConfigError) as error:
        read_look(properties=named)
    assert "\n" not in str(error.value)
    if shape[0].isupper():
        with pytest.raises(ConfigError, match=re.escape(str(error.value))):
            read_world(properties=named)


def test_what_is_no_material_is_said(properties: Write) -> None:
    check_refused(ConfigError, read_look, properties=properties(materials={"lump": "Pyramid.blend"}))


def test_a_file_that_takes_too_long_is_given_up(properties: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blend_files, "READ_TIMEOUT_S", 1.0)
    check_refused(ConfigError, read_look, properties=properties(shapes={"lump": "Slow.blend"}))


def test_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    # How much of it is shown depends on the folder's length.
    with pytest.raises(
        ConfigError, match=r"shapes\.solid: .*aaa \.\.\.: cannot be read \(file name too long\)"
    ):
        read_blends({"shapes": {"solid": f"{'a' * 300}.blend"}}, tmp_path / "named.json")


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_what_is_no_files_name_is_said(name: str, tmp_path: Path) -> None:
    check_refused(ConfigError, read_blends, {"shapes": {"solid": f"{name}.blend"}}, tmp_path / "named.json")


def test_meshes_of_another_size_are_told() -> None:
    huge = {"vertices": [[3, 3, -1], [-3, 3, -1], [0, -3, -1]], "faces": [[0, 1, 2]]}
    endless = {**huge, "vertices": [[0, 0, -1], [0, float("nan"), 0], [1, 0, 0]]}
    many = {"vertices": [[0, 0, -1]] * 3, "faces": [[0, 1, 2, 0]] * 100_001}
    meshes = (huge, {**huge, "faces": []}, endless, many)
    check_words("\n".join(str(problem_of_mesh(mesh)) for mesh in meshes))


def test_without_blender_no_other_renderer_is_named(
    properties: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrhope.runtime.blender.blender_folder", lambda: None)
    (folder / "Unread.blend").write_bytes((folder / "Pyramid.blend").read_bytes())
    check_refused(RenderError, read_world, properties=properties(shapes={"pyramid": "Unread.blend"}))


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
        scene = {"objects": [thing(shape="lump", color="red")]}
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


def test_a_dataset_is_built_and_audited(properties: Write, tmp_path: Path, cli: Cli) -> None:
    named = properties(shapes={"arch": "Arch.blend", "sphere": "Sphere"}, materials={"glow": "Glow.blend"})
    few = "--hop none --splits val --test-questions 18 --seed 1 --no-render --quiet"
    for name in ("a", "b"):
        cli("build", *few.split(), "--properties", named, "--out", tmp_path / name)
    scenes = [(tmp_path / name / "scenes" / "val" / "0000.json").read_bytes() for name in ("a", "b")]
    assert scenes[0] == scenes[1]
    report = audit(tmp_path / "a", properties=named)
    checks = {check.name: check for check in report.checks}
    assert report.ok
    assert checks["visible objects"].result == "passed"


def test_the_native_renderer_names_the_other_one(properties: Write) -> None:
    look = read_look(properties=properties(materials={"glow": "Glow.blend"}))
    check_refused(SceneError, NativeRenderer, look=look)


def test_the_raster_of_meshes_with_hollows_is_what_blender_shows(properties: Write) -> None:
    named = properties(shapes={"dented": "Dented.blend", "arch": "Arch.blend", "pyramid": "Pyramid.blend"})
    world = read_world(properties=named)
    batch = sample_scenes(2, seed=4, pool="train", world=world)
    settings = BlenderSettings(samples=1, device="cpu")
    with CyclesRenderer(look=read_look(properties=named), settings=settings, workers=1) as renderer:
        shown = dict(renderer.passes(enumerate(json.loads(batch.to_json()))))
    check_raster(world, batch, shown, least_px=400, fraction_off=0.03)
