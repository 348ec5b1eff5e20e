"""Image quality: reference scenes with images of 512 samples, and the distance of other images from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import RenderError
from clevrhope.images.renderer import Scene
from clevrhope.runtime.assets import blender_assets


def psnr(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Peak signal-to-noise ratio of two 8-bit images in dB; infinite if they are equal.

    Raises:
        ValueError: they differ in shape.
    """
    if a.shape != b.shape:
        raise ValueError(f"images of different shapes: {a.shape} and {b.shape}")
    error = float(np.mean((a.astype(np.float64) - b.astype(np.float64)) ** 2))
    return float("inf") if error == 0.0 else 10.0 * float(np.log10(255.0**2 / error))


def reference_folder() -> Path:
    """The folder in a checkout with the reference scenes and images, which are not part of the wheel."""
    return blender_assets().resolve().parent / "tests" / "data" / "look"


def reference_scenes(folder: Path | None = None) -> list[Scene]:
    """The scenes by whose images a renderer is measured.

    Raises:
        RenderError: their file is missing.
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
    """Numbers of reference scenes, spread evenly over those that have a 512-sample image.

    Raises:
        RenderError: no scene has one.
    """
    there = [i for i in range(len(reference_scenes(folder))) if reference_image(i, folder).exists()]
    if not there:
        raise RenderError(
            f"{reference_image(0, folder)}: missing, like all reference images; "
            "render them with: python -m clevrhope.images.blender.reference"
        )
    n_scenes = min(n_scenes, len(there))
    return [there[(2 * i + 1) * len(there) // (2 * n_scenes)] for i in range(n_scenes)]
