"""`clevrhope render`: any CLEVR scene file into images, resumed; what is wrong with it in a sentence."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli

import clevrhope
from benchmarks.reference_images import reference_scenes
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import ClevrhopeError, ConfigError, DatasetError, SceneError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.blender.pool import ScenesFailedError
from clevrhope.images.native import MOST_OBJECTS, NativeRenderer
from clevrhope.images.placement import place_inside
from clevrhope.images.png import read_png
from clevrhope.images.renderers import rendering_as_json
from clevrhope.images.settings import BlenderSettings, NativeSettings
from clevrhope.look.definition import read_look
from clevrhope.pipeline.scene_images import RenderedFile, render_scene_file
from waiting import wait_until
from wording import check_refused, refused

TINY = NativeSettings(width=96, height=64, quality="draft")


def scene_file(path: Path, scenes: Sequence[Mapping[str, Any]] | None = None) -> Path:
    path.write_text(json.dumps({"info": {}, "scenes": scenes or reference_scenes()[:3]}, indent=1))
    return path


def render(scenes: Path, out: Path, rendering: NativeSettings = TINY) -> RenderedFile:
    return render_scene_file(scenes, out, rendering=rendering)


def test_images_are_those_of_the_renderer_under_the_scenes_names(tmp_path: Path) -> None:
    scenes = [dict(scene) for scene in reference_scenes()[:3]]
    scenes[1]["image_filename"] = "second.png"
    scenes[0].pop("image_filename", None)
    scenes[2].pop("image_filename", None)
    made = render(scene_file(tmp_path / "s.json", scenes), tmp_path / "out")
    assert (made.n_scenes, made.n_rendered, made.n_without_camera) == (3, 3, 0)
    names = ["000000.png", "second.png", "000002.png"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([*names, "render.json"])
    with NativeRenderer(width=96, height=64, quality="draft") as renderer:
        for i, pixels in renderer.render(enumerate(scenes)):
            assert np.array_equal(read_png(tmp_path / "out" / names[i]), pixels)


def test_a_list_of_scenes_a_single_one_and_objects_without_rotation_are_rendered(tmp_path: Path) -> None:
    """CLEVR's generator leaves a file a scene; without rotation, it is 0, and none is invented."""
    whole = dict(reference_scenes()[0])
    turned = {**whole, "objects": [{**item, "rotation": 0} for item in whole["objects"]]}
    bare = {
        **whole,
        "objects": [{key: item[key] for key in item if key != "rotation"} for item in whole["objects"]],
    }
    with NativeRenderer(width=96, height=64, quality="draft") as renderer:
        images = dict(renderer.render(enumerate([whole, turned])))
    forms = {"one": (whole, images[0]), "list": ([whole], images[0]), "no_rotation": ([bare], images[1])}
    for name, (form, image) in forms.items():
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(form))
        made = render(file, tmp_path / name)
        assert made.n_without_rotation == (name == "no_rotation")
        (path,) = made.folder.glob("*.png")
        assert np.array_equal(read_png(path), image)


def test_sampled_scenes_are_rendered_by_a_chosen_renderer() -> None:
    scenes = clevrhope.sample_scenes(2, seed=1)
    size: dict[str, Any] = {"width": 48, "height": 32, "quality": "draft"}
    images = dict(clevrhope.render(scenes, renderer="native", **size))
    for number, scene in enumerate(scenes):
        assert np.array_equal(images[number], np.asarray(scene.render(**size)))
    with refused(ConfigError):
        list(clevrhope.render(scenes, renderer="nativ"))


def test_an_image_that_is_not_whole_is_rendered_anew(tmp_path: Path) -> None:
    scenes = scene_file(tmp_path / "s.json", reference_scenes()[:1])
    render(scenes, tmp_path / "out")
    (image,) = (tmp_path / "out").glob("*.png")
    whole = image.read_bytes()
    for content in (b"", b"mine", whole[:8], whole[:-1]):
        image.write_bytes(content)
        assert render(scenes, tmp_path / "out").n_rendered == 1
        assert image.read_bytes() == whole


def test_published_scenes_have_camera_and_lights_at_their_places_before_jitter_and_this_is_said(
    tmp_path: Path, cli: Cli
) -> None:
    published = deepcopy(dict(reference_scenes()[0]))
    look = read_look().look
    spelt_out = deepcopy(published)
    del published["camera"], published["lights"]
    spelt_out["camera"] = {"location": look["camera"]["location"]}
    spelt_out["lights"] = {n: each["location"] for n, each in look["lights"].items() if "location" in each}
    published["image_filename"], spelt_out["image_filename"] = "published.png", "spelt_out.png"
    path = scene_file(tmp_path / "s.json", [published, spelt_out])
    made = cli("render", path, "--out", tmp_path / "out", "--renderer", "native", "--quality", "draft")
    assert "1 scene has no positions of camera and lights" in made.out
    first, second = (tmp_path / "out" / name for name in ("published.png", "spelt_out.png"))
    assert first.read_bytes() == second.read_bytes()


