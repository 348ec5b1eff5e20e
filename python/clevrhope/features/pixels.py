"""Pictures in, the same at another size out: what a model with a stem of its own reads."""

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from clevrhope.errors import ConfigError
from clevrhope.features.extractor import Asked, Picture, Sample
from clevrhope.features.kinds import refuse
from clevrhope.features.store import Array, ArraySpec


class Pixels:
    """`pixels`, (3, height, width) uint8 RGB, resized by a bicubic filter where the size is another."""

    reads = ("picture",)
    weights = None
    code = 1
    note = None

    def __init__(self, asked: Asked) -> None:
        refuse("pixels", weights=asked.weights)
        size = asked.size or asked.picture_size
        if size is None:
            raise ConfigError("the dataset has no pictures; build it without --no-render")
        self.size = size
        self.options: Mapping[str, int] = {"width": size[0], "height": size[1]}
        self.suffix = f"-{size[0]}x{size[1]}"
        self.arrays = {"pixels": ArraySpec("uint8", (3, size[1], size[0]))}

    def rows(self, samples: Sequence[Sample]) -> Mapping[str, Array]:
        """The pictures."""
        made = [resized(each.picture, self.size) for each in samples if each.picture is not None]
        return {"pixels": np.stack(made).transpose(0, 3, 1, 2)}


def resized(picture: Picture, size: tuple[int, int]) -> Picture:
    """A picture (height, width, 3) at another width and height, by Pillow's bicubic filter."""
    if picture.shape[1::-1] == size:
        return picture
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC))
