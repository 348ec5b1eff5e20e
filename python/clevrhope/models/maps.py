"""What can be set of models that read maps of an image: features, and the stem before them. No torch."""

from dataclasses import dataclass
from typing import Literal

from clevrhope.config.options import check_at_least
from clevrhope.errors import ConfigError

MapKind = Literal["pixels", "resnet101"]
"""Kinds of features that maps are made from."""

RESNET_SIDE = 14
"""Of ResNet-101's maps up to layer3, of an image of 224 x 224."""


@dataclass(frozen=True)
class MapsConfig:
    """How a model of maps begins.

    Attributes:
        features: "resnet101" maps, or "pixels" for a stem that learns from images.
        picture_width: of the images, in pixels; for "pixels" alone, as are the next four.
        picture_height: as well.
        halvings: how often the stem halves their sides.
        stem_channels: of the stem's first convolution; each further one has twice as many, up to `channels`,
            which the last one has in any case. 0 for as many as `channels` throughout.
        shift: pixels that images are moved by at most, each in its own direction, in training.
        channels: of the stem's maps.
    """

    features: MapKind = "resnet101"
    picture_width: int = 224
    picture_height: int = 224
    halvings: int = 4
    stem_channels: int = 0
    shift: int = 0
    channels: int = 128

    def check_maps(self, model: str) -> None:
        """Passes for values that make sense.

        Raises:
            ConfigError: one does not, or images cannot be halved so often.
        """
        check_at_least(model, 1, halvings=self.halvings, channels=self.channels)
        check_at_least(model, 0, stem_channels=self.stem_channels, shift=self.shift)
        least = 2 << self.halvings
        if self.features == "pixels" and min(self.picture_height, self.picture_width) < least:
            raise ConfigError(
                f"{model}: images of {self.picture_width} x {self.picture_height} pixels are too small for "
                f"{self.halvings} halvings; set fewer with halvings"
            )

    @property
    def map_size(self) -> tuple[int, int]:
        """Height and width of the maps."""
        if self.features == "resnet101":
            return RESNET_SIDE, RESNET_SIDE
        return self.picture_height >> self.halvings, self.picture_width >> self.halvings
