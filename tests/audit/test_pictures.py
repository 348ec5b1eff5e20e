"""Pictures: those that show their scenes pass, real ones too; missing, blank and exchanged ones do not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from painting import PaintedRenderer
from PIL import Image
from spoiling import Spoilt

from clevrhope import assets
from clevrhope._core import SceneBatch, object_ids
from clevrhope.audit import Check, audit
from clevrhope.audit.pictures import LEAST_PIXELS, Colours, without_outlines
from clevrhope.build import Request, build
from clevrhope.config import PRESETS
from clevrhope.scenes import read_world

LOOK = Path(__file__).parents[1] / "data" / "look"


@pytest.fixture(scope="module")
def painted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few pictures of each pool, as PNG and HDF5."""
    out = tmp_path_factory.mktemp("pictures") / "painted"
    config = PRESETS["demo"]
    sizes = replace(config.sizes, train=36, complex_iid=18, complex_ood=4, minimal_places=2)
    request = Request(out=out, hops=("rubber_cylinder",), config=replace(config, sizes=sizes), seed=1)
    build(request, make_renderer=lambda settings, workers: PaintedRenderer())
    return out


@pytest.fixture
def pictures(painted: Path, tmp_path: Path) -> Spoilt:
    return Spoilt.copy(painted, tmp_path / "pictures")


def checks(root: Path) -> dict[str, Check]:
    return {each.name: each for each in audit(root).checks}


def first_png(data: Spoilt, pool: str = "train", place: int = 0) -> Path:
    return sorted(data.path(f"images/{pool}").glob("*.png"))[place]


def test_pictures_that_show_their_scenes_pass(painted: Path) -> None:
    found = checks(painted)
    not_made_here = {"palette", "preliminary sets", "scenes from CLEVR"}
    assert {name for name, each in found.items() if each.result == "not done"} == not_made_here
    assert all(each.result == "passed" for name, each in found.items() if name not in not_made_here)
    assert found["pictures"].n_checked == len(list(painted.glob("images/*/*.png")))
    assert found["objects in pictures"].n_checked > 2 * found["pictures"].n_checked


def test_without_pictures_it_says_so(clean: Path) -> None:
    found = checks(clean)
    assert found["pictures"].result == found["objects in pictures"].result == "not done"
    assert "no pictures were rendered" in found["pictures"].note


def missing(data: Spoilt) -> Path:
    path = first_png(data)
    path.unlink()
    # The manifest forgets it too: the picture check has to notice by itself.
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


@pytest.mark.parametrize("plant", [missing, cut_off, blank, small, unlike_hdf5])
def test_a_picture_that_is_none_is_named(pictures: Spoilt, plant: Callable[[Spoilt], Path]) -> None:
    path = plant(pictures)
    check = checks(pictures.root)["pictures"]
    assert check.result == "failed"
    index = int(path.stem.rpartition("_")[2])
    assert {fault.index for fault in check.faults} == {index}


def test_two_pictures_exchanged_are_both_named(pictures: Spoilt) -> None:
    for path in pictures.path("images").glob("*.h5"):
        path.unlink()
    pictures.manifest(lambda raw: [raw["files"].pop(name) for name in list(raw["files"]) if is_packed(name)])
    a, b = first_png(pictures), first_png(pictures, place=1)
    content = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(content)
    pictures.sign()
    found = checks(pictures.root)
    assert found["pictures"].result == "passed"
    assert {fault.index for fault in found["objects in pictures"].faults} == {
        int(path.stem.rpartition("_")[2]) for path in (a, b)
    }


def is_packed(name: str) -> bool:
    return name.startswith("images/") and name.endswith(".h5")


def test_a_row_that_hdf5_lacks_is_named(pictures: Spoilt) -> None:
    import h5py

    with h5py.File(pictures.path("images/train.h5"), "r+") as file:
        indices = file["indices"][:]
        del file["indices"]
        file["indices"] = indices[1:]
    pictures.sign()
    check = checks(pictures.root)["pictures"]
    assert [(fault.file, fault.index) for fault in check.faults] == [("images/train.h5", int(indices[0]))]


def test_every_object_of_rendered_pictures_has_its_colour_and_no_other() -> None:
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
    path = assets.blender_assets() / "properties.json"
    colours, names = Colours(path), json.loads(path.read_bytes())["colors"]
    n = 0
    for scene, raster in zip(scenes, rasters, strict=True):
        with Image.open(LOOK / scene["image_filename"]) as image:
            picture = np.asarray(image.convert("RGB"))
        inner = without_outlines(raster)
        for number, each in enumerate(scene["objects"], 1):
            pixels = picture[inner == number]
            if len(pixels) < LEAST_PIXELS:
                continue
            fits = [name for name in names if colours.are_of(name, pixels)]
            assert fits == [each["color"]], (scene["image_filename"], number, pixels.mean(axis=0))
            n += 1
    assert n > 100
