"""Resized images as features, for models with a stem of their own."""

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from clevrhope.errors import ConfigError
from clevrhope.features.extractor import Extractor, ExtractorOptions, ImageArray, Sample
from clevrhope.features.store import Array, ArraySpec

SIDE = 224
"""Default width and height, those of models with a stem of their own (`MapsConfig`)."""


class Pixels(Extractor):
    """`pixels`, (3, 224, 224) uint8 RGB or another size, resized with a bicubic filter."""

    reads = ("image",)

    def __init__(self, options: ExtractorOptions) -> None:
        if options.image_size is None:
            raise ConfigError("the dataset has no images; build it without --no-render")
        self.size = size = options.size or (SIDE, SIDE)
        self.options = {"width": size[0], "height": size[1]}
        self.suffix = f"-{size[0]}x{size[1]}"
        self.arrays = {"pixels": ArraySpec("uint8", (3, size[1], size[0]))}

    def rows(self, samples: Sequence[Sample]) -> Mapping[str, Array]:
        """The resized images."""
        images = [resized(each.image, self.size) for each in samples if each.image is not None]
        return {"pixels": np.stack(images).transpose(0, 3, 1, 2)}


def resized(image: ImageArray, size: tuple[int, int]) -> ImageArray:
    """An image (height, width, 3) at another width and height, by Pillow's bicubic filter."""
    if image.shape[1::-1] == size:
        return image
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BICUBIC))
