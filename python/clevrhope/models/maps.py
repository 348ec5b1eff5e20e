"""Settings shared by the models that read feature maps of an image. No torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from clevrhope.errors import ConfigError
from clevrhope.runtime.settings import Counts

MapKind = Literal["pixels", "resnet101"]
"""Kinds of features that provide maps."""

RESNET_SIDE = 14
"""Cells along each side of ResNet-101's layer3 maps of a 224 x 224 image."""


@dataclass(frozen=True)
class MapsConfig(Counts):
    """The image features and the stem of a model that reads maps.

    Attributes:
        features: "resnet101" maps, or "pixels" for a stem that learns from images.
        image_width: width of the images in pixels; only for "pixels", like the next four settings.
        image_height: height of the images in pixels.
        halvings: how often the stem halves the sides of an image.
        stem_channels: channels of the stem's first convolution; each further one has twice as many, up to
            `channels`, which the last one always has. 0 means `channels` throughout.
        shift: the most pixels by which each image is shifted at random in training.
        channels: channels of the stem's maps.
    """

    features: MapKind = "resnet101"
    image_width: int = 224
    image_height: int = 224
    halvings: int = 4
    stem_channels: int = 0
    shift: int = 0
    channels: int = 128

    least: ClassVar = {"image_width": 0, "image_height": 0, "stem_channels": 0, "shift": 0}

    def __post_init__(self) -> None:
        super().__post_init__()
        smallest = 2 << self.halvings
        if self.features == "pixels" and min(self.image_height, self.image_width) < smallest:
            raise ConfigError(
                f"images of {self.image_width} x {self.image_height} pixels are too small for "
                f"{self.halvings} halvings; set fewer with halvings"
            )

    @property
    def map_size(self) -> tuple[int, int]:
        """Height and width of the maps."""
        if self.features == "resnet101":
            return RESNET_SIDE, RESNET_SIDE
        return self.image_height >> self.halvings, self.image_width >> self.halvings
