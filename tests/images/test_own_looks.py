"""Looks of one's own: lights, lens, ground and background from a [look] table, in both renderers."""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli

from benchmarks.reference_images import REFERENCE_FOLDER, psnr
from clevrhope.config.sources import resolve_config
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import read_png
from clevrhope.images.renderer import Pixels
from clevrhope.images.settings import BlenderSettings, NativeSettings
from clevrhope.look.changes import read_changes
from clevrhope.look.definition import Look, read_look
from clevrhope.pipeline.scene_images import render_scene_file
from clevrhope.scenes import read_world, sample_scenes
from wording import check_refused, check_words, refused

#: A look, four scenes, and their images by Cycles at 512 samples.
OWN = REFERENCE_FOLDER.parent / "own_look"


def own_changes() -> Mapping[str, Any]:
    return resolve_config(file=OWN / "look.toml").look


def own_scenes() -> list[dict[str, Any]]:
    scenes: list[dict[str, Any]] = json.loads((OWN / "scenes.json").read_text())["scenes"]
    return scenes


def toml(folder: Path, text: str) -> Path:
    file = folder / "mine.toml"
    file.write_text(text)
    return file


def distances(quality: str, **changes: Any) -> list[float]:
    look = read_look(changes={**own_changes(), **changes})
    with NativeRenderer(look=look, width=240, height=160, quality=quality) as renderer:
        images = renderer.render((scene["image_filename"], scene) for scene in own_scenes())
        return [psnr(image, read_png(OWN / name)) for name, image in images]


@pytest.mark.parametrize(("quality", "mean_db", "least_db"), [("standard", 40.5, 38.5), ("high", 42.5, 41.0)])
def test_native_images_of_another_look_are_those_of_cycles(
    quality: str, mean_db: float, least_db: float
) -> None:
    found = distances(quality)
    assert len(found) == 4
    assert np.mean(found) >= mean_db, found
    assert min(found) >= least_db, found


@pytest.mark.parametrize("section", ["lights", "ground", "world"])
def test_each_part_of_the_look_is_seen(section: str) -> None:
    changes = deepcopy(dict(own_changes()))
    del changes[section]
    look = read_look(changes=changes)
    scene = {**own_scenes()[0], "lights": {}}
    with (
        NativeRenderer(look=look, width=60, height=40, quality="draft") as without,
        NativeRenderer(look=read_look(changes=own_changes()), width=60, height=40, quality="draft") as whole,
    ):
        images = [next(renderer.render([(0, scene)]))[1] for renderer in (without, whole)]
    assert psnr(*images) < 30.0


def by_both(look: Look, scene: Mapping[str, Any], *, denoise: bool) -> list[Pixels]:
    """A scene's images by Cycles and by the native renderer."""
    settings = BlenderSettings(width=96, height=64, samples=64, denoise=denoise, device="cpu")
    with (
        CyclesRenderer(look=look, settings=settings, workers=1) as cycles,
        NativeRenderer(look=look, width=96, height=64, quality="high") as native,
    ):
        return [next(iter(renderer.render([(0, scene)])))[1] for renderer in (cycles, native)]


def test_blender_has_the_same_look() -> None:
    assert psnr(*by_both(read_look(changes=own_changes()), own_scenes()[3], denoise=True)) >= 36.0


@pytest.mark.slow
def test_the_sky_is_seen_where_the_ground_ends() -> None:
    """A wide lens far in front sees over the ground's upper end and past its sides."""
    changes = {
        "camera": {"location": [20.0, -9.5, 12.0], "target": [-12.0, 6.0, 18.0], "lens_mm": 18.0},
        "world": {"background_strength": 0.5, "background_color": [0.2, 0.4, 0.8]},
    }
    images = by_both(read_look(changes=changes), {"objects": []}, denoise=False)
    sky = (images[0] == images[0][0, 0]).all(axis=2)
    assert 0.1 < sky.mean() < 0.9
    assert (images[1][sky] == images[0][0, 0]).mean() > 0.99
    assert psnr(*images) >= 42.0


def test_a_world_is_another_one_only_if_its_look_differs() -> None:
    plain = read_world().fingerprint
    base = read_look().look
    assert read_world(changes={}).fingerprint == plain
    same = {"camera": {"lens_mm": 35, "target": [0, 0, 0]}, "lights": {"sun": {"strength_w_m2": 0.45}}}
    assert read_changes(same, base, where="mine") == {}
    assert read_world(changes=same).fingerprint == plain
    others = (
        {"camera": {"lens_mm": 36}},
        {"lights": {"key": {"power_w": 80}}},
        {"lights": {"key": False}},
        {"ground": {"roughness": 0.1}},
        {"world": {"background_strength": 0.1}},
    )
    assert len({plain, *(read_world(changes=changes).fingerprint for changes in others)}) == 6
    # The order of tables does not matter.
    changes = own_changes()
    turned = {name: dict(reversed(each.items())) for name, each in reversed(changes.items())}
    assert json.dumps(read_changes(turned, base, where="mine")) == json.dumps(changes)
    assert read_world(changes=turned).fingerprint == read_world(changes=changes).fingerprint


