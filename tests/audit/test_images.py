"""Images: those that show their scenes pass, real ones too; missing, blank and exchanged ones do not."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from painting import PaintedRenderer
from PIL import Image
from spoiling import Spoilt

from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit import Check, audit
from clevrhope.audit.checks import reference_render
from clevrhope.audit.checks.cameras import Cameras
from clevrhope.audit.checks.images import LEAST_PIXELS, Colours, check_images, without_outlines
from clevrhope.audit.checks.reference_render import ReferenceRender
from clevrhope.audit.folder import AuditFolder
from clevrhope.config.presets import PRESETS
from clevrhope.images.native import NativeRenderer
from clevrhope.look.definition import Look, read_look
from clevrhope.pipeline import Request, build
from clevrhope.runtime import assets
from clevrhope.scenes import read_world

LOOK = Path(__file__).parents[1] / "data" / "look"


@pytest.fixture(scope="module")
def painted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few images of each pool, as PNG and HDF5."""
    out = tmp_path_factory.mktemp("pictures") / "painted"
    config = PRESETS["demo"]
    sizes = replace(config.sizes, train=36, complex_iid=18, complex_ood=4, minimal_places=2)
    request = Request(out=out, hops=("rubber_cylinder",), config=replace(config, sizes=sizes), seed=1)
    build(request, make_renderer=lambda settings, workers: PaintedRenderer())
    return out


@pytest.fixture
def images(painted: Path, tmp_path: Path) -> Spoilt:
    return Spoilt.copy(painted, tmp_path / "pictures")


def checks(root: Path) -> dict[str, Check]:
    return {each.name: each for each in audit(root).checks}


def of_objects(root: Path) -> Check:
    """What is found in objects' pixels alone."""
    _, objects = check_images(AuditFolder(root), Cameras(), lambda _: None)
    return objects


def first_png(data: Spoilt, pool: str = "train", place: int = 0) -> Path:
    return sorted(data.path(f"images/{pool}").glob("*.png"))[place]


def test_images_that_show_their_scenes_pass(painted: Path) -> None:
    found = checks(painted)
    not_made_here = {"palette", "passes", "preliminary sets", "scenes from CLEVR", "added questions"}
    # The folder has no suites, and no questions over several images.
    not_made_here |= {name for name in found if name.startswith(("pair", "several images"))}
    assert {name for name, each in found.items() if each.result == "not done"} == not_made_here
    assert all(each.result == "passed" for name, each in found.items() if name not in not_made_here)
    assert found["images"].n_checked == len(list(painted.glob("images/*/*.png")))
    assert found["objects in images"].n_checked > 2 * found["images"].n_checked


def test_without_images_it_says_so(clean: Path) -> None:
    found = checks(clean)
    assert found["images"].result == found["objects in images"].result == "not done"
    assert "no images were rendered" in found["images"].note


def missing(data: Spoilt) -> Path:
    path = first_png(data)
    path.unlink()
    # The manifest forgets it too: the image check has to notice by itself.
    data.manifest(lambda raw: raw["files"].pop(path.relative_to(data.root).as_posix()))
    return path


def cut_off(data: Spoilt) -> Path:
    path = first_png(data)
    path.write_bytes(path.read_bytes()[:300])
    data.sign()
    return path


def blank(data: Spoilt) -> Path:
    path = first_png(data)
    Image.new("RGB", (480, 320), (90, 90, 90)).save(path)
    data.sign()
    return path


def small(data: Spoilt) -> Path:
    path = first_png(data)
    Image.open(path).resize((240, 160)).save(path)
    data.sign()
    return path


def unlike_hdf5(data: Spoilt) -> Path:
    path = first_png(data)
    with Image.open(path) as image:
        pixels = np.array(image)
    pixels[0, 0] += 1
    Image.fromarray(pixels).save(path)
    data.sign()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("plant", [missing, cut_off, blank, small, unlike_hdf5])
