"""Small images out of Blender, and the facts that they have to show."""

import json
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from things import at, thing

from benchmarks.reference_images import psnr, reference_scenes
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.passes import to_bytes
from clevrhope.images.png import encode_png, read_png
from clevrhope.images.settings import BlenderSettings
from clevrhope.images.stage import render, render_png_files
from clevrhope.look.definition import Look, read_look
from clevrhope.runtime.assets import blender_assets
from clevrhope.runtime.resources import resident_bytes

Pixels = npt.NDArray[np.uint8]

#: What allocators keep back and forth; a leak of an image's pixels alone would come to 38 MB and more.
SLACK_BYTES = 30 << 20

SMALL = BlenderSettings(width=120, height=80, samples=4, device="cpu")
LOOK = json.loads((blender_assets() / "look.json").read_text())


# Blender's worker, which writes a line for each time that it loads the look or makes a mesh.
COUNTING_WORKER = """
import sys
from pathlib import Path
from clevrhope.images.blender import scene, worker

def counted(name, function):
    def call(*arguments, **named):
        with open(sys.argv[1], "a") as log:
            log.write(name + chr(10))
        return function(*arguments, **named)
    return call

worker._load = counted("look", worker._load)
scene._to_blender = counted("mesh", scene._to_blender)
sys.exit(worker.main(Path(sys.argv[2])))
"""


@pytest.fixture(scope="module")
def small() -> Iterator[CyclesRenderer]:
    with CyclesRenderer(settings=SMALL) as renderer:
        yield renderer


def one(renderer: CyclesRenderer, *objects: dict[str, Any], **scene: Any) -> Pixels:
    ((_, pixels),) = renderer.render([(0, {"objects": list(objects), **scene})])
    return pixels


def mask_of(renderer: CyclesRenderer, *objects: dict[str, Any], **scene: Any) -> Pixels:
    ((_, passes),) = renderer.passes([(0, {"objects": list(objects), **scene})])
    return passes.mask


def project(point: npt.ArrayLike, camera: npt.ArrayLike, width: int, height: int) -> tuple[float, float]:
    """Pixel coordinates of a point of the world, worked out apart from Blender."""
    ahead = -np.asarray(camera, dtype=float)
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    offset = np.asarray(point, dtype=float) - np.asarray(camera, dtype=float)
    scale = width * LOOK["camera"]["lens_mm"] / LOOK["camera"]["sensor_width_mm"] / (offset @ ahead)
    return width / 2 + scale * (offset @ right), height / 2 - scale * (offset @ up)


def test_each_objects_projected_centre_lies_in_its_mask(small: CyclesRenderer) -> None:
    scenes = [dict(scene) for scene in reference_scenes()[:6]]
    for key, passes in small.passes(enumerate(scenes)):
        assert passes.mask.shape == (80, 120)
        for i, entry in enumerate(scenes[key]["objects"]):
            u, v = project(entry["3d_coords"], scenes[key]["camera"]["location"], 120, 80)
            in_front = passes.mask[int(v), int(u)]
            # Its own, or that of an object that stands nearer.
            towards = np.asarray(scenes[key]["camera"]["location"])
            nearness = [np.dot(other["3d_coords"], towards) for other in scenes[key]["objects"]]
            assert in_front == i or nearness[in_front] > nearness[i]


