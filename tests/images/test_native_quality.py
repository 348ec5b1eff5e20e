"""How near native images come to Cycles' of 512 samples: noise, structure, colours of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.reference_images import REFERENCE_FOLDER, psnr, reference_image, reference_scenes
from benchmarks.render_measures import by_material, excess_light, features, grain, linear, ssim
from clevrhope._core import SceneBatch, object_ids
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import read_png
from clevrhope.scenes import read_world

pytestmark = pytest.mark.slow

ImageArray = npt.NDArray[np.uint8]
Pair = tuple[Mapping[str, Any], ImageArray, ImageArray]

#: Scenes that no number of the renderer was chosen by.
HELD_BACK = REFERENCE_FOLDER.parent / "look_held_back"


def pairs(quality: str, folder: Path | None = None) -> Iterator[Pair]:
    """Each reference scene, and its images by the native renderer and by Cycles."""
    scenes = [s for s in reference_scenes(folder) if reference_image(s["image_index"], folder).exists()]
    with NativeRenderer(quality=quality) as renderer:
        for number, image in renderer.render(enumerate(scenes)):
            scene = scenes[number]
            yield scene, image, read_png(reference_image(scene["image_index"], folder))


@pytest.fixture(scope="module", params=[None, HELD_BACK], ids=["tuned on", "held back"])
def standard(request: pytest.FixtureRequest) -> list[Pair]:
    return list(pairs("standard", request.param))


@pytest.mark.parametrize(
    ("quality", "folder", "mean_db", "least_db"),
    [
        ("standard", None, 45.4, 42.3),
        ("draft", HELD_BACK, 39.6, 32.9),
        ("standard", HELD_BACK, 45.1, 40.2),
        ("high", HELD_BACK, 46.8, 42.0),
    ],
)
def test_efforts_keep_their_distance(
    quality: str, folder: Path | None, mean_db: float, least_db: float
) -> None:
    distances = [psnr(image, cycles) for _, image, cycles in pairs(quality, folder)]
    assert len(distances) == 16
    assert np.mean(distances) >= mean_db
    assert min(distances) >= least_db


def test_structure_is_that_of_cycles(standard: list[Pair]) -> None:
    pytest.importorskip("skimage", reason="scikit-image is not installed")
    found = [ssim(image, cycles) for _, image, cycles in standard]
    assert np.mean(found) >= 0.98
    assert min(found) >= 0.97


def test_each_object_has_its_mean_colour(standard: list[Pair]) -> None:
    n = 0
    rasters = masks([scene for scene, _, _ in standard])
    for (scene, image, cycles), ids in zip(standard, rasters, strict=True):
        here, there = linear(image), linear(cycles)
        for number in range(1, len(scene["objects"]) + 1):
            mask = ids == number
            own, wanted = here[mask].mean(axis=0), there[mask].mean(axis=0)
            within = np.maximum(0.03 * wanted, 0.005)
            assert np.all(np.abs(own - wanted) <= within), (scene["image_filename"], number, own, wanted)
            n += 1
    assert n > 100


def test_the_ground_at_feet_has_its_light(standard: list[Pair]) -> None:
    """PSNR hides it: metal mirrors its own shadow, and no light comes from below it."""
    found: dict[str, list[float]] = {"metal": [], "rubber": []}
    with NativeRenderer() as renderer:
        passes = dict(renderer.passes((i, scene) for i, (scene, _, _) in enumerate(standard)))
    for i, (scene, image, cycles) in enumerate(standard):
        for each in features(scene, passes[i]):
            if each.ring is not None:
                found[each.material].append(excess_light(image, cycles, each.ring))
    assert len(found["metal"]) >= 30
    assert abs(np.mean(found["metal"])) <= 0.02
    assert min(found["metal"]) >= -0.12
    assert max(found["metal"]) <= 0.07
    assert abs(np.mean(found["rubber"])) <= 0.04


@pytest.mark.parametrize(("quality", "rubber", "metal"), [("draft", 1.0, 1.9), ("standard", 0.75, 1.45)])
def test_objects_show_little_grain(quality: str, rubber: float, metal: float) -> None:
    """Cycles at 16 samples, denoised, has 0.6 and 1.1; metal mirrors edges, which count too."""
    found = []
    with NativeRenderer(quality=quality) as renderer:
        passes = dict(renderer.passes(enumerate(reference_scenes(HELD_BACK))))
    for i, (scene, image, _) in enumerate(pairs(quality, HELD_BACK)):
        found += [
            (each.material, grain(image, each.inside))
            for each in features(scene, passes[i])
            if each.inside is not None
        ]
    means = {name: np.mean(values) for name, values in by_material(found).items()}
    assert means["rubber"] <= rubber
    assert means["metal"] <= metal


def masks(scenes: list[Mapping[str, Any]]) -> npt.NDArray[np.uint8]:
    """(N, height, width) which object each pixel shows, from 1; 0 none."""
    world = read_world()
    whole = deepcopy(scenes)
    for scene in whole:
        # The engine's reader asks for what a renderer has no use for.
        towards = scene.setdefault("directions", {"right": [1, 0, 0], "behind": [0, 1, 0]})
        towards["left"], towards["front"] = ([-x for x in towards[name]] for name in ("right", "behind"))
        towards["above"], towards["below"] = [0, 0, 1], [0, 0, -1]
        scene["split"] = "look"
        for each in scene["objects"]:
            each["pixel_coords"] = [0, 0, 1.0]
    data = json.dumps({"scenes": whole}).encode()
    return object_ids(world, SceneBatch.from_json(world.vocabulary, data, file="look"))
