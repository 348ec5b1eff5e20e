"""Edits of an image that keep the foreground and obscure the rest, or cut it off.

Source: the visual tests of CARETS (Jimenez et al., 2022), with masks in place of boxes, and with lengths as
shares of the image's width. All sums are of whole numbers that a float holds exactly, so the bytes are the
same everywhere.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, exp

import numpy as np
import numpy.typing as npt
from PIL import Image

ImageArray = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Matrix = npt.NDArray[np.float64]

SIGMAS: Mapping[str, float] = {"blur_1": 1 / 160, "blur_2": 1 / 80, "blur_3": 3 / 160}
"""Standard deviation of each blur as a share of the width: CARETS's 3, 6 and 9 pixels on CLEVR's 480."""

MARGIN = 1 / 80
"""What is kept around the foreground, as a share of the width: 6 pixels of 480, enough for soft edges."""

ONE = 1 << 12
"""The sum of a kernel's weights."""


def margin_px(width: int) -> int:
    """Pixels kept around the foreground of an image of this width."""
    return max(2, round(width * MARGIN))


def blurred(image: ImageArray, mask: Mask, *, sigma_px: float) -> ImageArray:
    """The image with everything but the foreground blurred by a Gaussian.

    Args:
        image: (height, width, 3), sRGB.
        mask: (height, width), the foreground.
        sigma_px: standard deviation, above 0.
    """
    height, width = mask.shape
    channels = np.moveaxis(image, 2, 0).astype(np.float64)  # (3, height, width)
    soft = _blur_matrix(height, sigma_px) @ channels @ _blur_matrix(width, sigma_px).T
    return _composed(image, np.moveaxis(_rounded(soft), 0, 2), mask)


def filled(image: ImageArray, mask: Mask, *, rgb: Sequence[int]) -> ImageArray:
    """The image with everything but the foreground replaced by a color; arguments as of `blurred`."""
    return _composed(image, np.broadcast_to(np.asarray(rgb, dtype=np.uint8), image.shape), mask)


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
    """A rectangle of the image, as large as its shape allows in the middle of an image of the same size.

    Shapes keep their proportions; what the rectangle does not fill is of the color `rgb`.
    """
    height, width = image.shape[:2]
    left, top, right, bottom = box
    # The larger factor at which both sides fit, in whole numbers.
    if width * (bottom - top) <= height * (right - left):
        size = (width, max(1, (bottom - top) * width // (right - left)))
    else:
        size = (max(1, (right - left) * height // (bottom - top)), height)
    resized = Image.fromarray(image).resize(size, Image.Resampling.BICUBIC, box=box)
    found = np.empty_like(image)
    found[:] = np.asarray(rgb, dtype=np.uint8)
    x, y = (width - size[0]) // 2, (height - size[1]) // 2
    found[y : y + size[1], x : x + size[0]] = np.asarray(resized)
    return found


def mask_at(raster: npt.NDArray[np.uint8], objects: Sequence[int], size: tuple[int, int]) -> Mask:
    """(height, width) the pixels that show some objects, at the images' size.

    Args:
        raster: (h, w), the object that each pixel shows: 0 none, i + 1 object i.
        objects: numbers of objects.
        size: height and width of images.
    """
    rows, columns = (np.arange(n) * old // n for n, old in zip(size, raster.shape, strict=True))
    found: Mask = np.isin(raster, [each + 1 for each in objects])[rows[:, None], columns]
    return found


def _composed(image: ImageArray, background: ImageArray, mask: Mask) -> ImageArray:
    """The image where the foreground is, the background elsewhere, and a soft edge within the margin."""
    height, width = mask.shape
    margin = margin_px(width)
    grown = _grown(_grown(mask, margin).T, margin).T.astype(np.float64)
    # The kernel reaches no further than the margin, so that every pixel of the foreground is kept as it is.
    sigma = margin / 3
    alpha = (_blur_matrix(height, sigma) @ grown @ _blur_matrix(width, sigma).T)[:, :, None]
    return _rounded(alpha * image + (ONE * ONE - alpha) * background)


def _grown(mask: Mask, n: int) -> Mask:
    """The mask with n more pixels above and below each of its pixels."""
    found = mask.copy()
    for step in range(1, n + 1):
        found[step:] |= mask[:-step]
        found[:-step] |= mask[step:]
    return found


@lru_cache(maxsize=16)
def _blur_matrix(n: int, sigma_px: float) -> Matrix:
    """(n, n) a Gaussian's whole weights for each place of a line; its ends are continued beyond it."""
    radius = ceil(3 * sigma_px)
    weights = [exp(-0.5 * (step / sigma_px) ** 2) for step in range(-radius, radius + 1)]
    whole = [round(ONE * weight / sum(weights)) for weight in weights]
    whole[radius] += ONE - sum(whole)
    matrix = np.zeros((n, n))
    places = np.arange(n)
    for step, weight in zip(range(-radius, radius + 1), whole, strict=True):
        np.add.at(matrix, (places, np.clip(places + step, 0, n - 1)), weight)
    return matrix


def _rounded(sums: Matrix) -> ImageArray:
    """Sums of two kernels' weights times bytes, as bytes."""
    rounded: ImageArray = ((sums + ONE * ONE // 2) // (ONE * ONE)).astype(np.uint8)
    return rounded