@pytest.mark.slow
def test_the_side_away_from_the_lamp_is_darker() -> None:
    """A ball under the key light alone, which stands at the camera's right: its left side is in the dark."""
    look = deepcopy(LOOK)
    look["lights"]["fill"]["power_w"] = look["lights"]["back"]["power_w"] = 0.0
    look["lights"]["sun"]["strength_w_m2"] = 0.0
    centre, camera = np.array([0.0, 0.0, 0.7]), np.asarray(LOOK["camera"]["location"])
    right = np.cross(-camera, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    scene = {"objects": [thing()], "lights": {"key": (5.0 * right + [0.0, 0.0, 2.0]).tolist()}}
    dark = Look(look, read_look().properties)
    with CyclesRenderer(settings=SMALL, look=dark, workers=1) as renderer:
        ((_, image),) = renderer.render([(0, scene)])
    brightness = []
    for side in (right, -right):
        u, v = project(centre + 0.5 * side, camera, 120, 80)
        brightness.append(int(image[int(v), int(u)].astype(int).sum()))
    assert brightness[0] > 2 * brightness[1]


def test_an_object_throws_a_shadow_on_the_ground(small: CyclesRenderer) -> None:
    empty, full = one(small), one(small, thing())
    direction = -np.asarray(LOOK["lights"]["key"]["location"])[:2]
    behind = 1.1 * direction / np.linalg.norm(direction)
    u, v = project([*behind, 0.0], LOOK["camera"]["location"], 120, 80)
    assert full[int(v), int(u)].astype(int).sum() < 0.9 * empty[int(v), int(u)].astype(int).sum()


def test_colour_and_material_show(small: CyclesRenderer) -> None:
    mask = mask_of(small, thing()) == 0
    red = one(small, thing(color="red"))[mask].mean(axis=0)
    blue = one(small, thing(color="blue"))[mask].mean(axis=0)
    assert red[0] > 1.5 * red[2]
    assert blue[2] > 1.5 * blue[0]
    matte, metal = one(small, thing())[mask], one(small, thing(material="metal"))[mask]
    assert metal.std() > 1.5 * matte.std()  # it mirrors lamps and darkness


def test_camera_and_lamps_stand_where_the_scene_says(small: CyclesRenderer) -> None:
    plain = one(small, thing())
    key = np.add(LOOK["lights"]["key"]["location"], [0.0, 1.0, 0.0]).tolist()
    camera = np.add(LOOK["camera"]["location"], [0.3, 0.3, -0.3]).tolist()
    assert psnr(plain, one(small, thing(), lights={"key": key})) < 45.0
    rows, columns = np.nonzero(mask_of(small, thing(**at(2.0, 1.0)), camera={"location": camera}) == 0)
    where = project([2.0, 1.0, 0.7], camera, 120, 80)
    assert (columns.mean() + 0.5, rows.mean() + 0.5) == pytest.approx(where, abs=0.7)


@pytest.mark.slow
def test_images_are_the_same_bytes_whatever_the_workers_and_the_order() -> None:
    scenes = [(number, reference_scenes()[number]) for number in (0, 1, 2, 5)]
    with CyclesRenderer(settings=SMALL, workers=1) as renderer:
        first = dict(renderer.render(scenes))
    with CyclesRenderer(settings=SMALL, workers=2) as renderer:
        again = dict(renderer.render(reversed(scenes)))
        # Passes in between change settings, put lamps out and show hidden objects alone for a moment.
        passes = dict(renderer.passes(scenes))
        once_more = dict(renderer.render(scenes))
        passes_again = dict(renderer.passes(reversed(scenes)))
    for key, scene in scenes:
        assert encode_png(first[key]) == encode_png(again[key]) == encode_png(once_more[key])
        assert (to_bytes(passes[key]) == to_bytes(passes_again[key])).all()
        assert sorted(set(passes[key].mask.flat)) == [*range(len(scene["objects"])), 255]


@pytest.mark.slow
def test_a_worker_loads_the_look_once(tmp_path: Path) -> None:
    """However many images it renders: neither the scene nor a mesh is made again."""
    log = tmp_path / "log"
    scenes = list(enumerate(reference_scenes()[:6]))
    command = (sys.executable, "-P", "-c", COUNTING_WORKER, str(log))
    with CyclesRenderer(settings=SMALL, workers=2, command=command) as renderer:
        n_images = len(dict(renderer.render(scenes)))
        n_images += len(dict(renderer.render(scenes)))
        n_workers = len(renderer.pool.pids)
    assert n_images == 12
    made = log.read_text().split()
    assert made.count("look") == n_workers == 2
    # Of the ground, and of each shape in each material.
    assert made.count("mesh") == n_workers * (1 + len(LOOK["shapes"]) * len(LOOK["materials"]))


def test_the_stage_gives_pixels_and_whole_files(tmp_path: Path, small: CyclesRenderer) -> None:
    scenes = [{"objects": [thing(color=name)], "image_filename": f"{name}.png"} for name in ("red", "cyan")]
    pixels = dict(render(scenes, renderer=small))

    def path_of(scene: Any) -> Path:
        return tmp_path / "images" / scene["image_filename"]

    written = list(render_png_files(scenes, path_of, renderer=small))
    assert sorted(path.name for path in written) == ["cyan.png", "red.png"]
    assert (read_png(tmp_path / "images" / "cyan.png") == pixels[1]).all()
    before = {path: path.stat().st_mtime_ns for path in written}
    assert list(render_png_files(scenes, path_of, renderer=small)) == []
    assert {path: path.stat().st_mtime_ns for path in written} == before
    assert sorted(p.name for p in (tmp_path / "images").iterdir()) == ["cyan.png", "red.png"]


@pytest.mark.slow
def test_a_worker_leaves_no_temporary_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with CyclesRenderer(settings=SMALL, workers=1) as renderer:
        one(renderer, thing())
        assert not list(tmp_path.glob("blender_*"))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_memory_stays_flat_over_a_thousand_images() -> None:
    settings = BlenderSettings(width=120, height=80, samples=1, device="cpu")
    scenes = reference_scenes()

    def source() -> Iterator[tuple[int, Any]]:
        for i in range(1000):
            yield i, scenes[i % len(scenes)]

    with CyclesRenderer(settings=settings, workers=2) as renderer:
        early: list[int] = []
        for done, _ in enumerate(renderer.render(source()), start=1):
            if done == 50 + len(scenes) * 2:  # by then each worker has seen all scenes
                pids = renderer.pool.pids
                early = [resident_bytes(pid) for pid in pids]
        late = [resident_bytes(pid) for pid in pids]
        assert renderer.pool.pids == pids
    assert all(after < before + SLACK_BYTES for before, after in zip(early, late, strict=True))
