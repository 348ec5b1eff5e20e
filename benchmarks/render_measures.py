"""Measures what PSNR does not show: grain on objects, and the light on the ground at their feet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.images.passes import BACKGROUND, Passes
from clevrhope.images.renderer import Pixels, Scene

Mask = npt.NDArray[np.bool_]

LUMINANCE = (0.2126, 0.7152, 0.0722)
"""Weights of linear red, green and blue."""

LAPLACIAN = np.array(
    [[0, 0, -1, 0, 0], [0, -1, -2, -1, 0], [-1, -2, 16, -2, -1], [0, -1, -2, -1, 0], [0, 0, -1, 0, 0]]
)
"""A Laplacian of 5 x 5 pixels: zero where light changes evenly. It is divided by four."""

INSIDE_PX = 3
"""Distance from an object's outline beyond which its grain is measured: the Laplacian's reach plus one."""

LEAST_INSIDE_PX = 60
"""Objects with fewer pixels inside are not measured."""

RING_PX = 2
"""Width of the ring of ground at an object's foot."""

LEAST_RING_PX = 20
"""Rings with fewer pixels are not measured."""


@dataclass(frozen=True)
class Feature:
    """The pixels where an object is measured.

    Attributes:
        material: the object's material.
        inside: (height, width) its pixels away from its outline; None if there are too few.
        ring: (height, width) the ground at its foot; None if little of it is visible.
    """

    material: str
    inside: Mask | None
    ring: Mask | None


def features(scene: Scene, passes: Passes) -> list[Feature]:
    """The pixels where each object of a scene is measured.

    The ring is the ground within `RING_PX` pixels of the object, beside its lowest quarter in the image.
    """
    found = []
    ground = passes.mask == BACKGROUND
    for number, each in enumerate(scene["objects"]):
        own = passes.mask == number
        rows = np.flatnonzero(own.any(axis=1))
        if not len(rows):
            continue
        inside = ~grown(~own, INSIDE_PX)
        ring = grown(own, RING_PX) & ground
        ring[: int(0.25 * rows[0] + 0.75 * rows[-1])] = False
        found.append(
            Feature(
                str(each["material"]),
                inside if inside.sum() >= LEAST_INSIDE_PX else None,
                ring if ring.sum() >= LEAST_RING_PX else None,
            )
        )
    return found


def linear(image: Pixels) -> npt.NDArray[np.float64]:
    """An sRGB image without its transfer function, from 0 to 1; (height, width, 3)."""
    encoded = image / 255.0
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def luminance(image: Pixels) -> npt.NDArray[np.float64]:
    """Linear luminance of an sRGB image, from 0 to 255; (height, width)."""
    found: npt.NDArray[np.float64] = 255.0 * (linear(image) @ np.array(LUMINANCE))
    return found


def grain(image: Pixels, inside: Mask) -> float:
    """The median over some pixels of the absolute Laplacian of the image's luminance."""
    light = np.pad(luminance(image), 2, mode="edge")
    height, width = inside.shape
    total = np.zeros(inside.shape)
    for (row, column), weight in np.ndenumerate(LAPLACIAN):
        total += weight / 4 * light[row : row + height, column : column + width]
    return float(np.median(np.abs(total[inside])))


def excess_light(image: Pixels, reference: Pixels, ring: Mask) -> float:
    """How much more light than the reference a ring shows on average; -0.1 if a tenth is missing."""
    return float(luminance(image)[ring].mean() / luminance(reference)[ring].mean() - 1.0)


def grown(mask: Mask, n_px: int) -> Mask:
    """A mask with all pixels at most `n_px` away from it, in rows and columns."""
    height, width = mask.shape
    padded = np.pad(mask, n_px)
    steps = range(2 * n_px + 1)
    found: Mask = np.logical_or.reduce(
        [padded[row : row + height, column : column + width] for row in steps for column in steps]
    )
    return found


def by_material(values: Sequence[tuple[str, float]]) -> Mapping[str, Sequence[float]]:
    """Material -> its values, in the order of the materials' names."""
    names = sorted({name for name, _ in values})
    return {name: [value for other, value in values if other == name] for name in names}


def ssim(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> float:
    """Structural similarity of two 8-bit images, (height, width, 3); 1 if they are equal.

    Source: Wang et al., "Image Quality Assessment" (2004): Gaussian windows of sigma 1.5, constants 0.01 and
    0.03, the mean over the three channels.

    Raises:
        ValueError: they differ in shape, or are smaller than a window of 11 x 11 pixels.
    """
    from skimage.metrics import structural_similarity

    gaussian = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    return float(structural_similarity(a, b, channel_axis=2, data_range=255, **gaussian))