def test_scenes_are_sampled_for_the_looks_camera_and_lights() -> None:
    world = read_world(changes=own_changes(), constraints={"width": 240, "height": 160, "min_pixels": 40})
    scenes = json.loads(sample_scenes(20, seed=3, world=world).to_json())
    for scene in scenes:
        moved = np.subtract(scene["camera"]["location"], own_changes()["camera"]["location"])
        assert np.abs(moved).max() <= 0.3
        assert list(scene["lights"]) == ["key", "fill", "top"]
        forward = np.subtract(own_changes()["camera"]["target"], scene["camera"]["location"])
        right = np.cross(forward, [0.0, 0.0, 1.0])
        assert np.allclose(scene["directions"]["right"], right / np.linalg.norm(right), atol=1e-6)
    look = read_look(changes=own_changes())
    with NativeRenderer(look=look, width=240, height=160, quality="draft") as renderer:
        for number, passes in renderer.passes(enumerate(scenes[:5])):
            counted = [each["visible_pixels"] for each in scenes[number]["objects"]]
            seen = np.bincount(passes.mask.ravel(), minlength=256)[: len(counted)]
            assert (np.abs(seen - counted) <= 12 + 0.005 * np.asarray(counted)).all()


BAD_LOOKS = [
    "[look.camera]\nlens_mm = 0",
    "[look.camera]\nlens_mm = nan",
    "[look.camera]\nlens = 35",
    "[look.camera]\nlocation = [1, 2]",
    "[look.camera]\nlocation = [7, -6, -2]",
    "[look.camera]\nlocation = [0, 0, 9]",
    "[look.camera]\njitter = 8",
    "[look.lights.key]\npower_w = 0",
    "[look.lights.key]\nsize = -0.5",
    "[look.lights.key]\ncolor = [0, 0, 0]",
    "[look.lights.key]\nlocation = [1, 1, -1]",
    "[look.lights.key]\nlocation = [-14, 7, 1]",
    "[look.lights.key]\nlocation = [0, 0, 0]",
    '[look.lights.key]\nkind = "sun"',
    '[look.lights.spot]\nkind = "spot"',
    "[look.lights.top]\nlocation = [0, 0, 6]",
    "[look.lights.sun]\nrotation_rad = [1.6, 0, 0]",
    "[look.lights]\nkeys = false",
    "[look.lights]\nkey = 3",
    "[look.lights]\nkey=false\nfill=false\nback=false\nsun=false",
    '[look.lights."a b"]\nsize = 1',
    "[look.light.key]\nsize = 1",
    "[look.ground]\ncolour = [1, 1, 1]",
    "[look.ground]\ncolor = [1, 2, 1]",
    "[look.ground]\nroughness = 2",
    "[look.world]\nbackground_strength = -1",
    "[look]\ncamera = 3",
    "look = 3",
    "[looks.camera]\nlens_mm = 3",
]


@pytest.mark.parametrize("text", BAD_LOOKS)
def test_a_look_that_no_renderer_could_use_gets_a_sentence(text: str, tmp_path: Path) -> None:
    check_refused(ConfigError, resolve_config, file=toml(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("[look.camera]\nlens_mm = 0", ""),
        ("[rendering]\nwidth = 0", ""),
        ("", "--width 0"),
        ("", "--height 9000"),
    ],
    ids=["lens", "width", "--width", "--height"],
)
def test_render_writes_nothing_of_a_bad_look_or_size(
    text: str, options: str, tmp_path: Path, cli: Cli
) -> None:
    out = ["--out", tmp_path / "out", "--config", toml(tmp_path, text), "--renderer", "native"]
    check_words(cli("render", OWN / "scenes.json", *out, *options.split(), code=2).err)
    assert not (tmp_path / "out").exists()


def test_render_takes_look_and_size_and_never_mixes_looks(tmp_path: Path, cli: Cli) -> None:
    native = "[rendering]\nrenderer = 'native'\nquality = 'draft'\nwidth = 120\nheight = 999\n"
    mine = toml(tmp_path, native + (OWN / "look.toml").read_text())
    out = tmp_path / "out"
    command = ["render", OWN / "scenes.json", "--out", out, "--quiet", "--height", "80", "--config", mine]
    cli(*command)
    assert json.loads((out / "render.json").read_text())["rendering"]["width"] == 120
    look = read_look(changes=own_changes())
    with NativeRenderer(look=look, width=120, height=80, quality="draft") as renderer:
        for name, image in renderer.render((each["image_filename"], each) for each in own_scenes()):
            assert np.array_equal(read_png(out / name), image)
    cli(*command)
    other = {**own_changes(), "ground": {"color": [0.5, 0.5, 0.5]}}
    with refused(DatasetError):
        render_scene_file(OWN / "scenes.json", out, rendering=NativeSettings(120, 80, "draft"), changes=other)


def test_the_example_in_the_documentation_is_clevrs_look_but_for_what_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "looks.md").read_text("utf-8")
    _, example, *_ = page.split("```toml\n[look.camera]")
    file = toml(tmp_path, "[look.camera]" + example.partition("```")[0])
    changes = resolve_config(file=file).look
    assert set(changes) == {"camera", "lights"}
    assert set(changes["camera"]) == {"location"}
    assert changes["lights"]["back"] is False
    assert changes["lights"]["top"]["kind"] == "area"
    shown = read_look(changes=changes).look
    for name in ("key", "sun"):
        for key, value in read_look().look["lights"][name].items():
            if key not in ("kind", "target"):
                assert shown["lights"][name][key] == pytest.approx(value, rel=0.03, abs=5e-3)
