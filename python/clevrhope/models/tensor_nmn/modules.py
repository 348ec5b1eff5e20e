"""The weights of all modules of a Tensor-NMN, and two ways to run those of a batch of programs.

Their results are equal up to rounding, and are tested against those of one module at a time:

- `run_bucketed` runs all nodes of a token whose inputs are ready with one convolution.
- `run_gathered` runs all nodes of a level, whatever their tokens, as one batched matrix product, for which it
  gathers each node's own weights.

On a CPU, the first takes at most half as long. The second launches far fewer kernels, and a GPU spends its
time waiting for launches.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.models.tensor_nmn.config import ModuleInit
from clevrhope.models.tensor_nmn.levels import Plan, PlanIndices


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

    def joined(self) -> Bank:
        """The M x T modules of a stack of banks as one bank, where number m * T + t is token t of model m."""
        weights = self.weights()
        places = weights.join_places  # (M, T)
        starts = weights.joins.weights.shape[1] * torch.arange(len(places), device=places.device)
        first, second, joins = (Kernels(*(each.flatten(0, 1) for each in part)) for part in weights[:3])
        return Bank(first, second, joins, torch.where(places < 0, places, places + starts[:, None]).flatten())


def _kernels(n: int, channels: int, channels_in: int, side: int) -> tuple[nn.Parameter, nn.Parameter]:
    """Weights and biases as torch draws them for a convolution."""
    bound = 1 / math.sqrt(channels_in * side * side)
    weights = torch.empty(n, channels, channels_in, side, side).uniform_(-bound, bound)
    return nn.Parameter(weights), nn.Parameter(torch.empty(n, channels).uniform_(-bound, bound))


def run_bucketed(bank: Bank, maps: Tensor, plan: Plan, indices: PlanIndices) -> Tensor:
    """Runs a set of nodes of one token at a time.

    Args:
        bank: the modules' weights.
        maps: (B, C, H, W) from the stem.
        plan: the plan of the programs, by token.
        indices: the indices of the plan, on the maps' device.

    Returns:
        Maps (R, C, H, W) of the answers of the well-formed programs.
    """
    if not plan.n_roots:
        return maps[:0]
    # Weights get the layout of the maps once per step; otherwise each convolution would convert them anew.
    maps = maps.contiguous(memory_format=torch.channels_last)
    firsts, seconds, joins = (_one_by_one(_channels_last(kernels)) for kernels in bank[:3])
    join_places = bank.join_places.tolist()
    outputs: list[Tensor] = []  # (H, W, C) of each node

    def stacked(nodes: list[int]) -> Tensor:
        return torch.stack([outputs[node] for node in nodes]).permute(0, 3, 1, 2)

    tokens, _, lefts, rights, roots, _ = (each.tolist() for each in plan.on("cpu"))
    for begin, end in plan.sets:
        token, left, right = tokens[begin], lefts[begin:end], rights[begin:end]
        if left[0] < 0:
            x = maps[indices.rows[begin:end]]
        elif right[0] < 0:
            x = stacked(left)
        else:
            pairs = torch.cat([stacked(left), stacked(right)], dim=1)
            x = torch.relu(_convolve(pairs, joins[join_places[token]]))
        outputs += _block(x, firsts[token], seconds[token]).permute(0, 2, 3, 1).unbind()
    return stacked(roots)


def run_gathered(bank: Bank, maps: Tensor, plan: Plan, indices: PlanIndices) -> Tensor:
    """As `run_bucketed`, but runs each level as one batched matrix product; the plan must be by levels."""
    if not plan.n_roots:
        return maps[:0]
    sizes = [end - begin for begin, end in plan.sets]
    firsts = kernels_of_levels(bank.first, indices.tokens, sizes)
    seconds = kernels_of_levels(bank.second, indices.tokens, sizes)
    joining = [indices.tokens[end - n : end] for (_, end), n in zip(plan.sets, plan.n_joins, strict=True)]
    joins = kernels_of_levels(bank.joins, bank.join_places[torch.cat(joining)], plan.n_joins)
    outputs: list[Tensor] = []
    for (begin, end), n_joins, first, second, join in zip(
        plan.sets, plan.n_joins, firsts, seconds, joins, strict=True
    ):
        x = _inputs(join, outputs, begin, end, n_joins, indices) if outputs else maps[indices.rows[:end]]
        # In place, because nothing else uses the output.
        hidden = _products(x, first).relu_()
        outputs.append(_products(hidden, second).add_(x).relu_())
    return torch.cat(outputs).index_select(0, indices.roots)


def _channels_last(kernels: Kernels) -> Kernels:
    weights = kernels.weights.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    return Kernels(weights, kernels.biases)


def _one_by_one(kernels: Kernels) -> list[tuple[Tensor, Tensor]]:
    """Weights and bias of each kernel; unbound at once, as each view would get a gradient of full size."""
    return list(zip(kernels.weights.unbind(), kernels.biases.unbind(), strict=True))


def _convolve(x: Tensor, kernel: tuple[Tensor, Tensor]) -> Tensor:
    weights, biases = kernel
    return F.conv2d(x, weights, biases, padding=weights.shape[-1] // 2)


def _block(x: Tensor, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    """A residual block; in place, because nothing else uses the output of a convolution."""
    hidden = _convolve(x, first).relu_()
    return _convolve(hidden, second).add_(x).relu_()


class _Columns(torch.autograd.Function):
    """As `columns`, with a gradient that adds whole windows in float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, side: int) -> Tensor:
        ctx.side, ctx.map_size = side, x.shape[2:]
        padded = F.pad(x, [side // 2] * 4)
        windows = padded.unfold(2, side, 1).unfold(3, side, 1)  # (n, C, H, W, side, side)
        return windows.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (height, width), side, margin = ctx.map_size, ctx.side, ctx.side // 2
        n, n_numbers, _ = gradients[0].shape
        windows = gradients[0].view(n, n_numbers // side**2, side, side, height, width)
        dtype = torch.promote_types(windows.dtype, torch.float32)
        size = *windows.shape[:2], height + 2 * margin, width + 2 * margin
        x = torch.zeros(size, dtype=dtype, device=windows.device)
        for down in range(side):
            for right in range(side):
                x[:, :, down : down + height, right : right + width] += windows[:, :, down, right]
        inside = x[:, :, margin : margin + height, margin : margin + width]
        return inside.to(windows.dtype).contiguous(), None


def columns(x: Tensor, side: int) -> Tensor:
    """`F.unfold` with padding that keeps the size: (n, C, H, W) to (n, C * side * side, H * W), `side` odd.

    On a GPU, torch's function launches a kernel for each of the n maps, whereas this one copies all windows
    at once. Its gradient, `F.fold`, took a quarter of an update of 50 engines there.
    """
    return _Columns.apply(x, side)  # type: ignore[no-any-return]


def kernels_of_levels(kernels: Kernels, numbers: Tensor, sizes: list[int]) -> Iterable[Kernels]:
    """For each level, the kernels of its nodes, by the (N,) module numbers of the nodes.

    For gradients, all levels are gathered at once: each gathering has a gradient as large as all weights.
    """
    if torch.is_grad_enabled():
        return map(Kernels, *(torch.split(each[numbers], sizes) for each in kernels))
    return (Kernels(*(each[part] for each in kernels)) for part in torch.split(numbers, sizes))


def _products(x: Tensor, kernels: Kernels) -> Tensor:
    """Convolves each of n maps, (n, C in, H, W), with its own kernel."""
    weights, biases = kernels
    n, _, height, width = x.shape
    side = weights.shape[-1]
    windows = columns(x, side) if side > 1 else x.flatten(2)  # (n, C in * side * side, H * W)
    return torch.baddbmm(biases.unsqueeze(2), weights.flatten(2), windows).view(n, -1, height, width)


def _inputs(
    join: Kernels, outputs: list[Tensor], begin: int, end: int, n_joins: int, indices: PlanIndices
) -> Tensor:
    """The inputs (n, C, H, W) of a level above the lowest; those of binary nodes are joined."""
    # The input of a unary node is always on the level just below.
    below = begin - len(outputs[-1])
    joining = slice(end - n_joins, end)
    single = outputs[-1].index_select(0, indices.left[begin : joining.start] - below)
    if not n_joins:
        return single
    earlier = torch.cat(outputs)
    pairs = [earlier.index_select(0, each[joining]) for each in (indices.left, indices.right)]
    return torch.cat([single, torch.relu(_products(torch.cat(pairs, dim=1), join))])
