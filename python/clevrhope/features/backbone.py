"""ResNet-101 as a frozen backbone, run on batches as large as memory allows."""

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


def read_resnet101(weights: Path | str | None, kind: str) -> tuple[nn.Module, str]:
    """The frozen network, and the SHA-256 of its file of weights or "random".

    Raises:
        ConfigError: no weights, or not those of a ResNet-101.
    """
    weights = given_weights(kind, weights)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RANDOM_SEED)
        # Residual branches start at zero: thirty random ones in a row would exceed float16's range.
        net = resnet101(weights=None, zero_init_residual=True)
    digest = RANDOM
    if str(weights) != RANDOM:
        path = Path(weights)
        load_into(net, read_weights(path, what=RESNET), path=path, what=RESNET)
        digest = file_digest(path)
    return net.eval().requires_grad_(False), digest


def normalised(images: Sequence[npt.NDArray[np.uint8]], device: torch.device) -> Tensor:
    """(n, 3, height, width) float32 of n RGB images, with ImageNet's mean and deviation removed."""
    stacked = torch.from_numpy(np.stack(images)).to(device)  # (n, height, width, 3)
    mean = torch.tensor(IMAGENET_MEAN, device=device)
    deviation = torch.tensor(IMAGENET_DEVIATION, device=device)
    return ((stacked.float() / 255 - mean) / deviation).permute(0, 3, 1, 2).contiguous()


class AdaptiveBatches:
    """Runs a function over rows in batches, whose size is halved whenever memory runs out."""

    def __init__(self, device: torch.device, *, on_gpu: int = 256, on_cpu: int = 16) -> None:
        self._device = device
        self.size = on_gpu if device.type == "cuda" else on_cpu
        """Rows per batch, as the last call left it."""

    def __call__(self, compute: Callable[[int, int], Tensor], n: int) -> Tensor:
        """`compute(first, stop)` of all n rows, joined, on the CPU.

        Raises:
            ConfigError: there is not enough memory for a single row.
        """
        done: list[Tensor] = []
        first = 0
        while first < n:
            try:
                stop = min(first + self.size, n)
                done.append(compute(first, stop).cpu())
                first = stop
            except RuntimeError as error:
                if not (isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)):
                    raise
                if self.size == 1:
                    raise ConfigError(
                        f"--device: {self._device} has not enough memory for one image; choose another"
                    ) from error
                self.size //= 2
                if self._device.type == "cuda":
                    torch.cuda.empty_cache()
        return torch.cat(done)


def up_to_layer3(net: nn.Module) -> nn.Sequential:
    """The network up to and including its third group of blocks (conv4): stride 16, 1024 channels."""
    names = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3")
    return nn.Sequential(*(cast(nn.Module, getattr(net, name)) for name in names))
