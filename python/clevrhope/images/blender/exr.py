"""The bytes of an OpenEXR file in, its channels out: of the one kind that Blender is told to write here.

A file in scan lines, of one part, not packed, with floats of 32 bits. Source: the OpenEXR File Layout,
openexr.com/en/latest/OpenEXRFileLayout.html.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_MAGIC = b"v/1\x01"
#: Flags of tiles, deep pixels and several parts, which such a file has not; long names are all the same here.
_OTHER_FLAGS = 0x1A
_FLOAT = 2


def read_exr(data: bytes) -> dict[str, npt.NDArray[np.float32]]:
    """Channel -> (height, width) float32, top row first.

    Raises:
        ValueError: a file of another kind.
    """
    if data[:4] != _MAGIC or data[4] != 2 or data[5] & _OTHER_FLAGS:
        raise ValueError("not an OpenEXR file of one part in scan lines")
    attributes, start = _attributes(data)
    if attributes["compression"] != b"\x00":
        raise ValueError("a packed OpenEXR file")
    names = _channels(attributes["channels"])
    left, top, right, bottom = np.frombuffer(attributes["dataWindow"], "<i4").tolist()
    height, width = bottom - top + 1, right - left + 1
    # Behind a table of where each line is, every line: its number, its length, a row of each channel.
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
    """Names in the order in which a line holds them."""
    names = []
    place = 0
    while content[place]:
        name, place = _text(content, place)
        if int.from_bytes(content[place : place + 4], "little") != _FLOAT:
            raise ValueError(f"{name} is not of floats of 32 bits")
        names.append(name)
        place += 16  # the type, four bytes of no use here, the sampling of x and of y
    return names


def _text(data: bytes, place: int) -> tuple[str, int]:
    """A text that ends with a zero, and the place after that."""
    end = data.index(b"\x00", place)
    return data[place:end].decode(), end + 1
