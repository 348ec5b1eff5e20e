"""Images: those that were built pass; missing, damaged, blank and small ones do not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from painting import PaintedRenderer
from PIL import Image
from spoiling import Plant, Spoilt, check_faults

from clevrhope.audit import CheckResult, audit
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build


@pytest.fixture(scope="module")
def painted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few images of each pool, as PNG and HDF5."""
    out = tmp_path_factory.mktemp("images") / "painted"
    config = PRESETS["demo"]
    sizes = replace(config.sizes, train=36, complex_iid=18, complex_ood=4, minimal_places=2)
    request = Request(out=out, hops=("rubber_cylinder",), config=replace(config, sizes=sizes), seed=1)
    build(request, make_renderer=lambda settings, workers: PaintedRenderer())
    return out


@pytest.fixture
def images(painted: Path, tmp_path: Path) -> Spoilt:
    return Spoilt.copy(painted, tmp_path / "images")


def checks(root: Path) -> dict[str, CheckResult]:
    return {each.name: each for each in audit(root).checks}


def first_png(data: Spoilt) -> Path:
    return min(data.path("images/train").glob("*.png"))


def test_images_that_show_their_scenes_pass(painted: Path) -> None:
    found = checks(painted)
    not_made_here = {"palette", "passes", "scenes from CLEVR", "added questions"}
    # The folder has no suites, no questions over several images, and no episodes.
    not_made_here |= {name for name in found if name.startswith(("pair", "several images", "nonce words"))}
    assert {name for name, each in found.items() if each.result == "not done"} == not_made_here
    assert all(each.result == "passed" for name, each in found.items() if name not in not_made_here)
    assert found["images"].n_checked == len(list(painted.glob("images/*/*.png")))


def test_without_images_it_says_so(clean: Path) -> None:
    found = checks(clean)
    assert found["images"].result == "not done"
    assert "no images were rendered" in found["images"].note


def cut_off(data: Spoilt) -> None:
    path = first_png(data)
    path.write_bytes(path.read_bytes()[:300])
    data.sign()


def missing(data: Spoilt) -> None:
    """The manifest forgets it too: the image check has to notice by itself."""
    path = first_png(data)
    path.unlink()
    data.manifest(lambda raw: raw["files"].pop(path.relative_to(data.root).as_posix()))


def row_missing(data: Spoilt) -> None:
    with h5py.File(data.path("images/train.h5"), "r+") as file:
        indices = file["indices"][:]
        del file["indices"]
        file["indices"] = indices[1:]
    data.sign()


def repainted(change: Callable[[Image.Image], Image.Image]) -> Plant:
    """A plant that replaces an image."""

    def plant(data: Spoilt) -> None:
        path = first_png(data)
        with Image.open(path) as image:
            changed = change(image)
        changed.save(path)
        data.sign()

    return plant


def one_pixel_lighter(image: Image.Image) -> Image.Image:
    pixels = np.array(image)
    pixels[0, 0] += 1
    return Image.fromarray(pixels)


FAULTS: dict[str, Plant] = {
    "missing": missing,
    "row missing": row_missing,
    "blank": repainted(lambda image: Image.new("RGB", image.size, (90, 90, 90))),
    "small": repainted(lambda image: image.resize((240, 160))),
    "unlike HDF5": repainted(one_pixel_lighter),
    "cut off": cut_off,
}


@pytest.mark.parametrize("plant", FAULTS.values(), ids=FAULTS)
def test_an_image_that_is_none_is_named(images: Spoilt, plant: Plant) -> None:
    plant(images)
    check_faults(images.root)
