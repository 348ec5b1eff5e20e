"""Masks, depths and normals of both renderers: against each other, and against facts of the scenes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from things import overlap, thing

from benchmarks.reference_images import reference_scenes
from clevrhope.audit.checks.images import without_outlines
from clevrhope.errors import ConfigError, SceneError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.blender.passes import read_exr
from clevrhope.images.native import NativeRenderer
from clevrhope.images.passes import Passes, from_bytes, parse_passes, to_bytes
from clevrhope.images.settings import BlenderSettings
from wording import check_refused, refused

HEIGHT, WIDTH = 160, 240
NATIVE = NativeRenderer(width=WIDTH, height=HEIGHT)
#: Scenes of 3 to 10 objects, all shapes, some hidden by others.
CHOSEN = (1, 3, 5, 7)
#: The greatest part of a Blender unit by which depths within outlines differ: facets of the largest spheres.
DEPTH_OFF = 0.003
#: Where objects are not rounded, normals agree to half precision; on facets and bevels they differ by less.
ANGLE_OFF_DEG = 4.0


@pytest.fixture(scope="module")
def scenes() -> list[dict[str, object]]:
    return [dict(reference_scenes()[number]) for number in CHOSEN]


@pytest.fixture(scope="module")
def native(scenes: list[dict[str, object]]) -> list[Passes]:
    return [passes for _, passes in NATIVE.passes(enumerate(scenes))]


@pytest.fixture(scope="module")
def blender() -> Iterator[CyclesRenderer]:
    settings = BlenderSettings(width=WIDTH, height=HEIGHT, samples=4, device="cpu")
    with CyclesRenderer(settings=settings, workers=1) as renderer:
        yield renderer


@pytest.fixture(scope="module")
def cycles(scenes: list[dict[str, object]], blender: CyclesRenderer) -> list[Passes]:
    found = dict(blender.passes(enumerate(scenes)))
    return [found[number] for number in range(len(scenes))]


def test_masks_of_both_renderers_are_the_same_but_for_single_pixels(
    native: list[Passes], cycles: list[Passes]
) -> None:
    for a, b in zip(native, cycles, strict=True):
        for number in range(len(a.boxes)):
            ours, theirs = a.mask == number, b.mask == number
            assert overlap(ours, theirs) >= 0.98
        assert (a.mask != b.mask).sum() <= 2 * len(a.boxes)
        assert np.abs(a.boxes - b.boxes).max() <= 1
        assert np.abs(a.alone_px - b.alone_px).max() <= 5


def test_depths_of_both_renderers_agree(native: list[Passes], cycles: list[Passes]) -> None:
    for a, b in zip(native, cycles, strict=True):
        off = np.abs(a.depth - b.depth)
        assert off[inner(a, b)].max() <= DEPTH_OFF
        ground = (a.mask == 255) & (b.mask == 255)
        assert off[ground].max() <= 0.001
        assert a.depth.min() > 1


def test_normals_of_both_renderers_agree(native: list[Passes], cycles: list[Passes]) -> None:
    for a, b in zip(native, cycles, strict=True):
        cosine = (a.normal.astype(np.float64) * b.normal.astype(np.float64)).sum(axis=-1)
        angle_deg = np.degrees(np.arccos(np.clip(cosine[inner(a, b)], -1.0, 1.0)))
        assert np.quantile(angle_deg, 0.995) <= ANGLE_OFF_DEG
        assert np.median(angle_deg) <= 0.5


def inner(a: Passes, b: Passes) -> npt.NDArray[np.bool_]:
    """Pixels of the same object in both, less outlines."""
    shown = [without_outlines((each.mask + 1).astype(np.uint8)) for each in (a, b)]
    return (shown[0] > 0) & (shown[0] == shown[1])


@pytest.mark.parametrize("renderer", ["native", "cycles"])
def test_arrays_are_what_they_say(renderer: str, request: pytest.FixtureRequest) -> None:
    for passes in request.getfixturevalue(renderer):
        arrays = (passes.mask, passes.depth, passes.normal)
        assert [array.dtype for array in arrays] == [np.uint8, np.float32, np.float16]
        assert passes.mask.shape == passes.depth.shape == passes.normal.shape[:2] == (HEIGHT, WIDTH)
        objects = passes.mask != 255
        length = np.linalg.norm(passes.normal.astype(np.float32), axis=-1)
        assert np.abs(length[objects] - 1.0).max() < 0.001
        assert (passes.normal[~objects] == 0).all()
        assert (passes.depth / 2.0**-12 % 1 == 0).all()
        for number, (x, y, width, height) in enumerate(passes.boxes.tolist()):
            rows, columns = np.nonzero(passes.mask == number)
            assert (x, x + width - 1) == (columns.min(), columns.max())
            assert (y, y + height - 1) == (rows.min(), rows.max())
            assert passes.visible_px[number] == len(rows) <= passes.alone_px[number]


CUBE = thing(shape="cube", rotation=0.0)
#: From straight in front: the camera's axis runs along y, and downwards.
FRONT = {"camera": {"location": [0.0, -10.0, 4.0]}}


@pytest.mark.parametrize("kind", ["native", "blender"])
def test_a_cube_of_which_all_is_known(kind: str, blender: CyclesRenderer) -> None:
    renderer = blender if kind == "blender" else NATIVE
    scene = {"objects": [CUBE, {**CUBE, "size": "small", "3d_coords": [0.0, -1.3, 0.35]}]}
    ((_, passes),) = renderer.passes([(0, {**FRONT, **scene})])
    ahead = np.asarray([0.0, 10.0, -4.0]) / np.hypot(10.0, 4.0)
    focal_px = 35.0 / 32.0 * WIDTH
    # A place on the upper side of the large cube, which is flat and seen from above.
    point = np.asarray([0.1, 0.1, 1.4]) - np.asarray([0.0, -10.0, 4.0])
    depth = point @ ahead
    right, up = np.asarray([1.0, 0.0, 0.0]), np.cross([1.0, 0.0, 0.0], ahead)
    u = int(WIDTH / 2 + focal_px * (point @ right) / depth)
    v = int(HEIGHT / 2 - focal_px * (point @ up) / depth)
    assert passes.mask[v, u] == 0
    # Half a pixel off, on a plane that is seen at a low angle.
    assert passes.depth[v, u] == pytest.approx(depth, abs=0.15)
    assert np.abs(passes.normal[v, u] - [0.0, 0.0, 1.0]).max() < 0.02
    # The small one stands in front, hides part of the large one and is hidden by nothing.
    assert passes.visible_px[1] == passes.alone_px[1]
    assert 0.5 < passes.visible_px[0] / passes.alone_px[0] < 0.98
    front = passes.normal[passes.mask == 1]
    assert (np.abs(front - [0.0, -1.0, 0.0]).max(axis=1) < 0.02).sum() > 50


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["native", "blender"])
def test_alone_is_what_a_scene_of_that_object_shows(kind: str, blender: CyclesRenderer) -> None:
    renderer = blender if kind == "blender" else NATIVE
    scene = dict(reference_scenes()[5])
    ((_, together),) = renderer.passes([(0, scene)])
    hidden = np.flatnonzero(together.visible_px < together.alone_px)
    assert len(hidden) >= 1
    singles = [(int(n), {**scene, "objects": [scene["objects"][n]]}) for n in hidden[:2]]
    for number, passes in renderer.passes(singles):
        assert passes.visible_px.tolist() == [together.alone_px[number]]


def test_bytes_give_the_same_back(native: list[Passes]) -> None:
    for passes in native:
        again = from_bytes(to_bytes(passes))
        for name in ("mask", "depth", "normal", "boxes", "visible_px", "alone_px"):
            np.testing.assert_array_equal(getattr(again, name), getattr(passes, name))


def test_more_objects_than_a_mask_has_numbers_for(blender: CyclesRenderer) -> None:
    from clevrhope.images.blender.pool import ScenesFailedError

    with refused(ScenesFailedError):
        list(blender.passes([("many", {"objects": [CUBE] * 256})]))
    with refused(SceneError):
        list(NativeRenderer().passes([("many", {"objects": [CUBE] * 65})]))


def test_names_of_passes() -> None:
    assert parse_passes(["normal", "mask", "mask"], "--passes") == ("mask", "normal")
    check_refused(ConfigError, parse_passes, ["dept"], "--passes")


@pytest.mark.slow
def test_exr_files_of_other_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="one part"):
        read_exr(b"v/1\x01\x02\x10\x00\x00" + bytes(64))
