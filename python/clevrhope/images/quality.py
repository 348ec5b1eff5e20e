"""Reference scenes and their 512-sample images in, seconds an image and its distance from them out."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import ConfigError, RenderError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.png import read_png
from clevrhope.images.renderer import Scene
from clevrhope.images.settings import RenderSettings
from clevrhope.runtime.assets import blender_assets


@dataclass(frozen=True)
class Quality:
    """What images cost and how good they are.

    Attributes:
        seconds_per_picture: wall clock over all workers with the look already loaded, divided by images.
        psnr_db: mean over the images.
        psnr_db_of: by the number of the reference scene.
        device: what was rendered on.
    """

    seconds_per_picture: float
    psnr_db: float
    psnr_db_of: Mapping[int, float]
    device: str


def psnr(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Peak signal to noise ratio of two images of 8 bits, in dB; infinite if they are the same.

    Raises:
        ValueError: they differ in shape.
    """
    if a.shape != b.shape:
        raise ValueError(f"images of different shapes: {a.shape} and {b.shape}")
    error = float(np.mean((a.astype(np.float64) - b.astype(np.float64)) ** 2))
    return float("inf") if error == 0.0 else 10.0 * float(np.log10(255.0**2 / error))


def ssim(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Structural similarity of two images of 8 bits, (height, width, 3); 1 if they are the same.

    As Wang et al., "Image Quality Assessment" (2004), measure it: Gaussian windows of sigma 1.5, constants
    0.01 and 0.03; the mean over the three channels.

    Raises:
        ConfigError: scikit-image is not installed.
        ValueError: they differ in shape, or are smaller than a window of 11 x 11 pixels.
    """
    try:
        from skimage.metrics import structural_similarity
    except ImportError as error:
        raise ConfigError(
            f"SSIM needs scikit-image, which is not installed ({error}): pip install 'clevrhope[bench]'"
        ) from error
    return float(
        structural_similarity(
            a,
            b,
            channel_axis=2,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            data_range=255,
        )
    )


def reference_folder() -> Path:
    """Where a checkout keeps the reference scenes and images; they are not part of the wheel."""
    return blender_assets().resolve().parent / "tests" / "data" / "look"


def reference_scenes(folder: Path | None = None) -> list[Scene]:
    """The scenes whose images measure the renderer.

    Raises:
        RenderError: they are not there.
    """
    path = (folder or reference_folder()) / "scenes.json"
    try:
        scenes: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["scenes"]
    except FileNotFoundError as error:
        raise RenderError(
            f"{path}: missing; the reference images come with a checkout of the project, not with the wheel"
        ) from error
    return list(scenes)


def reference_image(number: int, folder: Path | None = None) -> Path:
    """The file of a reference scene's 512-sample image."""
    return (folder or reference_folder()) / f"{number:02d}.png"


def chosen_scenes(n_scenes: int, folder: Path | None = None) -> list[int]:
    """Numbers of reference scenes, spread evenly over all that have a 512-sample image.

    Raises:
        RenderError: none has.
    """
    there = [i for i in range(len(reference_scenes(folder))) if reference_image(i, folder).exists()]
    if not there:
        raise RenderError(
            f"{reference_image(0, folder)}: missing, as all reference images are; "
            "render them with: python -m clevrhope.images.blender.reference"
        )
    n_scenes = min(n_scenes, len(there))
    return [there[(2 * i + 1) * len(there) // (2 * n_scenes)] for i in range(n_scenes)]


def measure_quality(
    n_scenes: int = 4,
    *,
    settings: RenderSettings | None = None,
    workers: int | None = None,
    folder: Path | None = None,
) -> Quality:
    """Renders reference scenes, spread evenly over all there are, and compares them with 512 samples.

    A first image for each worker is not counted: it loads the look and Cycles' shaders.

    Args:
        n_scenes: how many, 1 to all.
        settings: the effort to be measured.
        workers: processes, one for every two cores by default.
        folder: of the reference scenes and images.

    Raises:
        RenderError: no reference images here, or no Blender.
    """
    scenes = reference_scenes(folder)
    chosen = chosen_scenes(n_scenes, folder)
    with CyclesRenderer(settings=settings, workers=workers) as renderer:
        for _ in renderer.render((i, scenes[0]) for i in range(renderer.workers)):
            pass
        begin = time.perf_counter()
        images = dict(renderer.render((i, scenes[i]) for i in chosen))
        seconds = time.perf_counter() - begin
        device = ", ".join(sorted(renderer.devices))
    found = {i: psnr(images[i], read_png(reference_image(i, folder))) for i in chosen}
    return Quality(seconds / len(chosen), sum(found.values()) / len(found), found, device)
