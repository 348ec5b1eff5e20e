"""PNG files without times or text, so that equal pixels give equal bytes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from clevrhope import _core
from clevrhope.errors import DatasetError
from clevrhope.runtime.reading import check_regular, reading

MAX_PIXELS = 1 << 26
"""The most pixels of an image to be read: 8,192 x 8,192. A file of a few kilobytes can claim any size."""

MAX_PNG_BYTES = 1 << 28
"""The most bytes of a file: an image of `MAX_PIXELS` that cannot be compressed."""


def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Encodes (height, width, 3) uint8 pixels as a PNG file."""
    return _core.encode_png(np.ascontiguousarray(pixels))


def read_png(path: Path) -> npt.NDArray[np.uint8]:
    """Reads the pixels of a PNG file, (height, width, 3) uint8 RGB.

    Raises:
        DatasetError: the file is missing, not a whole PNG file, or larger than `MAX_PIXELS`.
    """
    with open_png(path) as image:
        return np.asarray(image.convert("RGB"))


BEGIN, END = b"\x89PNG\r\n\x1a\n", b"\x00\x00\x00\x00IEND\xaeB`\x82"
"""The first and the last bytes of every PNG file."""


def is_whole_png(path: Path) -> bool:
    """Whether a file begins and ends as PNG files do; the rest is not decoded."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            begins = file.read(len(BEGIN)) == BEGIN
            file.seek(-len(END), os.SEEK_END)
            return begins and file.read() == END
    except OSError:
        return False


@contextmanager
def open_png(path: Path, *, remedy: str = "remove it and run the command again") -> Iterator[Image.Image]:
    """Opens a PNG file without decoding it; errors in the block become those of `read_png`."""
    with reading(path, "a whole PNG file", remedy=remedy):
        check_regular(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit here is lower
            image = Image.open(path, formats=("PNG",))
        with image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise DatasetError(f"{path}: claims to have {width:,} x {height:,} pixels, too many to read")
            yield image
