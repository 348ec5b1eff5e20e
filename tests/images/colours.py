"""Images as light."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def linear(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """sRGB of 8 bits without its transfer function."""
    encoded = image / 255.0
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
