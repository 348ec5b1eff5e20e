"""Reads the one kind of OpenEXR file that Blender writes here.

These files have one part in scan lines, uncompressed, with 32-bit floats. Source: the OpenEXR File Layout,
openexr.com/en/latest/OpenEXRFileLayout.html.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MAGIC = b"v/1\x01"
#: Flags of tiles, deep pixels and several parts, which are not supported; long names need no special care.
_OTHER_FLAGS = 0x1A
_FLOAT = 2


def read_exr(data: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """Channel -> (height, width) float32, top row first; raises ValueError for a file of another kind."""
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
