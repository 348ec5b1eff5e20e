"""The measure of images, and default images against those of 512 samples that come with the checkout."""

import numpy as np
import pytest

from benchmarks.reference_images import psnr, reference_image, reference_scenes
from benchmarks.render import measure_cycles
from clevrhope.images.png import read_png


def test_psnr_is_that_of_the_definition() -> None:
    black = np.zeros((2, 3, 3), dtype=np.uint8)
    grey = np.full((2, 3, 3), 10, dtype=np.uint8)
    assert psnr(black, black) == float("inf")
    assert psnr(black, grey) == pytest.approx(20 * np.log10(25.5))
    with pytest.raises(ValueError, match="different shapes"):
        psnr(black, grey[:1])


def test_reference_scenes_cover_the_world_and_have_their_images() -> None:
    scenes = reference_scenes()
    assert sorted(len(scene["objects"]) for scene in scenes) == sorted([3, 4, 5, 6, 7, 8, 9, 10] * 2)
    kinds = {(o["shape"], o["material"], o["size"]) for scene in scenes for o in scene["objects"]}
    assert len(kinds) == 12
    there = [path for i in range(len(scenes)) if (path := reference_image(i)).exists()]
    assert len(there) == 16
    assert all(read_png(path).shape == (320, 480, 3) for path in there)


@pytest.mark.slow
def test_a_default_image_comes_within_43_db_of_512_samples() -> None:
    (effort,), device = measure_cycles(2, ["standard"], device="cpu")
    assert effort.psnr_db_mean >= 43.0
    assert effort.seconds_per_image > 0.0
    assert device == "CPU"
