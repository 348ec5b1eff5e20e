"""Resized images as features, for models with a stem of their own."""

from collections.abc import Mapping, Sequence

from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene

SIDE = 224
"""Default width and height, as for models with a stem of their own (`MapsConfig`)."""


class Pixels(Extractor):
    """`pixels`, (3, 224, 224) uint8 RGB or another size."""

    weights = None

    def __init__(self, options: ExtractorOptions) -> None:
        width, height = self.size = options.size or (SIDE, SIDE)
        self.suffix = f"-{width}x{height}"
        self.arrays = {"pixels": ArraySpec("uint8", (3, height, width))}

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        """The images, channels first."""
        return {"pixels": images.transpose(0, 3, 1, 2)}
