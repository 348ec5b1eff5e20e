"""ResNet-101 as a frozen backbone."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from torchvision.models import resnet101

from clevrhope.features.extractor import ImageArray
from clevrhope.features.kinds import RANDOM, RESNET, given_weights
from clevrhope.features.weights import file_digest, load_into, read_weights

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_DEVIATION = (0.229, 0.224, 0.225)

RANDOM_SEED = 0


def read_resnet101(weights: Path | str | None, kind: str) -> tuple[nn.Module, str]:
    """The frozen network, and the SHA-256 of its weights file or "random".

    Raises:
        ConfigError: there are no weights, or they are not those of a ResNet-101.
    """
    weights = given_weights(kind, weights)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RANDOM_SEED)
        # Residual branches start at zero: thirty random ones in a row would overflow float16.
        net = resnet101(weights=None, zero_init_residual=True)
    digest = RANDOM
    if str(weights) != RANDOM:
        path = Path(weights)
        load_into(net, read_weights(path, what=RESNET), path=path, what=RESNET)
        digest = file_digest(path)
    return net.eval().requires_grad_(False), digest


def normalised(
    images: ImageArray,
    device: torch.device,
    mean: Sequence[float] = IMAGENET_MEAN,
    deviation: Sequence[float] = IMAGENET_DEVIATION,
) -> Tensor:
    """(n, 3, height, width) float32 from (n, height, width, 3) uint8 RGB images, scaled from 0 to 1.

    Each channel is normalised by mean and deviation: ImageNet's, or those given.
    """
    pixels = torch.from_numpy(images).to(device).float() / 255
    pixels = (pixels - torch.tensor(mean, device=device)) / torch.tensor(deviation, device=device)
    return pixels.permute(0, 3, 1, 2).contiguous()


def batch_size(device: torch.device) -> int:
    """Number of images that a ResNet-101 processes at a time."""
    return 256 if device.type == "cuda" else 16


def up_to_layer3(net: nn.Module) -> nn.Sequential:
    """The network up to and including its third group of blocks (conv4): stride 16, 1024 channels."""
    names = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3")
    return nn.Sequential(*(cast(nn.Module, getattr(net, name)) for name in names))
