"""Each lobe of a material under each light by itself, on one sphere: native images beside Cycles'.

Whole scenes hide what cancels out. Here a look has one light, and one lobe instead of its material.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from things import at, thing

from benchmarks.reference_images import psnr, reference_image, reference_scenes
from benchmarks.render_measures import linear
from clevrhope._core import NativeStudio
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.native import NativeRenderer
from clevrhope.images.placement import place
from clevrhope.images.png import read_png
from clevrhope.images.settings import BlenderSettings
from clevrhope.look.definition import Look, read_look

pytestmark = pytest.mark.slow

pytest.importorskip("bpy", reason="Blender is not installed: pip install '.[render]'")

WIDTH, HEIGHT = 120, 80
CYCLES = BlenderSettings(
    width=WIDTH, height=HEIGHT, samples=144, denoise=False, adaptive_threshold=0.0, device="cpu"
)
LIGHTS = ("key", "fill", "back", "sun")
GLOSSY = {"node": "glossy", "distribution": "ggx", "color": "object", "anisotropy": 0.25}
LOBES: Mapping[str, Mapping[str, Any]] = {
    "diffuse": {"node": "diffuse", "color": "object", "roughness": 0.0},
    "sheen": {"node": "sheen", "color": "object", "sigma": 0.6},
    "coat": {"node": "glossy", "distribution": "beckmann", "color": [0.8, 0.8, 0.8], "roughness": 0.5916},
    "broad": {**GLOSSY, "roughness": 0.4472},
    "sharp": {**GLOSSY, "roughness": 0.1},
}
#: Every lobe under the key light, and an even and a mirroring one under each other light.
PAIRS = [(lobe, "key") for lobe in LOBES] + [
    (lobe, light) for light in LIGHTS[1:] for lobe in ("diffuse", "sharp")
]
SCENE: Mapping[str, Any] = {"objects": [thing(color="yellow", rotation=40.0, **at(0.3, -0.2))]}


def look_of(lobe: str, light: str) -> Look:
    """The look with one light, and rubber that is one lobe."""
    whole = read_look()
    data = json.loads(json.dumps(whole.look))
    data["lights"] = {light: data["lights"][light]}
    data["materials"]["rubber"]["shader"] = LOBES[lobe]
    return Look(data, whole.properties)


def traced(
    look: Look, scene: Mapping[str, Any], width: int, height: int, *, samples: int
) -> npt.NDArray[np.uint8]:
    studio = NativeStudio(json.dumps(look.look).encode(), file="look.json")
    placement = json.dumps(asdict(place(scene, look))).encode()
    return studio.path_trace(placement, width=width, height=height, samples=samples)


@pytest.mark.parametrize(("lobe", "light"), PAIRS)
def test_a_lobe_under_a_light_is_that_of_cycles(lobe: str, light: str) -> None:
    look = look_of(lobe, light)
    with CyclesRenderer(look=look, settings=CYCLES, workers=1) as renderer:
        ((_, cycles),) = renderer.render([(0, SCENE)])
    with NativeRenderer(look=look, width=WIDTH, height=HEIGHT, quality="high") as renderer:
        ((_, fast),) = renderer.render([(0, SCENE)])
        ((_, passes),) = renderer.passes([(0, SCENE)])
    paths = traced(look, SCENE, WIDTH, HEIGHT, samples=144)
    assert psnr(paths, cycles) >= 44.0
    assert psnr(fast, cycles) >= 41.0
    # The sharpest lobe's highlight is six pixels, most of them as white as can be, so that one ray tells.
    for mask, of_paths, of_fast in ((passes.mask == 255, 0.01, 0.01), (passes.mask == 0, 0.02, 0.08)):
        assert mask.sum() > 200
        wanted = linear(cycles)[mask].mean(axis=0)
        for image, share in ((paths, of_paths), (fast, of_fast)):
            found = linear(image)[mask].mean(axis=0)
            assert np.all(np.abs(found - wanted) <= np.maximum(share * wanted, 0.0025)), (found, wanted)


def test_plain_paths_make_the_images_of_cycles() -> None:
    """With 64 samples; 256, which take half a minute, come nearer still (docs/rendering.md)."""
    look, scene = read_look(), reference_scenes()[0]
    image = traced(look, scene, 480, 320, samples=64)
    cycles = read_png(reference_image(0))
    assert psnr(image, cycles) >= 45.0
    assert abs(image.mean() - cycles.mean()) < 0.3