def test_all_published_scenes_are_in_the_world(test_data: Path) -> None:
    look = read_look()
    n_scenes = 0
    for split in ("train", "val"):
        for scene in read_list(test_data / "real_clevr" / f"CLEVR_{split}_scenes.json", "scenes"):
            place_inside(scene, look, width_px=480, height_px=320)
            n_scenes += 1
    assert n_scenes >= 100


def spoilt(change: dict[str, Any]) -> dict[str, Any]:
    """A scene with these values in it, or, where a scene has no such key, in its first object."""
    scene = deepcopy(dict(reference_scenes()[0]))
    for name, value in change.items():
        (scene if name in scene else scene["objects"][0])[name] = value
    return scene


@pytest.mark.parametrize(
    "change",
    [
        {"3d_coords": [40.0, 0.0, 0.7]},
        {"3d_coords": [0.0, 0.0, -0.2]},
        {"3d_coords": [-11.15, 6.87, 0.7]},
        {"3d_coords": [7.45, -6.3, 8.0]},
        {"3d_coords": [-6.0, -9.0, 0.7]},
        {"3d_coords": [1e30, 0.0, 0.7]},
        {"3d_coords": [0.0, 0.0, 1e308]},
        {"3d_coords": [float("nan"), 0.0, 0.7]},
        {"3d_coords": [1, 2]},
        {"rotation": None},
        {"rotation": 1e300},
        {"shape": "pyramid"},
        {"shape": ["cube"]},
        {"color": "gray3"},
        {"objects": [7]},
        {"objects": 5},
        {"camera": {"location": [0, 0, 0]}},
        {"camera": {"location": [0, 0, 10]}},
        {"camera": {"location": [0, 0, 10]}, "objects": []},
        {"camera": {"location": [0, 0, -10]}},
        {"camera": {"location": [1e-9, 0, 10]}},
        {"camera": {"location": [1e308, 1e308, 1e308]}},
        {"camera": {"location": [float("inf"), 0, 9]}},
        {"camera": [1, 2, 3]},
        {"lights": {"key": [0, 0, 0]}},
        {"lights": {"kay": [0, 0, 9]}},
        {"lights": {"key": [0, 0, 1e30]}},
        {"lights": 7},
    ],
    ids=str,
)
def test_a_scene_that_cannot_be_shown_is_refused_by_renderers_and_the_command(
    change: dict[str, Any], tmp_path: Path
) -> None:
    scenes = [spoilt({"image_filename": "whole.png"}), spoilt(change)]
    with NativeRenderer(width=96, height=64, quality="draft") as renderer:
        with refused(SceneError) as raised:
            list(renderer.render([("spoilt", scenes[1])]))
        with pytest.raises(SceneError, match=re.escape(str(raised.value))):
            list(renderer.passes([("spoilt", scenes[1])]))
    if re.search("nan|inf", str(change)):  # which JSON does not have
        return
    path = scene_file(tmp_path / "s.json", scenes)
    with pytest.raises(SceneError) as of_command:
        render(path, tmp_path / "out")
    assert str(of_command.value) == f"{path}: scenes[1].{raised.value}"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_blender_refuses_such_scenes_too() -> None:
    settings = BlenderSettings(width=48, height=32, samples=1, device="cpu")
    with CyclesRenderer(settings=settings, workers=1) as renderer:
        for change in (
            {"3d_coords": [1e30, 0.0, 0.7]},
            {"3d_coords": [float("nan"), 0.0, 0.7]},
            {"camera": {"location": [0, 0, 0]}},
        ):
            with refused(ScenesFailedError):
                list(renderer.render([(0, spoilt(change))]))


