"""The engine's count of visible pixels against what Blender shows: two programs, one camera, the same shapes.

A raster that covers other pixels than the image would call objects visible that are hidden, or the reverse.
"""

import json

import numpy as np
import numpy.typing as npt
import pytest
from things import overlap

from clevrhope._core import object_ids
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.settings import BlenderSettings
from clevrhope.scenes import read_world, sample_scenes

N_SCENES = 12
#: An object of fewer pixels is a sliver, on which a row more or less weighs too much for a ratio.
SLIVER_PX = 400
Masks = tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def masks() -> list[Masks]:
    """For each object of each scene its pixels as the engine has them, and as Cycles has them."""
    world = read_world()
    batch = sample_scenes(range(400), seed=11, pool="raster", world=world)
    scenes = json.loads(batch.to_json())
    # Those with the most hidden objects first: an outline alone is the easy part.
    hidden = [sum(o["visible_fraction"] < 0.7 for o in scene["objects"]) for scene in scenes]
    chosen = np.argsort(hidden)[::-1][:N_SCENES].astype(np.uint32)
    assert min(hidden[i] for i in chosen) >= 1
    engine = object_ids(world, batch.take(np.ascontiguousarray(chosen)))
    with CyclesRenderer(settings=BlenderSettings(device="cpu")) as renderer:
        cycles = dict(renderer.passes((k, scenes[i]) for k, i in enumerate(chosen)))
    return [
        (engine[k] == number + 1, cycles[k].mask == number)
        for k, i in enumerate(chosen)
        for number in range(len(scenes[i]["objects"]))
    ]


def outline_px(mask: npt.NDArray[np.bool_]) -> int:
    """Pixel sides between inside and outside."""
    padded = np.pad(mask, 1)
    return int(np.sum(padded[1:] != padded[:-1]) + np.sum(padded[:, 1:] != padded[:, :-1]))


def test_masks_of_objects_are_those_of_the_image(masks: list[Masks]) -> None:
    assert len(masks) > 60
    for engine, cycles in masks:
        if cycles.sum() >= SLIVER_PX:
            assert overlap(engine, cycles) >= 0.98


def test_slivers_differ_by_little_along_their_outline(masks: list[Masks]) -> None:
    slivers = [(engine, cycles) for engine, cycles in masks if cycles.sum() < SLIVER_PX]
    assert len(slivers) >= 5
    for engine, cycles in slivers:
        assert np.sum(engine != cycles) <= 0.15 * outline_px(cycles)


def test_no_object_is_visible_in_one_and_hidden_in_the_other(masks: list[Masks]) -> None:
    for engine, cycles in masks:
        counts = sorted((int(engine.sum()), int(cycles.sum())))
        assert not (counts[0] < 90 and counts[1] > 100)
