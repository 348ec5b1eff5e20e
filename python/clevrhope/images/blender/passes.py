"""Annotations by Cycles: object index, depth and normal at the pixels' centres, and objects that stand alone.

Cycles sends a pixel's first ray through its centre, whatever the filter and the seed, so with one sample per
pixel this is the only ray. Lights and bounces do not affect these passes and are off, which saves time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.images.placement import Vector, view_axes

#: For rays that hit nothing, Cycles writes depths of at least this value.
NOTHING = 1e9

_MAGIC = b"v/1\x01"
#: Flags of tiles, deep pixels and several parts, which are not supported; long names need no special care.
_OTHER_FLAGS = 0x1A
_FLOAT = 2

Box = tuple[float, float, float, float]
"""Smallest x and y, largest x and y, in pixels."""

MARGIN_PX = 1.0
EVERYWHERE: Box = (-math.inf, -math.inf, math.inf, math.inf)


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


def read_exr(data: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """Reads an OpenEXR file as Blender writes it here: one part in scan lines, uncompressed, 32-bit floats.

    Source: the OpenEXR File Layout, openexr.com/en/latest/OpenEXRFileLayout.html.

    Returns:
        Channel -> (height, width) float32, top row first.

    Raises:
        ValueError: a file of another kind.
    """
    if data[:4] != _MAGIC or data[4] != 2 or data[5] & _OTHER_FLAGS:
        raise ValueError("not an OpenEXR file of one part in scan lines")
    attributes, start = _attributes(data)
    if attributes["compression"] != b"\x00":
        raise ValueError("a compressed OpenEXR file")
    names = _channels(attributes["channels"])
    left, top, right, bottom = np.frombuffer(attributes["dataWindow"], "<i4").tolist()
    height, width = bottom - top + 1, right - left + 1
    # A table of line offsets precedes the lines; each has its number, its length, and a row of each channel.
    line = np.dtype([("row", "<i4"), ("bytes", "<i4"), ("pixels", "<f4", (len(names), width))])
    lines = np.frombuffer(data, line, height, start + 8 * height)
    order = np.argsort(lines["row"], kind="stable")
    return {name: lines["pixels"][order, number].astype(np.float32) for number, name in enumerate(names)}


def _attributes(data: bytes) -> tuple[dict[str, bytes], int]:
    """The header's entries by name, and where it ends."""
    found: dict[str, bytes] = {}
    place = 8
    while data[place]:
        name, place = _text(data, place)
        _, place = _text(data, place)  # the type, which the name implies
        size = int.from_bytes(data[place : place + 4], "little")
        found[name] = data[place + 4 : place + 4 + size]
        place += 4 + size
    return found, place + 1


def _channels(content: bytes) -> list[str]:
    """Names of channels, in the order in which a line stores them."""
    names = []
    place = 0
    while content[place]:
        name, place = _text(content, place)
        if int.from_bytes(content[place : place + 4], "little") != _FLOAT:
            raise ValueError(f"{name} does not have 32-bit floats")
        names.append(name)
        place += 16  # the type, four unused bytes, the sampling of x and of y
    return names


def _text(data: bytes, place: int) -> tuple[str, int]:
    """A zero-terminated string, and the position after it."""
    end = data.index(b"\x00", place)
    return data[place:end].decode(), end + 1


def box_in_image(
    corners: npt.NDArray[np.float64], camera: Vector, lens: Mapping[str, Any], width_px: int, height_px: int
) -> Box:
    """A box around all pixels of a body; `corners` are those of its hull in the world, (n, 3)."""
    right, up, forward = view_axes(camera, lens["target"])
    seen = corners - np.asarray(camera)
    depth = seen @ forward
    if depth.min() <= 0.0:
        return EVERYWHERE  # part of it is beside the camera or behind it
    focal_px = lens["lens_mm"] / lens["sensor_width_mm"] * max(width_px, height_px)
    x = width_px / 2 + focal_px * (seen @ right) / depth
    y = height_px / 2 - focal_px * (seen @ up) / depth
    return (x.min() - MARGIN_PX, y.min() - MARGIN_PX, x.max() + MARGIN_PX, y.max() + MARGIN_PX)


def disjoint_groups(boxes: Sequence[Box]) -> list[list[int]]:
    """Groups the numbers of boxes so that no two in a group overlap; leaves out boxes that overlap no other.

    Each box joins the first group in which it overlaps no other. There is at most one group more than the
    largest number of boxes that one box overlaps: two or three groups in practice.
    """
    overlapping = [[i != j and _overlap(a, b) for j, b in enumerate(boxes)] for i, a in enumerate(boxes)]
    groups: list[list[int]] = []
    for number, others in enumerate(overlapping):
        if not any(others):
            continue
        room = next((group for group in groups if not any(others[each] for each in group)), None)
        if room is None:
            groups.append([number])
        else:
            room.append(number)
    return groups


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
