"""The weights of all modules of a Tensor-NMN, stacked so that a level can select them by token."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from clevrhope.models.tensor_nmn.config import ModuleInit


class Kernels(NamedTuple):
    """The weights of T convolutions of one shape."""

    weights: Tensor  # (T, C, C in, k, k)
    biases: Tensor  # (T, C)


class Bank(NamedTuple):
    """The weights of T modules, which are selected by module numbers."""

    first: Kernels  # the first convolution of each module's block
    second: Kernels  # the second one
    joins: Kernels  # the convolutions that join two inputs
    join_places: Tensor  # (T,) each module's index in `joins`; -1 if it has none


class ModuleBank(nn.Module):
    """A residual block of two 3 x 3 convolutions per token, and a 1 x 1 convolution to join two inputs.

    Special tokens have a block too, as in the public code, although no program runs it, so that the number of
    parameters matches the published one.

    Args:
        arities: the number of inputs of each token; -1 for special tokens.
        channels: channels of all maps.
        init: how weights are initialised. "torch": uniform, as torch does for a convolution. "he": normal,
            with the deviations of He et al. (2015) before a ReLU and about a third of them before the sum
            with a block's input; biases 0. This is a choice of this project.
    """

    join_places: Tensor

    def __init__(self, arities: npt.NDArray[np.int8], channels: int, init: ModuleInit = "torch") -> None:
        super().__init__()
        n_tokens, joining = len(arities), np.flatnonzero(arities == 2)
        self.first_weights, self.first_biases = _kernels(n_tokens, channels, channels, 3)
        self.second_weights, self.second_biases = _kernels(n_tokens, channels, channels, 3)
        self.join_weights, self.join_biases = _kernels(len(joining), channels, 2 * channels, 1)
        if init == "he":
            for weights, biases, gain in (
                (self.first_weights, self.first_biases, math.sqrt(2)),
                (self.second_weights, self.second_biases, 0.5),
                (self.join_weights, self.join_biases, math.sqrt(2)),
            ):
                n_inputs = math.prod(weights.shape[2:])
                nn.init.normal_(weights, std=gain / math.sqrt(n_inputs))
                nn.init.zeros_(biases)
        places = torch.full((n_tokens,), -1)
        places[torch.from_numpy(joining)] = torch.arange(len(joining))
        self.register_buffer("join_places", places, persistent=False)

    def weights(self) -> Bank:
        """The weights of all tokens' modules; in a stack, each with a first axis for the models."""
        return Bank(
            Kernels(self.first_weights, self.first_biases),
            Kernels(self.second_weights, self.second_biases),
            Kernels(self.join_weights, self.join_biases),
            self.join_places,
        )


def _kernels(n: int, channels: int, channels_in: int, side: int) -> tuple[nn.Parameter, nn.Parameter]:
    """Weights and biases as torch draws them for a convolution."""
    bound = 1 / math.sqrt(channels_in * side * side)
    weights = torch.empty(n, channels, channels_in, side, side).uniform_(-bound, bound)
    return nn.Parameter(weights), nn.Parameter(torch.empty(n, channels).uniform_(-bound, bound))
