"""How near native images of meshes come to Cycles' of 512 samples, and how long they take."""

from __future__ import annotations

import json

import numpy as np
import pytest
from knots import knot

from benchmarks.reference_images import REFERENCE_FOLDER, psnr, reference_image, reference_scenes
from benchmarks.render_measures import linear
from clevrhope.images.native import NativeRenderer
from clevrhope.images.png import read_png
from clevrhope.look.definition import read_look
from clevrhope.look.mesh_files import read_mesh

pytestmark = pytest.mark.slow

#: Eight scenes with knots among primitives, of all the materials that the native renderer supports.
MESHES = REFERENCE_FOLDER.parent / "look_meshes"


@pytest.fixture(scope="module")
def renderer() -> NativeRenderer:
    return NativeRenderer(look=read_look(properties=MESHES / "properties.json"))


def test_the_mesh_is_the_formulas() -> None:
    points, _, triangles = knot()
    mesh = read_mesh(MESHES / "Knot.glb")
    assert len(mesh["faces"]) == len(triangles) == 5_120
    assert np.sort(mesh["vertices"], axis=0) == pytest.approx(np.sort(points, axis=0), abs=2e-6)
    scenes = reference_scenes(MESHES)
    assert all(any(each["shape"] == "knot" for each in scene["objects"]) for scene in scenes)
    materials = {each["material"] for scene in scenes for each in scene["objects"]}
    assert materials == set(json.loads((MESHES / "properties.json").read_text())["materials"])


def test_standard_images_of_meshes_come_close_to_cycles(renderer: NativeRenderer) -> None:
    scenes = reference_scenes(MESHES)
    distances = []
    for number, image in renderer.render(enumerate(scenes)):
        distances.append(psnr(image, read_png(reference_image(number, MESHES))))
    assert len(distances) == 8
    assert np.mean(distances) >= 40.0
    assert min(distances) >= 37.0


def test_meshes_have_their_colours(renderer: NativeRenderer) -> None:
    """Each roughly, for a thin tube of metal shows little but glints; all together closely."""
    scenes = reference_scenes(MESHES)
    masks = {number: passes.mask for number, passes in renderer.passes(enumerate(scenes))}
    ratios = []
    for number, image in renderer.render(enumerate(scenes)):
        ours, cycles = (linear(each) for each in (image, read_png(reference_image(number, MESHES))))
        for k, each in enumerate(scenes[number]["objects"]):
            if each["shape"] == "knot":
                own = masks[number] == k
                ratios.append(ours[own].mean() / cycles[own].mean())
    assert len(ratios) >= 12
    assert ratios == pytest.approx(np.ones(len(ratios)), abs=0.1)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.03)
