"""Image quality: reference scenes with images of 512 samples, and the distance of other images from them.

`python -m benchmarks.reference_images [FOLDER]` renders the reference scenes with 512 samples: those of
FOLDER/scenes.json (by default tests/data/look), with the values of FOLDER/properties.json if it exists. An
image takes a minute or more on two cores. Existing images are kept, so the command can be stopped and run
again; to make images anew, remove them first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import ClevrhopeError, RenderError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.renderer import Scene
from clevrhope.images.settings import SAMPLES_OF_THE_ORIGINAL, BlenderSettings
from clevrhope.images.stage import render_png_files
from clevrhope.look.definition import read_look

REFERENCE_SETTINGS = BlenderSettings(device="cpu").with_samples(SAMPLES_OF_THE_ORIGINAL)
"""On the CPU, so that images do not depend on the machine's GPU."""

REFERENCE_FOLDER = Path(__file__).parents[1] / "tests" / "data" / "look"
"""The reference scenes and images of a checkout, which are not part of the wheel."""


def psnr(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Peak signal-to-noise ratio of two 8-bit images in dB; infinite if they are equal.

    Raises:
        ValueError: they differ in shape.
    """
    if a.shape != b.shape:
        raise ValueError(f"images of different shapes: {a.shape} and {b.shape}")
    error = float(np.mean((a.astype(np.float64) - b.astype(np.float64)) ** 2))
    return float("inf") if error == 0.0 else 10.0 * float(np.log10(255.0**2 / error))


def reference_scenes(folder: Path | None = None) -> list[Scene]:
    """The scenes by whose images a renderer is measured.

    Raises:
        RenderError: their file is missing.
    """
    path = (folder or REFERENCE_FOLDER) / "scenes.json"
    try:
        scenes: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["scenes"]
    except FileNotFoundError as error:
        raise RenderError(
            f"{path}: missing; the reference images come with a checkout of the project, not with the wheel"
        ) from error
    return list(scenes)


def reference_image(number: int, folder: Path | None = None) -> Path:
    """The file of a reference scene's 512-sample image."""
    return (folder or REFERENCE_FOLDER) / f"{number:02d}.png"


def chosen_scenes(n_scenes: int, folder: Path | None = None) -> list[int]:
    """Numbers of reference scenes, spread evenly over those that have a 512-sample image.

    Raises:
        RenderError: no scene has one.
    """
    there = [i for i in range(len(reference_scenes(folder))) if reference_image(i, folder).exists()]
    if not there:
        raise RenderError(
            f"{reference_image(0, folder)}: missing, like all reference images; "
            "render them with: python -m benchmarks.reference_images"
        )
    n_scenes = min(n_scenes, len(there))
    return [there[(2 * i + 1) * len(there) // (2 * n_scenes)] for i in range(n_scenes)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Renders the missing images."""
    folder = Path(next(iter(sys.argv[1:] if arguments is None else arguments), REFERENCE_FOLDER))
    try:
        scenes = reference_scenes(folder)
        properties = folder / "properties.json"
        look = read_look(properties=properties if properties.exists() else None)
        with CyclesRenderer(settings=REFERENCE_SETTINGS, look=look) as renderer:
            for path in render_png_files(
                scenes, lambda scene: reference_image(scene["image_index"], folder), renderer=renderer
            ):
                sys.stdout.write(f"{path.relative_to(folder)}\n")
                sys.stdout.flush()
    except ClevrhopeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
