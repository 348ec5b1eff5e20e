"""Pixels in, PNG bytes out, and back. The same pixels give the same bytes: no time, no text, fixed effort."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

#: zlib's effort: beyond it a rendered picture gets hardly smaller, only slower.
COMPRESSION_LEVEL = 6


def encode_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """The PNG file of (height, width, 3) uint8 pixels."""
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG", compress_level=COMPRESSION_LEVEL)
    return buffer.getvalue()


def read_png(path: Path) -> npt.NDArray[np.uint8]:
    """The pixels of a picture file, (height, width, 3) uint8."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
