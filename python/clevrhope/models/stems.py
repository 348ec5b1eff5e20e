"""Images' features in, maps out: (B, channels, H, W), the form that models of maps begin with."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.maps import RESNET_SIDE, MapsConfig

RESNET_CHANNELS = 1024
"""Of ResNet-101 up to layer3."""


class PixelStem(nn.Module):
    """Four-by-four convolutions of stride 2 with batch norm: each halves the image's sides.

    Source: FiLM from raw pixels (Perez et al. 2018): four of them, 128 channels, 224 x 224 to 14 x 14. Batch
    norm before ReLU is a choice, as are `stem_channels` for the first of them and twice as many for each of
    the next; with 0 all have `channels`.

    In training each image is moved by up to `shift` pixels each way, its edges continued: a choice, against
    learning few images by heart.
    """

    def __init__(self, config: MapsConfig) -> None:
        super().__init__()
        self.config = config
        layers: list[nn.Module] = []
        n_before = 3
        for number in range(config.halvings):
            is_last = number + 1 == config.halvings
            begun_with = (config.stem_channels or config.channels) << number
            n = config.channels if is_last else min(config.channels, begun_with)
            # Batch norm has a bias of its own.
            layers.append(nn.Conv2d(n_before, n, 4, stride=2, padding=1, bias=False))
            layers += [nn.BatchNorm2d(n), nn.ReLU(inplace=True)]
            n_before = n
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(B, 3, H, W) uint8 `pixels` to (B, channels, H / 2^n, W / 2^n).

        Raises:
            ConfigError: images of another size than the model was made for; says which settings to change.
        """
        pixels = features["pixels"]
        self._check(pixels)
        # Channels side by side in memory: a sixth faster on a CPU, measured; maps stay so from here on.
        layout = torch.contiguous_format if pixels.is_cuda else torch.channels_last
        scaled = torch.empty_like(pixels, dtype=next(self.parameters()).dtype, memory_format=layout)
        scaled.copy_(pixels).div_(127.5).sub_(1.0)  # -1 to 1
        if self.training and self.config.shift:
            scaled = shifted(scaled, self.config.shift)
        return self.layers(scaled)  # type: ignore[no-any-return]

    def _check(self, pixels: Tensor) -> None:
        found = tuple(pixels.shape[-1:-3:-1])
        made_for = (self.config.picture_width, self.config.picture_height)
        if found != made_for:
            raise ConfigError(
                "the images are {} x {} pixels, the model was made for {} x {}; ".format(*found, *made_for)
                + "set picture_width to {} and picture_height to {}, ".format(*found)
                + "or make features with --size {}x{}".format(*made_for)
            )


def shifted(images: Tensor, most: int) -> Tensor:
    """(B, C, H, W) images, each moved by up to `most` pixels down or up and across, edges continued."""
    n, n_channels, height, width = images.shape
    moves = torch.randint(-most, most + 1, (2, n, 1), device=images.device)
    rows = (torch.arange(height, device=images.device) + moves[0]).clamp(0, height - 1)  # (B, H)
    columns = (torch.arange(width, device=images.device) + moves[1]).clamp(0, width - 1)  # (B, W)
    rows = rows + height * torch.arange(n, device=images.device)[:, None]
    places = rows[:, :, None] * width + columns[:, None, :]
    # Pixels as rows of a table: half the time of indexing images, rows and columns.
    pixels = images.permute(0, 2, 3, 1).reshape(-1, n_channels)
    moved = pixels.index_select(0, places.flatten())
    return moved.view(n, height, width, n_channels).permute(0, 3, 1, 2)


class ResnetStem(nn.Module):
    """Two 3x3 convolutions, 1024 to 64 to the model's channels; no batch norm.

    Maps keep their size, 14 x 14, which is that of images of 224 x 224.

    Source: the public Tensor-NMN that the paper followed.
    """

    MIDDLE = 64

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(RESNET_CHANNELS, self.MIDDLE, 3, padding=1)
        self.second = nn.Conv2d(self.MIDDLE, channels, 3, padding=1)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(B, 1024, 14, 14) float16 `maps` to (B, channels, 14, 14).

        Raises:
            ConfigError: maps of another size; says how to make those.
        """
        height, width = features["maps"].shape[-2:]
        if (height, width) != (RESNET_SIDE, RESNET_SIDE):
            raise ConfigError(
                f"the features are maps of {width} x {height} cells, models of resnet101 are made for "
                f"{RESNET_SIDE} x {RESNET_SIDE}; make them without --size, which is 224x224"
            )
        maps = features["maps"].to(self.first.weight.dtype)
        return torch.relu(self.second(torch.relu(self.first(maps))))


def make_stem(config: MapsConfig) -> nn.Module:
    """The stem for a kind of features."""
    return PixelStem(config) if config.features == "pixels" else ResnetStem(config.channels)


def with_places(maps: Tensor) -> Tensor:
    """(B, C, H, W) with two more channels: where each cell lies across and down, from -1 to 1."""
    n, _, height, width = maps.shape
    across = torch.linspace(-1, 1, width, device=maps.device, dtype=maps.dtype).expand(n, 1, height, width)
    down = torch.linspace(-1, 1, height, device=maps.device, dtype=maps.dtype)
    return torch.cat([maps, across, down.unsqueeze(1).expand(n, 1, height, width)], dim=1)
