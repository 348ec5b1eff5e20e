"""Pixels in, PNG bytes out, and back. The same pixels give the same bytes: no time, no text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from clevrhope import _core


def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """The PNG file of (height, width, 3) uint8 pixels."""
    return _core.encode_png(np.ascontiguousarray(pixels))


def read_png(path: Path) -> npt.NDArray[np.uint8]:
    """The pixels of a picture file, (height, width, 3) uint8."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
