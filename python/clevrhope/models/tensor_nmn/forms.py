"""Three ways of running the modules of a batch of programs, which give the same maps up to rounding.

- `run_modules` runs one module at a time on one map. The others are tested against it.
- `run_bucketed` runs all nodes of a token whose inputs are ready with one convolution.
- `run_gathered` runs all nodes of a level, whatever their tokens, as one batched matrix product with each
  node's own weights gathered for it.

On a CPU the second takes half as long as the third or less. The third starts far fewer kernels, which is what
a GPU waits for.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from clevrhope.models.tensor_nmn.bank import Bank, Kernels, ModuleBank
from clevrhope.models.tensor_nmn.levels import Plan, PlanIndices

Convolve = Callable[[Tensor, Tensor], Tensor]
"""Maps (n, C in, H, W) and tokens (n,) to maps (n, C, H, W)."""


def run_modules(bank: ModuleBank, maps: Tensor, plan: Plan, indices: PlanIndices) -> Tensor:
    """Runs one node at a time.

    Args:
        bank: the modules' weights.
        maps: (B, C, H, W) from the stem.
        plan: of the programs, by levels.
        indices: of the plan, on the maps' device.

    Returns:
        Maps (R, C, H, W) of the answers of the well-formed programs.
    """
    outputs: list[Tensor] = []
    firsts, seconds, joins = (_one_by_one(each) for each in (bank.first, bank.second, bank.joins))
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
    return torch.cat([outputs[root] for root in plan.roots]) if len(plan.roots) else maps[:0]


def run_bucketed(bank: ModuleBank, maps: Tensor, plan: Plan, indices: PlanIndices) -> Tensor:
    """As `run_modules`, but runs a set of nodes of one token at a time; the plan is by token."""
    if not len(plan.roots):
        return maps[:0]
    # Weights are laid out like the maps once a step, or each convolution would do it anew.
    maps = maps.contiguous(memory_format=torch.channels_last)
    kernels = (_channels_last(each) for each in (bank.first, bank.second, bank.joins))
    firsts, seconds, joins = (_one_by_one(each) for each in kernels)
    outputs: list[Tensor] = []  # (H, W, C) of each node

    def stacked(nodes: list[int]) -> Tensor:
        return torch.stack([outputs[node] for node in nodes]).permute(0, 3, 1, 2)

    tokens, operands = plan.tokens.tolist(), plan.operands.T.tolist()
    for begin, end in plan.sets:
        token, (left, right) = tokens[begin], (each[begin:end] for each in operands)
        if left[0] < 0:
            x = maps[indices.rows[begin:end]]
        elif right[0] < 0:
            x = stacked(left)
        else:
            pairs = torch.cat([stacked(left), stacked(right)], dim=1)
            x = torch.relu(_convolve(pairs, joins[bank.joining[token]]))
        outputs += _block(x, firsts[token], seconds[token]).permute(0, 2, 3, 1).unbind()
    return stacked(plan.roots.tolist())


def run_gathered(bank: Bank, maps: Tensor, plan: Plan, indices: PlanIndices) -> Tensor:
    """As `run_modules`, but runs each level as one batched matrix product."""
    if not len(plan.roots):
        return maps[:0]
    first, second = (_gathered(each) for each in (bank.first, bank.second))
    join = _gathered(bank.joins, bank.join_places)
    outputs: list[Tensor] = []
    for (begin, end), n_joins in zip(plan.sets, plan.n_joins, strict=True):
        tokens, rows = indices.tokens[begin:end], indices.rows[begin:end]
        x = _inputs(join, outputs, begin, end, n_joins, indices) if outputs else maps[rows]
        # In place, as nothing else holds the output.
        hidden = first(x, tokens).relu_()
        outputs.append(second(hidden, tokens).add_(x).relu_())
    return _answers(outputs, plan, indices)


def _channels_last(kernels: Kernels) -> Kernels:
    weights = kernels.weights.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    return Kernels(weights, kernels.biases)


def _one_by_one(kernels: Kernels) -> list[tuple[Tensor, Tensor]]:
    """Weights and bias of each; unbound at once, or each view would get a gradient of the full size."""
    return list(zip(kernels.weights.unbind(), kernels.biases.unbind(), strict=True))


def _convolve(x: Tensor, kernel: tuple[Tensor, Tensor]) -> Tensor:
    weights, biases = kernel
    return F.conv2d(x, weights, biases, padding=weights.shape[-1] // 2)


def _block(x: Tensor, first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    """A residual block; in place, as nothing else holds the output of a convolution."""
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
    join: Convolve, outputs: list[Tensor], begin: int, end: int, n_joins: int, indices: PlanIndices
) -> Tensor:
    """The inputs (n, C, H, W) of a level above the lowest; those of binary nodes are joined."""
    # The input of a unary node is always on the level right below.
    below = begin - len(outputs[-1])
    joining = slice(end - n_joins, end)
    single = outputs[-1][indices.left[begin : joining.start] - below]
    if not n_joins:
        return single
    earlier = torch.cat(outputs)
    pairs = torch.cat([earlier[indices.left[joining]], earlier[indices.right[joining]]], dim=1)
    return torch.cat([single, torch.relu(join(pairs, indices.tokens[joining]))])


def _answers(outputs: list[Tensor], plan: Plan, indices: PlanIndices) -> Tensor:
    """The maps of the roots, (R, C, H, W), in the order of their programs."""
    taken = [
        output[indices.level_roots[begin:end] - first]
        for output, (first, _), (begin, end) in zip(outputs, plan.sets, plan.root_bounds, strict=True)
        if begin < end
    ]
    return torch.cat(taken)[indices.program_order]
