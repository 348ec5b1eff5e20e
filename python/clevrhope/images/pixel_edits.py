"""Edits an image so that the foreground stays, and the rest is obscured or cut off.

Source: the visual tests of CARETS (Jimenez et al., 2022), but with masks instead of boxes, and with lengths
relative to the image's width. All sums are integer sums, so the bytes are the same everywhere.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, exp

import numpy as np
import numpy.typing as npt
from PIL import Image

ImageArray = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]

SIGMAS: Mapping[str, float] = {"blur_1": 1 / 160, "blur_2": 1 / 80, "blur_3": 3 / 160}
"""Standard deviation of each blur as a share of the width: CARETS's 3, 6 and 9 pixels on CLEVR's 480."""

MARGIN = 1 / 80
"""The margin kept around the foreground, as a share of the width: 6 of 480 pixels, enough for soft edges."""

ONE = 1 << 12
"""The sum of a kernel's weights."""

_KEPT_BITS = 6
"""Fractional bits that are kept between the two directions of a blur."""

_SCALE = ONE << _KEPT_BITS
"""The factor by which a blurred array is larger than the original."""


def margin_px(width: int) -> int:
    """Pixels kept around the foreground of an image of this width."""
    return max(2, round(width * MARGIN))


def blurred(image: ImageArray, mask: Mask, others: Mask, *, sigma_px: float) -> ImageArray:
    """The image with everything but the foreground blurred by a Gaussian.

    Args:
        image: (height, width, 3), sRGB.
        mask: (height, width), the foreground.
        others: (height, width), objects of the background, of which the soft edge must show nothing.
        sigma_px: standard deviation, above 0.
    """
    channels = np.ascontiguousarray(np.moveaxis(image, 2, 0)).astype(np.int32)  # (3, height, width)
    soft = (_gaussian(channels, sigma_px) + _SCALE // 2) // _SCALE
    return _composed(image, np.moveaxis(soft.astype(np.uint8), 0, 2), mask, others)


def filled(image: ImageArray, mask: Mask, others: Mask, *, rgb: Sequence[int]) -> ImageArray:
    """The image with everything but the foreground replaced by a color; arguments as for `blurred`."""
    color = np.broadcast_to(np.asarray(rgb, dtype=np.uint8), image.shape)
    return _composed(image, color, mask, others)


def crop_box(mask: Mask) -> tuple[int, int, int, int]:
    """The tightest rectangle around the foreground with its margin: left, top, right, bottom in pixels."""
    height, width = mask.shape
    margin = margin_px(width)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return (
        max(0, int(columns[0]) - margin),
        max(0, int(rows[0]) - margin),
        min(width, int(columns[-1]) + 1 + margin),
        min(height, int(rows[-1]) + 1 + margin),
    )


def cropped(image: ImageArray, box: tuple[int, int, int, int], *, rgb: Sequence[int]) -> ImageArray:
    """A rectangle of the image, scaled up as far as it fits and centred in an image of the same size.

    Proportions are kept; the area outside the rectangle has the color `rgb`.
    """
    height, width = image.shape[:2]
    left, top, right, bottom = box
    # The largest factor with which both sides fit, in integer arithmetic.
    if width * (bottom - top) <= height * (right - left):
        size = (width, max(1, (bottom - top) * width // (right - left)))
    else:
        size = (max(1, (right - left) * height // (bottom - top)), height)
    resized = Image.fromarray(image).resize(size, Image.Resampling.BICUBIC, box=box)
    canvas = np.empty_like(image)
    canvas[:] = np.asarray(rgb, dtype=np.uint8)
    x, y = (width - size[0]) // 2, (height - size[1]) // 2
    canvas[y : y + size[1], x : x + size[0]] = np.asarray(resized)
    return canvas


def mask_at(raster: npt.NDArray[np.uint8], objects: Sequence[int], size: tuple[int, int]) -> Mask:
    """(height, width) the pixels that show the given objects, at the size of the images.

    Args:
        raster: (h, w), the object that each pixel shows: 0 for none, i + 1 for object i.
        objects: numbers of objects.
        size: height and width of the images.
    """
    rows, columns = (np.arange(n) * old // n for n, old in zip(size, raster.shape, strict=True))
    found: Mask = np.isin(raster, [each + 1 for each in objects])[rows[:, None], columns]
    return found


def _composed(image: ImageArray, background: ImageArray, mask: Mask, others: Mask) -> ImageArray:
    """Composes the foreground of the image with the background, with a soft edge within the margin."""
    margin = margin_px(mask.shape[1])
    grown = _grown(_grown(mask, margin).T, margin).T
    # The kernel reaches no further than the margin, so every pixel of the foreground is unchanged.
    soft = _gaussian(np.ascontiguousarray(grown)[None].astype(np.int32), margin / 3)[0]
    alpha = np.where(others, 0, soft >> _KEPT_BITS)[:, :, None]  # (height, width, 1), from 0 to ONE
    mixed = (alpha * image + (ONE - alpha) * background + ONE // 2) // ONE
    edited: ImageArray = mixed.astype(np.uint8)
    return edited


def _grown(mask: Mask, n: int) -> Mask:
    """The mask extended by n pixels above and below each of its pixels."""
    grown = mask.copy()
    for step in range(1, n + 1):
        grown[step:] |= mask[:-step]
        grown[:-step] |= mask[step:]
    return grown


def _gaussian(values: Numbers, sigma_px: float) -> Numbers:
    """Values (n, height, width), bytes or smaller, blurred in both directions and multiplied by `_SCALE`.

    Values at an edge are repeated beyond it.
    """
    across = _weighted(values, sigma_px, axis=2)
    dropped = ONE >> _KEPT_BITS
    return _weighted((across + dropped // 2) // dropped, sigma_px, axis=1)


def _weighted(values: Numbers, sigma_px: float, *, axis: int) -> Numbers:
    """Sums of the neighbours in one direction, each multiplied by the kernel's weight."""
    centre, *others = _weights(sigma_px)
    reach, n = len(others), values.shape[axis]
    padded = np.pad(values, [(reach, reach) if each == axis else (0, 0) for each in range(3)], mode="edge")

    def shifted(step: int) -> Numbers:
        begin = reach + step
        return padded[:, :, begin : begin + n] if axis == 2 else padded[:, begin : begin + n]

    total = centre * values
    for step, weight in enumerate(others, 1):
        total += weight * (shifted(step) + shifted(-step))
    return total


@lru_cache(maxsize=16)
def _weights(sigma_px: float) -> tuple[int, ...]:
    """A Gaussian's integer weights for neighbours 0, 1, ... up to three deviations; they sum to `ONE`."""
    densities = [exp(-0.5 * (step / sigma_px) ** 2) for step in range(1 + ceil(3 * sigma_px))]
    total = 2 * sum(densities) - densities[0]
    others = [round(ONE * density / total) for density in densities[1:]]
    return (ONE - 2 * sum(others), *others)
