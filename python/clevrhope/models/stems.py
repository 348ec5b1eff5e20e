"""Stems: the first layers of models that read maps, from image features to (B, channels, H, W)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.maps import RESNET_SIDE, MapsConfig

RESNET_CHANNELS = 1024
"""Channels of ResNet-101's layer3."""

Generators = Sequence[torch.Generator | None]


class PixelStem(nn.Module):
    """4 x 4 convolutions of stride 2, each of which halves the sides of the image, batch norm and ReLU.

    Source: FiLM from raw pixels (Perez et al. 2018): four of them, 128 channels, 224 x 224 to 14 x 14.
    Choices of this project are `stem_channels`, and the random shifts in training, which keep a model from
    memorising a small set of images.
    """

    def __init__(self, config: MapsConfig) -> None:
        super().__init__()
        self.config = config
        layers: list[nn.Module] = []
        first = config.stem_channels or config.channels
        widths = [min(config.channels, first << number) for number in range(config.halvings - 1)]
        for n_in, n in pairwise([3, *widths, config.channels]):
            # Batch norm has its own bias.
            layers.append(nn.Conv2d(n_in, n, 4, stride=2, padding=1, bias=False))
            layers += [nn.BatchNorm2d(n), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(B, 3, H, W) uint8 `pixels` to (B, channels, H / 2^n, W / 2^n); errors as for `images`."""
        return self.layers(self.images(features))  # type: ignore[no-any-return]

    def images(self, features: Mapping[str, Tensor], generators: Generators = (None,)) -> Tensor:
        """Scales (B, 3, H, W) uint8 `pixels` to between -1 and 1, and shifts them in training; see `shifted`.

        Raises:
            ConfigError: the images have another size than the model was built for; says which settings to
                change.
        """
        pixels = features["pixels"]
        height, width = pixels.shape[-2:]
        config = self.config
        if (width, height) != (config.image_width, config.image_height):
            raise ConfigError(
                f"the images are {width} x {height} pixels, but the model was made for "
                f"{config.image_width} x {config.image_height}; set image_width to {width} and image_height "
                f"to {height}, or make features with --size {config.image_width}x{config.image_height}"
            )
        # Channels last: measured to be a sixth faster on a CPU; maps keep this layout from here on.
        layout = torch.contiguous_format if pixels.is_cuda else torch.channels_last
        scaled = torch.empty_like(pixels, dtype=next(self.parameters()).dtype, memory_format=layout)
        scaled.copy_(pixels).div_(127.5).sub_(1.0)  # -1 to 1
        if self.training and config.shift:
            return shifted(scaled, config.shift, generators)
        return scaled


def shifted(images: Tensor, most: int, generators: Generators = (None,)) -> Tensor:
    """(B, C, H, W) images, each shifted at random by up to `most` pixels along each axis; edges are repeated.

    Each generator draws for an equal part of the images; None stands for torch's own.
    """
    n, n_channels, height, width = images.shape
    shape, device = (2, n // len(generators), 1), images.device
    draws = [
        torch.randint(-most, most + 1, shape, device=device, generator=generator) for generator in generators
    ]
    moves = torch.cat(draws, dim=1)  # (2, B, 1)
    rows = (torch.arange(height, device=images.device) + moves[0]).clamp(0, height - 1)  # (B, H)
    columns = (torch.arange(width, device=images.device) + moves[1]).clamp(0, width - 1)  # (B, W)
    rows = rows + height * torch.arange(n, device=images.device)[:, None]
    indices = rows[:, :, None] * width + columns[:, None, :]  # (B, H, W)
    # One index per pixel takes half the time of indexing images, rows and columns.
    pixels = images.permute(0, 2, 3, 1).reshape(-1, n_channels)
    return pixels.index_select(0, indices.flatten()).view(n, height, width, n_channels).permute(0, 3, 1, 2)


class ResnetMaps(nn.Module):
    """ResNet-101's maps unchanged, for models that begin with layers of their own."""

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(B, 1024, 14, 14) float16 `maps` to the same in float32.

        Raises:
            ConfigError: the maps have another size; says how to make the right ones.
        """
        height, width = features["maps"].shape[-2:]
        if (height, width) != (RESNET_SIDE, RESNET_SIDE):
            raise ConfigError(
                f"the features are maps of {width} x {height} cells, but models of resnet101 are made for "
                f"{RESNET_SIDE} x {RESNET_SIDE}; make them without --size, whose default is 224x224"
            )
        return features["maps"].float()


class ResnetStem(nn.Module):
    """Two 3 x 3 convolutions without batch norm: from 1024 channels to 64 to the model's number.

    Source: the public Tensor-NMN that the paper followed.
    """

    MIDDLE = 64

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.maps = ResnetMaps()
        self.first = nn.Conv2d(RESNET_CHANNELS, self.MIDDLE, 3, padding=1)
        self.second = nn.Conv2d(self.MIDDLE, channels, 3, padding=1)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(B, 1024, 14, 14) float16 `maps` to (B, channels, 14, 14); errors as for `ResnetMaps`."""
        maps = self.maps(features).to(self.first.weight.dtype)
        return torch.relu(self.second(torch.relu(self.first(maps))))


def make_stem(config: MapsConfig) -> nn.Module:
    """The stem of the two module networks, for the kind of features in the configuration."""
    return PixelStem(config) if config.features == "pixels" else ResnetStem(config.channels)


def make_maps(config: MapsConfig) -> tuple[nn.Module, int]:
    """The source of maps for a model with its own convolutions, and the number of channels."""
    if config.features == "pixels":
        return PixelStem(config), config.channels
    return ResnetMaps(), RESNET_CHANNELS


def with_coordinates(maps: Tensor) -> Tensor:
    """(..., C, H, W) maps with two extra channels: the x and y coordinates of each cell, from -1 to 1."""
    *several, _, height, width = maps.shape
    across = torch.linspace(-1, 1, width, device=maps.device, dtype=maps.dtype)
    down = torch.linspace(-1, 1, height, device=maps.device, dtype=maps.dtype).unsqueeze(1)
    both = [each.expand(*several, 1, height, width) for each in (across, down)]
    return torch.cat([maps, *both], dim=-3)
