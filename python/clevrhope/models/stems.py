"""Pictures' features in, maps out: (B, channels, H, W), the form that models of maps begin with."""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError

MapKind = Literal["pixels", "resnet101"]
"""Kinds of features that maps are made from."""

RESNET_CHANNELS, RESNET_SIDE = 1024, 14
"""Of ResNet-101 up to layer3, on a picture of 224 x 224."""


class PixelStem(nn.Module):
    """Four-by-four convolutions of stride 2 with batch norm: each halves the picture's sides.

    Source: FiLM from raw pixels (Perez et al. 2018): four of them, 128 channels, 224 x 224 to 14 x 14. Batch
    norm before ReLU is a choice, as are `first_channels` for the first of them and twice as many for each of
    the next; with 0 all have `channels`.

    In training each picture is moved by up to `shift` pixels each way, its edges continued: a choice, against
    learning few pictures by heart.
    """

    def __init__(self, channels: int, n_halvings: int, first_channels: int = 0, shift: int = 0) -> None:
        super().__init__()
        self.shift = shift
        layers: list[nn.Module] = []
        n_before = 3
        for number in range(n_halvings):
            is_last = number + 1 == n_halvings
            n = channels if is_last else min(channels, (first_channels or channels) << number)
            # Batch norm has a bias of its own.
            layers.append(nn.Conv2d(n_before, n, 4, stride=2, padding=1, bias=False))
            layers += [nn.BatchNorm2d(n), nn.ReLU(inplace=True)]
            n_before = n
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(B, 3, H, W) uint8 `pixels` to (B, channels, H / 2^n, W / 2^n)."""
        pixels = features["pixels"]
        # Channels side by side in memory: a sixth faster on a CPU, measured; maps stay so from here on.
        layout = torch.contiguous_format if pixels.is_cuda else torch.channels_last
        scaled = torch.empty_like(pixels, dtype=next(self.parameters()).dtype, memory_format=layout)
        scaled.copy_(pixels).div_(127.5).sub_(1.0)  # -1 to 1
        if self.training and self.shift:
            scaled = shifted(scaled, self.shift)
        return self.layers(scaled)  # type: ignore[no-any-return]


def shifted(pictures: Tensor, most: int) -> Tensor:
    """(B, C, H, W) pictures, each moved by up to `most` pixels down or up and across, edges continued."""
    n, n_channels, height, width = pictures.shape
    moves = torch.randint(-most, most + 1, (2, n, 1), device=pictures.device)
    rows = (torch.arange(height, device=pictures.device) + moves[0]).clamp(0, height - 1)  # (B, H)
    columns = (torch.arange(width, device=pictures.device) + moves[1]).clamp(0, width - 1)  # (B, W)
    rows = rows + height * torch.arange(n, device=pictures.device)[:, None]
    places = rows[:, :, None] * width + columns[:, None, :]
    # Pixels as rows of a table: half the time of indexing pictures, rows and columns.
    pixels = pictures.permute(0, 2, 3, 1).reshape(-1, n_channels)
    moved = pixels.index_select(0, places.flatten())
    return moved.view(n, height, width, n_channels).permute(0, 3, 1, 2)


class ResnetStem(nn.Module):
    """Two 3x3 convolutions, 1024 to 64 to the model's channels; no batch norm.

    Source: the public Tensor-NMN that the paper followed.
    """

    MIDDLE = 64

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(RESNET_CHANNELS, self.MIDDLE, 3, padding=1)
        self.second = nn.Conv2d(self.MIDDLE, channels, 3, padding=1)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(B, 1024, 14, 14) float16 `maps` to (B, channels, 14, 14)."""
        maps = features["maps"].to(self.first.weight.dtype)
        return torch.relu(self.second(torch.relu(self.first(maps))))


def make_stem(
    kind: MapKind, channels: int, n_halvings: int, first_channels: int = 0, shift: int = 0
) -> nn.Module:
    """The stem for a kind of features; the last two are for pixels."""
    if kind == "pixels":
        return PixelStem(channels, n_halvings, first_channels, shift)
    return ResnetStem(channels)


def map_size(kind: MapKind, model: str, height: int, width: int, n_halvings: int) -> tuple[int, int]:
    """Height and width of the maps that `make_stem`'s stem gives.

    Raises:
        ConfigError: pictures that cannot be halved so often.
    """
    if kind == "resnet101":
        return RESNET_SIDE, RESNET_SIDE
    factor = 2**n_halvings
    if min(height, width) < 2 * factor:
        raise ConfigError(
            f"{model}: pictures of {width} x {height} pixels are too small for {n_halvings} halvings; "
            "set fewer with halvings"
        )
    return height // factor, width // factor


def check_pictures(features: Mapping[str, Tensor], kind: MapKind, height: int, width: int) -> None:
    """Passes for pictures of the size that a model was made for.

    Raises:
        ConfigError: they have another; says which settings to change.
    """
    if kind != "pixels":
        return
    found = tuple(features["pixels"].shape[-2:])
    if found != (height, width):
        raise ConfigError(
            f"the pictures are {found[1]} x {found[0]} pixels, the model was made for {width} x {height}; "
            f"set picture_width to {found[1]} and picture_height to {found[0]}"
        )


def with_places(maps: Tensor) -> Tensor:
    """(B, C, H, W) with two more channels: where each cell lies across and down, from -1 to 1."""
    n, _, height, width = maps.shape
    across = torch.linspace(-1, 1, width, device=maps.device, dtype=maps.dtype).expand(n, 1, height, width)
    down = torch.linspace(-1, 1, height, device=maps.device, dtype=maps.dtype)
    return torch.cat([maps, across, down.unsqueeze(1).expand(n, 1, height, width)], dim=1)