def test_an_image_that_is_none_is_named(images: Spoilt, plant: Callable[[Spoilt], Path]) -> None:
    path = plant(images)
    check = checks(images.root)["images"]
    assert check.result == "failed"
    index = int(path.stem.rpartition("_")[2])
    assert {fault.index for fault in check.faults} == {index}


def test_an_image_that_is_not_there_is_told_as_that(images: Spoilt) -> None:
    path = missing(images)
    (fault, *_) = checks(images.root)["images"].faults
    assert (fault.file, fault.problem) == (path.relative_to(images.root).as_posix(), "no such image")
    assert fault.value == "the file is not there"


def exchange_two(data: Spoilt) -> set[int]:
    """Exchanges the first images of the train pool, which then has no HDF5; their indices."""
    for path in data.path("images").glob("*.h5"):
        path.unlink()
    data.manifest(lambda raw: [raw["files"].pop(name) for name in list(raw["files"]) if is_packed(name)])
    a, b = first_png(data), first_png(data, place=1)
    content = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(content)
    data.sign()
    return {int(path.stem.rpartition("_")[2]) for path in (a, b)}


def test_two_images_exchanged_are_both_named(images: Spoilt) -> None:
    indices = exchange_two(images)
    found = checks(images.root)
    assert found["images"].result == "passed"
    assert {fault.index for fault in found["objects in images"].faults} == indices


