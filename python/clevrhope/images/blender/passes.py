"""Cycles' passes at the pixels' centres: object index, depth and normal.

Cycles sends a pixel's first ray through its centre, whatever the filter and the seed, so with one sample per
pixel this is the only ray. Lights and bounces do not affect these passes and are off, which saves time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.images.blender.exr import read_exr

#: For rays that hit nothing, Cycles writes depths of at least this value.
NOTHING = 1e9


@dataclass(frozen=True)
class Found:
    """(height, width) object indices, 0 for none; depths, 0 for nothing; (height, width, 3) world normals."""

    index: npt.NDArray[np.int32]
    depth: npt.NDArray[np.float32]
    normal: npt.NDArray[np.float32]


@contextmanager
def centre_rays(
    scene: Any, lights: list[Any], folder: Path, render: Callable[[], object]
) -> Iterator[Callable[[], Found]]:
    """Yields a function that renders the passes of the current scene; restores all settings at the end.

    Args:
        scene: Blender's scene.
        lights: its lights, which are switched off within the block.
        folder: for the file between Blender and the reader.
        render: renders the scene into its file.
    """
    path, layer = folder / "passes.exr", scene.view_layers[0]
    image = scene.render.image_settings
    wanted = [
        (image, "file_format", "OPEN_EXR_MULTILAYER"),  # first: others' valid values depend on it
        (image, "color_depth", "32"),
        (image, "exr_codec", "NONE"),
        (scene.render, "filepath", str(path)),
        (scene.cycles, "samples", 1),
        (scene.cycles, "use_denoising", False),
        (scene.cycles, "max_bounces", 0),
        (layer, "use_pass_object_index", True),
        (layer, "use_pass_z", True),
        (layer, "use_pass_normal", True),
        # If hidden, they would return in another order, and the noise of the next image would change.
        *((light.data, "energy", 0.0) for light in lights),
    ]
    before = [(thing, name, getattr(thing, name)) for thing, name, _ in wanted]
    before.append((image, "color_mode", image.color_mode))  # depends on the format

    def look() -> Found:
        path.unlink(missing_ok=True)  # so that a failed write never returns the earlier passes
        render()
        # "<layer>.<pass>.<component>"; there is one layer.
        channels = {name.split(".", 1)[1]: each for name, each in read_exr(path.read_bytes()).items()}
        depth = channels["Depth.Z"]
        return Found(
            index=np.rint(channels["IndexOB.X"]).astype(np.int32),
            depth=np.where(depth < NOTHING, depth, np.float32(0.0)),
            normal=np.stack([channels[f"Normal.{axis}"] for axis in "XYZ"], axis=-1),
        )

    try:
        for thing, name, value in wanted:
            setattr(thing, name, value)
        yield look
    finally:
        for thing, name, value in before:
            setattr(thing, name, value)
        path.unlink(missing_ok=True)
