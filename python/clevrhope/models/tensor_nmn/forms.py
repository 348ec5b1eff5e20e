"""A batch's stem maps and programs in, the maps of its answers out: three ways of running the same modules.

- `run_modules` runs a module at a time on one map. It is what the others are held against.
- `run_bucketed` runs all nodes of a token together whose inputs are there, a convolution for each such run.
- `run_gathered` runs all nodes of a level together, whatever their tokens, by one batched product of
  matrices, each node's own weights gathered for it.

On a CPU the second takes half as long as the third or less, which starts far fewer kernels: what a GPU waits
for. All give the same scores but for rounding.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from clevrhope.models.tensor_nmn.bank import Kernels, ModuleBank
from clevrhope.models.tensor_nmn.levels import Plan, plan_levels, plan_runs

Arities = npt.NDArray[np.int8]
Convolve = Callable[[Tensor, Tensor], Tensor]
"""(n, C in, H, W) maps and (n,) tokens in, (n, C, H, W) maps out."""


def run_modules(bank: ModuleBank, maps: Tensor, programs: Tensor, arities: Arities) -> tuple[Tensor, Plan]:
    """Maps of the answers, (R, C, H, W), from stem maps (B, C, H, W), a node at a time; and how it went.

    Args:
        bank: the modules' weights.
        maps: of the stem.
        programs: (B, P) tokens.
        arities: how many inputs each token takes.
    """
    plan = plan_levels(programs, arities)
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
        outputs.append(_block(x, firsts[token], seconds[token]))
    return (torch.cat([outputs[root] for root in plan.roots]) if len(plan.roots) else maps[:0]), plan


def run_bucketed(bank: ModuleBank, maps: Tensor, programs: Tensor, arities: Arities) -> tuple[Tensor, Plan]:
    """As `run_modules`, a set of nodes with one token at a time."""
    plan = plan_runs(programs, arities)
    if not len(plan.roots):
        return maps[:0], plan
    # Weights are laid out as the maps are, once a step, or each convolution would do it.
    maps = maps.contiguous(memory_format=torch.channels_last)
    kernels = (_channels_last(each) for each in _kernels(bank))
    firsts, seconds, joins = (_one_by_one(each) for each in kernels)
    outputs: list[Tensor] = []  # (H, W, C) of each node

    def stacked(nodes: list[int]) -> Tensor:
        return torch.stack([outputs[node] for node in nodes]).permute(0, 3, 1, 2)

    rows = torch.from_numpy(plan.rows).to(maps.device)
    tokens, operands = plan.tokens.tolist(), plan.operands.T.tolist()
    for begin, end in plan.sets:
        token, (left, right) = tokens[begin], (each[begin:end] for each in operands)
        if left[0] < 0:
            x = maps[rows[begin:end]]
        elif right[0] < 0:
            x = stacked(left)
        else:
            pairs = torch.cat([stacked(left), stacked(right)], dim=1)
            x = torch.relu(_convolve(pairs, joins[bank.joining[token]]))
        outputs += _block(x, firsts[token], seconds[token]).permute(0, 2, 3, 1).unbind()
    return stacked(plan.roots.tolist()), plan


def run_gathered(bank: ModuleBank, maps: Tensor, programs: Tensor, arities: Arities) -> tuple[Tensor, Plan]:
    """As `run_modules`, a product of matrices a level."""
    plan = plan_levels(programs, arities)
    if not len(plan.roots):
        return maps[:0], plan
    first, second = (_gathered(each) for each in (bank.first, bank.second))
    join = _gathered(bank.joins, bank.join_places)
    on_device = _indices(plan, maps.device)
    tokens, rows, left, right = on_device[: 4 * len(plan)].view(4, -1)
    outputs: list[Tensor] = []
    for begin, end in plan.sets:
        here = slice(begin, end)
        if outputs:
            n_joins = int(np.count_nonzero(plan.operands[here, 1] >= 0))
            x = _inputs(join, outputs, begin, end, n_joins, tokens, left, right)
        else:
            x = maps[rows[here]]
        # In place, as nobody else holds what came out.
        hidden = first(x, tokens[here]).relu_()
        outputs.append(second(hidden, tokens[here]).add_(x).relu_())
    return _answers(outputs, plan, on_device[4 * len(plan) :].view(2, -1)), plan


def _kernels(bank: ModuleBank) -> tuple[Kernels, Kernels, Kernels]:
    return bank.first, bank.second, bank.joins


def _channels_last(kernels: Kernels) -> Kernels:
    weights = kernels.weights.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    return Kernels(weights, kernels.biases)


def _one_by_one(kernels: Kernels) -> list[tuple[Tensor, Tensor]]:
    """Weights and bias of each, taken apart at once: a view each would make a gradient as large as all."""
    return list(zip(kernels.weights.unbind(), kernels.biases.unbind(), strict=True))


def _convolve(x: Tensor, kernel: tuple[Tensor, Tensor]) -> Tensor:
    weights, biases = kernel
    return F.conv2d(x, weights, biases, padding=weights.shape[-1] // 2)


def _block(x: Tensor, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    """A residual block; in place, as nobody else holds what comes out of a convolution."""
    hidden = _convolve(x, first).relu_()
    return _convolve(hidden, second).add_(x).relu_()


def _gathered(kernels: Kernels, places: Tensor | None = None) -> Convolve:
    side = kernels.weights.shape[-1]
    weights = kernels.weights.flatten(2)  # (T, C, C in * side * side)

    def convolve(x: Tensor, tokens: Tensor) -> Tensor:
        tokens = tokens if places is None else places[tokens]
        n, _, height, width = x.shape
        # (n, C in * side * side, H * W)
        columns = F.unfold(x, side, padding=side // 2) if side > 1 else x.flatten(2)
        biases = kernels.biases[tokens].unsqueeze(2)  # (n, C, 1)
        return torch.baddbmm(biases, weights[tokens], columns).view(n, -1, height, width)

    return convolve


def _inputs(
    join: Convolve,
    outputs: list[Tensor],
    begin: int,
    end: int,
    n_joins: int,
    tokens: Tensor,
    left: Tensor,
    right: Tensor,
) -> Tensor:
    """What a level above the lowest takes, (n, C, H, W), inputs of two joined."""
    # The only input of a node is always on the level right below.
    below = begin - len(outputs[-1])
    joining = slice(end - n_joins, end)
    single = outputs[-1][left[begin : joining.start] - below]
    if not n_joins:
        return single
    earlier = torch.cat(outputs)
    pairs = torch.cat([earlier[left[joining]], earlier[right[joining]]], dim=1)
    return torch.cat([single, torch.relu(join(pairs, tokens[joining]))])


def _indices(plan: Plan, device: torch.device) -> Tensor:
    """All that maps are looked up by, in one transfer: nodes' tokens, rows, operands; roots in two orders."""
    order = np.argsort(plan.roots)  # roots as their levels give them
    back = np.argsort(order)
    lists = [plan.tokens, plan.rows, plan.operands[:, 0], plan.operands[:, 1], plan.roots[order], back]
    return torch.from_numpy(np.concatenate(lists)).to(device, non_blocking=True)


def _answers(outputs: list[Tensor], plan: Plan, roots: Tensor) -> Tensor:
    """The maps of the roots, (R, C, H, W), in the order of their programs."""
    sorted_roots, back = roots
    bounds = np.searchsorted(np.sort(plan.roots), plan.starts).tolist()
    taken = [
        output[sorted_roots[begin:end] - first]
        for output, (first, _), (begin, end) in zip(outputs, plan.sets, pairwise(bounds), strict=True)
        if begin < end
    ]
    return torch.cat(taken)[back]
