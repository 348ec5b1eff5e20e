"""A batch's stem maps and levels in, the maps of its answers out: three ways of running the same modules.

- `run_modules` runs a module at a time on one map. It is what the others are held against.
- `run_bucketed` and `run_gathered` run all nodes of a level together: the first with a convolution for each
  run of nodes with the same token, the second with one batched product of matrices, each node's own weights
  gathered for it. On a CPU the first takes half as long as the second, which starts far fewer kernels: what a
  GPU waits for.

All give the same scores but for rounding.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clevrhope.models.tensor_nmn.bank import Kernels, ModuleBank
from clevrhope.models.tensor_nmn.levels import Level, Levels, Run

Convolve = Callable[[Tensor, Sequence[Run], Tensor], Tensor]
"""(n, C in, H, W) maps, the runs of nodes that they belong to and (n,) tokens in, (n, C, H, W) maps out."""


def run_modules(bank: ModuleBank, maps: Tensor, plan: Levels) -> Tensor:
    """Maps of the answers, (R, C, H, W), from stem maps (B, C, H, W), a node at a time."""
    outputs: list[Tensor] = []
    firsts, seconds, joins = (_one_by_one(each) for each in _kernels(bank))
    for token, row, operands in zip(
        plan.tokens.tolist(), plan.rows.tolist(), plan.operands.tolist(), strict=True
    ):
        inputs = [outputs[operand] for operand in operands if operand >= 0]
        if not inputs:
            x = maps[row : row + 1]
        elif len(inputs) == 1:
            x = inputs[0]
        else:
            x = torch.relu(_convolve(torch.cat(inputs, dim=1), joins[bank.joining[token]]))
        hidden = torch.relu(_convolve(x, firsts[token]))
        outputs.append(torch.relu(x + _convolve(hidden, seconds[token])))
    return torch.cat([outputs[root] for root in plan.roots]) if len(plan.roots) else maps[:0]


def run_bucketed(bank: ModuleBank, maps: Tensor, plan: Levels) -> Tensor:
    """As `run_modules`, a convolution a run of nodes with one level and token."""
    if maps.is_contiguous(memory_format=torch.channels_last):
        first, second, join = (_channels_last(each) for each in _kernels(bank))
    else:
        first, second, join = _kernels(bank)
    places = {token: token for token in range(len(first.weights))}
    return _run_levels(
        (_bucketed(first, places), _bucketed(second, places), _bucketed(join, bank.joining)), maps, plan
    )


def run_gathered(bank: ModuleBank, maps: Tensor, plan: Levels) -> Tensor:
    """As `run_modules`, a product of matrices a level."""
    first, second, join = _kernels(bank)
    return _run_levels((_gathered(first), _gathered(second), _gathered(join, bank.join_places)), maps, plan)


def _kernels(bank: ModuleBank) -> tuple[Kernels, Kernels, Kernels]:
    return bank.first, bank.second, bank.joins


def _channels_last(kernels: Kernels) -> Kernels:
    """The same, laid out as the maps are: once a step, or each convolution would do it for itself."""
    weights = kernels.weights.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    return Kernels(weights, kernels.biases)


def _one_by_one(kernels: Kernels) -> list[tuple[Tensor, Tensor]]:
    """Weights and bias of each, taken apart at once: a view each would make a gradient as large as all."""
    return list(zip(kernels.weights.unbind(), kernels.biases.unbind(), strict=True))


def _convolve(x: Tensor, kernel: tuple[Tensor, Tensor]) -> Tensor:
    weights, biases = kernel
    return F.conv2d(x, weights, biases, padding=weights.shape[-1] // 2)


def _bucketed(kernels: Kernels, places: dict[int, int]) -> Convolve:
    kernel_of = _one_by_one(kernels)

    def convolve(x: Tensor, runs: Sequence[Run], tokens: Tensor) -> Tensor:
        parts = torch.split(x, [run.end - run.begin for run in runs])
        made = [_convolve(part, kernel_of[places[run.token]]) for part, run in zip(parts, runs, strict=True)]
        return torch.cat(made) if len(made) > 1 else made[0]

    return convolve


def _gathered(kernels: Kernels, places: Tensor | None = None) -> Convolve:
    side = kernels.weights.shape[-1]
    weights = kernels.weights.flatten(2)  # (T, C, C in * side * side)

    def convolve(x: Tensor, runs: Sequence[Run], tokens: Tensor) -> Tensor:
        tokens = tokens if places is None else places[tokens]
        n, _, height, width = x.shape
        if side > 1:
            padded = F.pad(x, (side // 2,) * 4)
            windows = padded.unfold(2, side, 1).unfold(3, side, 1)  # (n, C in, H, W, side, side)
            x = windows.permute(0, 1, 4, 5, 2, 3)
        columns = x.reshape(n, -1, height * width)  # (n, C in * side * side, H * W)
        biases = kernels.biases[tokens].unsqueeze(2)  # (n, C, 1)
        return torch.baddbmm(biases, weights[tokens], columns).view(n, -1, height, width)

    return convolve


def _run_levels(convolve: tuple[Convolve, Convolve, Convolve], maps: Tensor, plan: Levels) -> Tensor:
    if not len(plan.roots):
        return maps[:0]
    on_device = _indices(plan, maps.device)
    tokens, rows, left, right = on_device[: 4 * len(plan)].view(4, -1)
    outputs: list[Tensor] = []
    for level in plan.levels:
        above = bool(outputs)
        x = _inputs(convolve[2], outputs, level, tokens, left, right) if above else maps[rows[: level.end]]
        here = tokens[level.begin : level.end]
        # In place, as nobody else holds what came out.
        hidden = convolve[0](x, level.runs, here).relu_()
        outputs.append(convolve[1](hidden, level.runs, here).add_(x).relu_())
    return _answers(outputs, plan, on_device[4 * len(plan) :].view(2, -1))


def _inputs(
    join: Convolve, outputs: list[Tensor], level: Level, tokens: Tensor, left: Tensor, right: Tensor
) -> Tensor:
    """What a level above the lowest takes, (n, C, H, W), inputs of two joined."""
    below = level.begin - len(outputs[-1])
    # The only input of a node is always on the level right below.
    single = outputs[-1][left[level.begin : level.joins_begin] - below]
    if level.joins_begin == level.end:
        return single
    earlier = torch.cat(outputs)
    joining = slice(level.joins_begin, level.end)
    pairs = torch.cat([earlier[left[joining]], earlier[right[joining]]], dim=1)
    runs = [run for run in level.runs if run.begin >= level.joins_begin]
    return torch.cat([single, torch.relu(join(pairs, runs, tokens[joining]))])


def _indices(plan: Levels, device: torch.device) -> Tensor:
    """All that maps are looked up by, in one transfer: nodes' tokens, rows, operands; roots in two orders."""
    order = np.argsort(plan.roots)  # roots as their levels give them
    back = np.argsort(order)
    lists = [plan.tokens, plan.rows, plan.operands[:, 0], plan.operands[:, 1], plan.roots[order], back]
    return torch.from_numpy(np.concatenate(lists)).to(device, non_blocking=True)


def _answers(outputs: list[Tensor], plan: Levels, roots: Tensor) -> Tensor:
    """The maps of the roots, (R, C, H, W), in the order of their programs."""
    sorted_roots, back = roots
    bounds = np.searchsorted(np.sort(plan.roots), [0, *(level.end for level in plan.levels)]).tolist()
    taken = [
        output[sorted_roots[begin:end] - level.begin]
        for output, level, (begin, end) in zip(outputs, plan.levels, pairwise(bounds), strict=True)
        if begin < end
    ]
    return torch.cat(taken)[back]
