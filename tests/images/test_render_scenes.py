"""`clevrhope render`: any CLEVR scene file into images, resumed; what is wrong with it in a sentence."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.reference_images import reference_scenes
from clevrhope.__main__ import run_command
from clevrhope.dataset.json_rows import read_list
from clevrhope.errors import ClevrhopeError, DatasetError, SceneError
from clevrhope.images.native import MOST_OBJECTS, NativeRenderer
from clevrhope.images.placement import find_object_outside, place
from clevrhope.images.png import read_png
from clevrhope.images.renderers import rendering_as_json
from clevrhope.images.settings import NativeSettings
from clevrhope.look.definition import read_look
from clevrhope.pipeline.scene_images import RenderedFile, render_scene_file
from waiting import wait_until
from wording import refused

TINY = NativeSettings(width=96, height=64, quality="draft")


def scene_file(path: Path, scenes: list[dict[str, Any]] | None = None, **more: Any) -> Path:
    scenes = [dict(scene) for scene in reference_scenes()[:3]] if scenes is None else scenes
    path.write_text(json.dumps({"info": {}, "scenes": scenes, **more}, indent=1))
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


@pytest.mark.parametrize("content", [b"", b"mine", b"\x89PNG\r\n\x1a\n"], ids=["empty", "text", "cut off"])
def test_an_image_that_is_not_whole_is_rendered_anew(content: bytes, tmp_path: Path) -> None:
    scenes = scene_file(tmp_path / "s.json", [dict(scene) for scene in reference_scenes()[:2]])
    render(scenes, tmp_path / "out")
    first, second = sorted((tmp_path / "out").glob("*.png"))
    whole = first.read_bytes()
    first.write_bytes(content)
    assert render(scenes, tmp_path / "out").n_rendered == 1
    assert first.read_bytes() == whole
    second.write_bytes(second.read_bytes()[:-1])
    assert render(scenes, tmp_path / "out").n_rendered == 1


def test_published_scenes_have_camera_and_lights_at_their_places_before_jitter_and_this_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = deepcopy(dict(reference_scenes()[0]))
    look = read_look().look
    spelt_out = deepcopy(published)
    del published["camera"], published["lights"]
    spelt_out["camera"] = {"location": look["camera"]["location"]}
    spelt_out["lights"] = {n: each["location"] for n, each in look["lights"].items() if "location" in each}
    published["image_filename"], spelt_out["image_filename"] = "published.png", "spelt_out.png"
    path = scene_file(tmp_path / "s.json", [published, spelt_out])
    arguments = ["render", str(path), "--out", str(tmp_path / "out"), "--renderer", "native"]
    assert run_command([*arguments, "--quality", "draft"]) == 0
    assert "1 scenes have no positions of camera and lights" in capsys.readouterr().out
    first, second = (tmp_path / "out" / name for name in ("published.png", "spelt_out.png"))
    assert first.read_bytes() == second.read_bytes()


def test_all_published_scenes_are_in_the_world(test_data: Path) -> None:
    look = read_look()
    n_scenes = 0
    for split in ("train", "val"):
        for scene in read_list(test_data / "real_clevr" / f"CLEVR_{split}_scenes.json", "scenes"):
            assert find_object_outside(place(scene, look), look, width_px=480, height_px=320) is None
            n_scenes += 1
    assert n_scenes >= 100


@pytest.mark.parametrize(
    "place_of_it",
    [
        [40.0, 0.0, 0.7],
        [0.0, 0.0, -0.2],
        [-11.15, 6.87, 0.7],
        [7.45, -6.3, 8.0],
        [-6.0, -9.0, 0.7],
        [0.0, 0.0, 1e308],
    ],
)
def test_an_object_outside_the_world_is_named(place_of_it: list[float], tmp_path: Path) -> None:
    scenes = deepcopy([dict(scene) for scene in reference_scenes()[:2]])
    scenes[1]["objects"][2]["3d_coords"] = place_of_it
    with refused(SceneError):
        render(scene_file(tmp_path / "s.json", scenes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("camera", [[0, 0, 0], [0, 0, 10], [0, 0, -10], [1e-9, 0, 10], [1e308, 1e308, 1e308]])
def test_a_camera_that_sees_nothing_is_named(camera: list[float], tmp_path: Path) -> None:
    for objects in (reference_scenes()[0]["objects"], []):
        scene = {**reference_scenes()[0], "objects": objects, "camera": {"location": camera}}
        with refused(SceneError):
            render(scene_file(tmp_path / "s.json", [scene]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("x", [float("nan"), float("inf"), 10**400])
def test_a_camera_at_no_number_is_named(x: float, tmp_path: Path) -> None:
    scene = {**reference_scenes()[0], "camera": {"location": [x, 0, 1]}}
    with refused(DatasetError):
        render(scene_file(tmp_path / "s.json", [scene]), tmp_path / "out")


def spoilt(change: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    scenes = deepcopy([dict(scene) for scene in reference_scenes()[:3]])
    change(scenes[2])
    return scenes


@pytest.mark.parametrize(
    "change",
    [
        lambda scene: scene["objects"][0].update(shape="pyramid"),
        lambda scene: scene["objects"][0].update(color="gray3"),
        lambda scene: scene["objects"].append(7),
        lambda scene: scene.update(objects=5),
        lambda scene: scene["objects"][0].update(shape=["cube"]),
        lambda scene: scene.pop("objects"),
        lambda scene: scene.update(camera=[1, 2, 3]),
        lambda scene: scene["objects"][0].pop("rotation"),
        lambda scene: scene.update(image_filename="../up.png"),
        lambda scene: scene.update(image_filename="000001.png"),
    ],
)
def test_bad_scenes_get_a_sentence_and_leave_nothing(
    change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    scenes = spoilt(change)
    for scene in scenes[:2]:
        scene.pop("image_filename", None)
    with refused(SceneError):
        render(scene_file(tmp_path / "s.json", scenes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_more_objects_than_the_native_renderer_knows_are_told_before_rendering(tmp_path: Path) -> None:
    scenes = deepcopy([dict(scene) for scene in reference_scenes()[:2]])
    crowd = scenes[1]
    crowd["objects"] = [crowd["objects"][0]] * (MOST_OBJECTS + 1)
    with refused(SceneError):
        render(scene_file(tmp_path / "s.json", scenes), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # The native module's own bound is the same.
    with NativeRenderer(width=12, height=8, quality="draft") as renderer:
        with refused(SceneError):
            list(renderer.render([(0, crowd)]))
        crowd["objects"].pop()
        assert len(list(renderer.render([(0, crowd)]))) == 1


def test_broken_files_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"scenes": [\n{"objects": []},\n{"objects": [}\n]}')
    with refused(DatasetError):
        render(path, tmp_path / "out")
    path.write_text('{"questions": []}')
    with refused(DatasetError):
        render(path, tmp_path / "out")
    path.write_text('{"scenes": []}')
    with refused(ClevrhopeError):
        render(path, tmp_path / "out")
    with refused(SceneError):
        render(tmp_path / "none.json", tmp_path / "out")


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
    with refused(DatasetError):
        render(stray, tmp_path / "out")
    (tmp_path / "out" / "000000.png").write_bytes(b"nobody's")
    scenes = [{k: v for k, v in reference_scenes()[5].items() if k != "image_filename"}]
    with refused(DatasetError):
        render(scene_file(tmp_path / "d.json", scenes), tmp_path / "out")
    scene_file(tmp_path / "a.json", [dict(reference_scenes()[7])])
    with refused(DatasetError):
        render(first, tmp_path / "out")


def test_images_of_another_revision_are_not_added_to(tmp_path: Path) -> None:
    scenes = scene_file(tmp_path / "a.json")
    render(scenes, tmp_path / "out")
    account = tmp_path / "out" / "render.json"
    said = json.loads(account.read_text())
    del said["rendering"]["revision"]
    account.write_text(json.dumps(said))
    with refused(DatasetError):
        render(scenes, tmp_path / "out")


def test_a_files_names_are_its_own_before_its_images_are_there(tmp_path: Path) -> None:
    first = scene_file(tmp_path / "a.json", [{**reference_scenes()[0], "image_filename": "000000.png"}])
    render(first, tmp_path / "out")
    image = tmp_path / "out" / "000000.png"
    whole = image.read_bytes()
    # As a run leaves it that is killed before its first image.
    image.unlink()
    second = scene_file(tmp_path / "b.json", [{**reference_scenes()[1], "image_filename": "000000.png"}])
    with refused(DatasetError):
        render(second, tmp_path / "out")
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
    with refused(DatasetError):
        render(scene_file(tmp_path / "a.json"), out)
    assert [path.name for path in out.iterdir()] == ["render.json"]


WITHOUT_THE_LAST_TWO = """
import time
from clevrhope.__main__ import main
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
    program = [sys.executable, "-c", "from clevrhope.__main__ import main; main()", *arguments]
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
