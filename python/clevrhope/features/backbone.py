"""ResNet-101 with local or random weights in; images to maps, on batches that the memory holds, out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torchvision.models import resnet101

from clevrhope.errors import ConfigError
from clevrhope.features.kinds import RANDOM, RESNET, given_weights
from clevrhope.features.weights import file_digest, load_into, read_weights

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_DEVIATION = (0.229, 0.224, 0.225)

RANDOM_SEED = 0

_START = {"cuda": 256, "cpu": 16}


def read_resnet101(weights: Path | str | None, kind: str) -> tuple[nn.Module, str]:
    """The network, frozen, and the SHA-256 of its weights' file or "random".

    Raises:
        ConfigError: no weights, or others than a ResNet-101's.
    """
    weights = given_weights(kind, weights)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RANDOM_SEED)
        # Residual branches begin as zeros: thirty random ones in a row would leave float16's range.
        net = resnet101(weights=None, zero_init_residual=True)
    digest = RANDOM
    if str(weights) != RANDOM:
        path = Path(weights)
        load_into(net, read_weights(path, what=RESNET), path=path, what=RESNET)
        digest = file_digest(path)
    return net.eval().requires_grad_(False), digest


def standardised(images: Sequence[npt.NDArray[np.uint8]], device: torch.device) -> Tensor:
    """(n, 3, height, width) float32, minus ImageNet's mean and over its deviation, of RGB images."""
    stacked = torch.from_numpy(np.stack(images)).to(device)  # (n, height, width, 3)
    mean = torch.tensor(IMAGENET_MEAN, device=device)
    deviation = torch.tensor(IMAGENET_DEVIATION, device=device)
    return ((stacked.float() / 255 - mean) / deviation).permute(0, 3, 1, 2).contiguous()


class Batches:
    """Runs a function over rows in batches as large as the memory holds: halved where it runs out."""

    def __init__(self, device: torch.device, *, start: int | None = None) -> None:
        self._device = device
        self.size = start or _START.get(device.type, 16)
        """Rows at once; what the last call found."""

    def __call__(self, compute: Callable[[int, int], Tensor], n: int) -> Tensor:
        """`compute(first, behind the last)` of all rows, joined, on the CPU.

        Raises:
            ConfigError: one row alone is too much.
        """
        done: list[Tensor] = []
        first = 0
        while first < n:
            try:
                stop = min(first + self.size, n)
                done.append(compute(first, stop).cpu())
                first = stop
            except RuntimeError as error:
                if not _out_of_memory(error):
                    raise
                if self.size == 1:
                    raise ConfigError(
                        f"--device: {self._device} has not enough memory for one image; choose another"
                    ) from error
                self.size //= 2
                if self._device.type == "cuda":
                    torch.cuda.empty_cache()
        return torch.cat(done)


def _out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)


def up_to_layer3(net: nn.Module) -> nn.Sequential:
    """The network up to and including its third group of blocks (conv4): stride 16, 1024 channels."""
    names = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3")
    return nn.Sequential(*(cast(nn.Module, getattr(net, name)) for name in names))