@pytest.mark.parametrize("name", ["../up.png", "000000.png"])
def test_a_name_that_leads_out_of_the_folder_or_is_taken_is_refused(name: str, tmp_path: Path) -> None:
    scenes = [{"objects": []}, {"objects": [], "image_filename": name}]
    check_refused(SceneError, render, scene_file(tmp_path / "s.json", scenes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_native_renderer_takes_so_many_objects(tmp_path: Path) -> None:
    most = spoilt({"objects": reference_scenes()[0]["objects"][:1] * MOST_OBJECTS})
    with NativeRenderer(width=12, height=8, quality="draft") as renderer:
        assert len(list(renderer.render([(0, most)]))) == 1
        most["objects"].append(most["objects"][0])
        with refused(SceneError):
            list(renderer.render([(0, most)]))
    check_refused(SceneError, render, scene_file(tmp_path / "s.json", [most]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "content",
    [
        '{"scenes": [\n{"objects": []},\n{"objects": [}\n]}',
        '{"questions": []}',
        '{"scenes": []}',
        '{"scenes": [{"info": {}}]}',
        *(
            json.dumps({"scenes": [{"objects": [], "camera": {"location": [x, 0, 1]}}]})
            for x in (float("nan"), float("inf"), 10**400)
        ),
        None,
    ],
    ids=range(8),
)
def test_a_file_that_has_no_scenes_is_refused(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    if content is not None:
        path.write_text(content)
    check_refused(ClevrhopeError, render, path, tmp_path / "out")


def test_a_folder_keeps_to_one_kind_of_image_and_to_its_scenes(tmp_path: Path) -> None:
    first = scene_file(tmp_path / "a.json")
    render(first, tmp_path / "out")
    with refused(DatasetError):
        render(first, tmp_path / "out", NativeSettings(width=96, height=64, quality="high"))
    with refused(DatasetError):
        render(first, tmp_path / "out", NativeSettings(width=48, height=64, quality="draft"))
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    assert render(first, tmp_path / "out").n_rendered == 0
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()} == before

    # Other scenes under other names may come beside them; under the same names they may not.
    second = scene_file(tmp_path / "b.json", [{**reference_scenes()[4], "image_filename": "other.png"}])
    assert render(second, tmp_path / "out").n_rendered == 1
    stray = scene_file(tmp_path / "c.json", [{**reference_scenes()[5], "image_filename": "other.png"}])
    check_refused(DatasetError, render, stray, tmp_path / "out")
    (tmp_path / "out" / "000000.png").write_bytes(b"nobody's")
    scenes = [{k: v for k, v in reference_scenes()[5].items() if k != "image_filename"}]
    check_refused(DatasetError, render, scene_file(tmp_path / "d.json", scenes), tmp_path / "out")
    scene_file(tmp_path / "a.json", [dict(reference_scenes()[7])])
    check_refused(DatasetError, render, first, tmp_path / "out")


def test_a_files_names_are_its_own_before_its_images_are_there(tmp_path: Path) -> None:
    first = scene_file(tmp_path / "a.json", [{**reference_scenes()[0], "image_filename": "000000.png"}])
    render(first, tmp_path / "out")
    image = tmp_path / "out" / "000000.png"
    whole = image.read_bytes()
    # As a run leaves it that is killed before its first image.
    image.unlink()
    second = scene_file(tmp_path / "b.json", [{**reference_scenes()[1], "image_filename": "000000.png"}])
    check_refused(DatasetError, render, second, tmp_path / "out")
    assert not image.exists()
    assert render(first, tmp_path / "out").n_rendered == 1
    assert image.read_bytes() == whole


WHOLE = {**rendering_as_json(TINY), "look": "0"}


@pytest.mark.parametrize(
    "account",
    [
        [],
        {"rendering": WHOLE, "scenes": []},
        {"rendering": {}, "scenes": {}},
        {"rendering": {"renderer": "native"}, "scenes": {}},
        {"rendering": {**WHOLE, "renderer": "povray"}, "scenes": {}},
        {"rendering": {**WHOLE, "quality": "worst"}, "scenes": {}},
        {"rendering": {name: WHOLE[name] for name in WHOLE if name != "revision"}, "scenes": {}},
        {"rendering": {**WHOLE, "rays": 3}, "scenes": {}},
        {"rendering": rendering_as_json(TINY), "scenes": {}},
        {"rendering": WHOLE, "scenes": {"a.json": "0"}},
        {"rendering": WHOLE, "scenes": {"a.json": {"sha256": "0", "images": 3}}},
    ],
)
def test_an_account_that_is_none_is_told_with_its_key(account: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "render.json").write_text(json.dumps(account))
    check_refused(DatasetError, render, scene_file(tmp_path / "a.json"), out)
    assert [path.name for path in out.iterdir()] == ["render.json"]


WITHOUT_THE_LAST_TWO = """
import time
from clevrhope.start import main
from clevrhope.images.native import NativeRenderer

render = NativeRenderer.render

def hangs(self, scenes):
    for path, pixels in render(self, scenes):
        if path.name == "30.png":
            time.sleep(3600)
        yield path, pixels

NativeRenderer.render = hangs
main()
"""


@pytest.mark.slow
def test_killed_and_run_again_equals_uninterrupted(tmp_path: Path) -> None:
    scenes = [{**scene, "image_filename": f"{i}.png"} for i, scene in enumerate(reference_scenes() * 2)]
    path = scene_file(tmp_path / "s.json", scenes)
    arguments = ["render", str(path), "--renderer", "native", "--quality", "draft", "--quiet"]
    program = [sys.executable, "-c", "from clevrhope.start import main; main()", *arguments]
    unfinished = [sys.executable, "-c", WITHOUT_THE_LAST_TWO, *arguments]
    for n_images in (1, 9, 20):
        running = subprocess.Popen([*unfinished, "--out", str(tmp_path / "killed")], env=os.environ)
        wait_until(
            lambda n=n_images: len(list((tmp_path / "killed").glob("*.png"))) >= n, f"{n_images} images"
        )
        running.send_signal(signal.SIGKILL)
        assert running.wait() == -signal.SIGKILL
    assert 20 <= len(list((tmp_path / "killed").glob("*.png"))) < 32
    subprocess.run([*program, "--out", str(tmp_path / "killed")], check=True)
    subprocess.run([*program, "--out", str(tmp_path / "whole")], check=True)
    killed, whole = (
        {each.name: each.read_bytes() for each in (tmp_path / folder).iterdir()}
        for folder in ("killed", "whole")
    )
    assert killed == whole
    assert len(whole) == 33