def test_without_a_render_to_hold_them_against_they_are_counted_in_a_note(
    images: Spoilt, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange_two(images)
    look = read_look()
    own = deepcopy(dict(look.look))
    own["shapes"]["cube"]["edge_exponent"] = 2.0
    monkeypatch.setattr(reference_render, "read_look", lambda **_: Look(own, look.properties))
    found = of_objects(images.root)
    assert (found.result, found.n_faults) == ("passed", 0)
    assert re.match("[1-9][0-9]* may have another colour, but the native renderer cannot render", found.note)


def test_after_many_faults_no_more_scenes_are_rendered(
    images: Spoilt, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange_two(images)
    monkeypatch.setattr("clevrhope.audit.checks.images.MOST_FAULTS", 1)
    found = of_objects(images.root)
    assert found.result == "failed"
    assert len({fault.index for fault in found.faults}) == 1
    assert re.match("[1-9][0-9]* more may have another colour; after 1 faults", found.note)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few images by the native renderer; a brown metal cube in the fourth seems of another color."""
    out = tmp_path_factory.mktemp("pictures") / "rendered"
    config = PRESETS["demo"]
    sizes = replace(config.sizes, train=54, complex_iid=18, complex_ood=4, minimal_places=1)
    config = replace(config, sizes=sizes)
    request = Request(out=out, hops=("rubber_cylinder",), splits=("train",), config=config, seed=33)
    build(request, make_renderer=lambda settings, workers: NativeRenderer(quality="standard"))
    return out


def first_scene(root: Path) -> dict[str, Any]:
    scene: dict[str, Any] = json.loads((root / "scenes/train/0000.json").read_text())["scenes"][0]
    return scene


def test_an_object_that_its_neighbours_light_otherwise_passes(rendered: Path) -> None:
    world, colours = read_world(), Colours(properties_colours())
    data = (rendered / "scenes/train/0000.json").read_bytes()
    rasters = object_ids(world, SceneBatch.from_json(world.vocabulary, data, file="rendered"))
    seems = []
    for scene, raster in zip(json.loads(data)["scenes"], rasters, strict=True):
        inner = without_outlines(raster)
        with Image.open(rendered / "images/train" / scene["image_filename"]) as image:
            image = np.asarray(image.convert("RGB"))
        seems += [
            colours.are_of(each["color"], image[inner == number])
            for number, each in enumerate(scene["objects"], 1)
        ]
    assert False in seems
    found = of_objects(rendered)
    assert (found.result, found.note) == ("passed", "")
    assert found.n_checked > 10


def test_exchanged_renders_are_both_named(rendered: Path, tmp_path: Path) -> None:
    data = Spoilt.copy(rendered, tmp_path / "exchanged")
    indices = exchange_two(data)
    assert {fault.index for fault in of_objects(data.root).faults} == indices


@pytest.mark.slow
def test_an_object_that_is_recoloured_in_its_scene_is_named(rendered: Path, tmp_path: Path) -> None:
    first = first_scene(rendered)
    n_objects = len(first["objects"])
    n_seen = 0
    for number in range(n_objects):
        data = Spoilt.copy(rendered, tmp_path / str(number))

        def recolour(rows: list[dict[str, Any]], number: int = number) -> None:
            each = rows[0]["objects"][number]
            each["color"] = "cyan" if each["color"] != "cyan" else "red"

        data.scenes("train", recolour)
        faults = of_objects(data.root).faults
        assert all(
            f"object {number}, a " in fault.problem and fault.index == first["image_index"]
            for fault in faults
        )
        n_seen += len(faults)
    # One or two may show too few pixels to be looked at.
    assert n_seen >= n_objects - 2 > 0


@pytest.mark.slow
def test_a_native_draft_and_cycles_show_objects_alike() -> None:
    """As they are, by the bound beyond which an object counts as another; recoloured, all are beyond it."""
    for scene, raster in list(look_scenes())[::3]:
        with Image.open(LOOK / scene["image_filename"]) as image:
            image = np.asarray(image.convert("RGB"))
        inner = without_outlines(raster)
        numbers = [
            number
            for number in range(1, len(scene["objects"]) + 1)
            if np.count_nonzero(inner == number) >= LEAST_PIXELS
        ]
        second = ReferenceRender((320, 480))
        assert second.different_objects(scene, image, inner, numbers) == []
        for each in scene["objects"]:
            each["color"] = {"brown": "red", "red": "brown", "yellow": "brown"}.get(each["color"], "yellow")
        assert second.different_objects(scene, image, inner, numbers) == numbers


def is_packed(name: str) -> bool:
    return name.startswith("images/") and name.endswith(".h5")


def test_a_row_that_hdf5_lacks_is_named(images: Spoilt) -> None:
    import h5py

    with h5py.File(images.path("images/train.h5"), "r+") as file:
        indices = file["indices"][:]
        del file["indices"]
        file["indices"] = indices[1:]
    images.sign()
    check = checks(images.root)["images"]
    assert [(fault.file, fault.index) for fault in check.faults] == [("images/train.h5", int(indices[0]))]


def look_scenes() -> Iterator[tuple[dict[str, Any], npt.NDArray[np.uint8]]]:
    """The reference scenes, and which object is seen where."""
    world = read_world()
    scenes = json.loads((LOOK / "scenes.json").read_text())["scenes"]
    for scene in scenes:
        towards = scene["directions"]
        opposite = {"left": towards["right"], "front": towards["behind"]}
        towards |= {name: [-x for x in to] for name, to in opposite.items()}
        towards |= {"above": [0, 0, 1], "below": [0, 0, -1]}
        scene["split"] = "look"
        for each in scene["objects"]:
            each["pixel_coords"] = [0, 0, 1.0]
    data = json.dumps({"scenes": scenes}).encode()
    rasters = object_ids(world, SceneBatch.from_json(world.vocabulary, data, file="look"))
    return zip(scenes, rasters, strict=True)


def properties_colours() -> dict[str, list[float]]:
    found: dict[str, list[float]] = json.loads((assets.blender_assets() / "properties.json").read_bytes())[
        "colors"
    ]
    return found


def test_every_object_of_rendered_images_has_its_colour_and_no_other() -> None:
    names = properties_colours()
    colours = Colours(names)
    n = 0
    for scene, raster in look_scenes():
        with Image.open(LOOK / scene["image_filename"]) as image:
            image = np.asarray(image.convert("RGB"))
        inner = without_outlines(raster)
        for number, each in enumerate(scene["objects"], 1):
            pixels = image[inner == number]
            if len(pixels) < LEAST_PIXELS:
                continue
            fits = [name for name in names if colours.are_of(name, pixels)]
            assert fits == [each["color"]], (scene["image_filename"], number, pixels.mean(axis=0))
            n += 1
    assert n > 100
