"""Images: those that were built pass; missing, damaged, blank and small ones do not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from painting import PaintedRenderer
from PIL import Image
from spoiling import Spoilt

from clevrhope.audit import CheckResult, audit
from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build

LOOK = Path(__file__).parents[1] / "data" / "look"


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


def first_png(data: Spoilt, pool: str = "train", place: int = 0) -> Path:
    return sorted(data.path(f"images/{pool}").glob("*.png"))[place]


def test_images_that_show_their_scenes_pass(painted: Path) -> None:
    found = checks(painted)
    not_made_here = {"palette", "passes", "scenes from CLEVR", "added questions"}
    # The folder has no suites, and no questions over several images.
    not_made_here |= {name for name in found if name.startswith(("pair", "several images"))}
    assert {name for name, each in found.items() if each.result == "not done"} == not_made_here
    assert all(each.result == "passed" for name, each in found.items() if name not in not_made_here)
    assert found["images"].n_checked == len(list(painted.glob("images/*/*.png")))


def test_without_images_it_says_so(clean: Path) -> None:
    found = checks(clean)
    assert found["images"].result == "not done"
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
@pytest.mark.parametrize(
    ("plant", "problem"),
    [
        (missing, "no such image"),
        (cut_off, "not a readable PNG file"),
        (blank, "blank"),
        (small, "not 480 x 320 pixels"),
        (unlike_hdf5, "not the pixels of"),
    ],
)
def test_an_image_that_is_none_is_named(
    images: Spoilt, plant: Callable[[Spoilt], Path], problem: str
) -> None:
    path = plant(images)
    check = checks(images.root)["images"]
    assert check.result == "failed"
    index = int(path.stem.rpartition("_")[2])
    assert {fault.index for fault in check.faults} == {index}
    assert problem in {fault.problem for fault in check.faults}


def test_an_image_that_is_not_there_is_told_as_that(images: Spoilt) -> None:
    path = missing(images)
    (fault, *_) = checks(images.root)["images"].faults
    assert (fault.file, fault.problem) == (path.relative_to(images.root).as_posix(), "no such image")
    assert fault.value == "the file is not there"


def test_a_row_that_hdf5_lacks_is_named(images: Spoilt) -> None:
    import h5py

    with h5py.File(images.path("images/train.h5"), "r+") as file:
        indices = file["indices"][:]
        del file["indices"]
        file["indices"] = indices[1:]
    images.sign()
    check = checks(images.root)["images"]
    assert [(fault.file, fault.index) for fault in check.faults] == [("images/train.h5", int(indices[0]))]
