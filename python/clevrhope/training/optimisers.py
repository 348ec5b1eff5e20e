"""What updates the weights of a stage: the choice of weights, the optimisers and the moving average.

The optimisers are torch's Adam, and BertAdam and Muon, which are implemented here.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Set
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter
from torch.optim.adamw import adamw

from clevrhope.errors import ConfigError
from clevrhope.models.recipe import Optimiser, Stage


class BertAdam(torch.optim.Optimizer):
    """Adam without bias correction and with decoupled weight decay.

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;  p = p - rate (m / (sqrt(v) + epsilon) + decay p)

    Source: the public code of BERT and LXMERT. The first updates are larger than with the correction.
    """

    def __init__(self, params: Iterable[Parameter], **options: Any) -> None:
        """`options` are those of torch's Adam: lr, betas, eps and weight_decay."""
        super().__init__(params, options)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of all weights that have a gradient."""
        assert closure is None
        for group in self.param_groups:
            params = _with_gradients(group)
            if params:
                # AdamW divides by 1 - b1^step and 1 - b2^step, which are 1 at an infinite step.
                step = torch.full((), math.inf, device=params[0].device)
                _fused_adamw(self, group, params, [step] * len(params))


class Muon(torch.optim.Optimizer):
    """Updates convolutions, as matrices of outputs by inputs, with orthogonal matrices; the rest with Adam.

    m = b m + g;  p = p - rate * 0.2 * sqrt(longer side) * orthogonal(g + b m), with b = 0.95

    `orthogonal` sets all singular values to about 1, with five Newton-Schulz steps. The factor makes updates
    as large as Adam's, so that both use one rate. Weights of five dimensions are one matrix for each entry of
    the first dimension, as in a bank of modules. A matrix without a gradient is not updated, whatever its
    momentum; otherwise a module that no question of the batch uses would make a full step.

    Source: Jordan et al. 2024 (the iteration, its three coefficients, 0.95), Liu et al. 2025 (the factor).
    There Adam also updates the first and the last layer; here it updates everything but convolutions.
    """

    MOMENTUM = 0.95
    STEPS = 5
    COEFFICIENTS = (3.4445, -4.7750, 2.0315)

    def __init__(self, params: Iterable[Parameter], **options: Any) -> None:
        """`options` are those of torch's Adam: lr, betas and eps."""
        # With "fused", torch puts the step counts of a loaded state on the weights' device.
        super().__init__(params, {**options, "fused": True})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of all weights that have a gradient."""
        assert closure is None
        for group in self.param_groups:
            params = _with_gradients(group)
            for each in params:
                if each.dim() >= _CONVOLUTION:
                    self._move(each, group["lr"])
            others = [each for each in params if each.dim() < _CONVOLUTION]
            for each in others:
                if "step" not in self.state[each]:
                    self.state[each]["step"] = torch.zeros((), device=each.device)
            if others:
                _fused_adamw(self, group, others, [self.state[each]["step"] for each in others])

    def _move(self, weights: Tensor, rate: float) -> None:
        assert weights.grad is not None
        state = self.state[weights]
        if not state:
            state["momentum"] = torch.zeros_like(weights)
        momentum = state["momentum"]
        momentum.mul_(self.MOMENTUM).add_(weights.grad)
        nesterov = weights.grad.add(momentum, alpha=self.MOMENTUM)
        matrices = nesterov.reshape(*weights.shape[:-3], -1)  # (..., outputs, inputs)
        scale = 0.2 * math.sqrt(max(matrices.shape[-2:]))
        has_gradient = weights.grad.flatten(-3).any(dim=-1).any(dim=-1)[..., None, None]  # (..., 1, 1)
        moves = self._orthogonal(matrices) * has_gradient
        weights.add_(moves.view_as(weights), alpha=-rate * scale)

    def _orthogonal(self, matrices: Tensor) -> Tensor:
        """(..., M, N) matrices with all singular values set to about 1; matrices of zeros stay zero."""
        is_tall = matrices.shape[-2] > matrices.shape[-1]
        x = matrices.mT if is_tall else matrices
        x = x / x.norm(dim=(-2, -1), keepdim=True).clamp_min(1e-12)
        a, b, c = self.COEFFICIENTS
        # x <- (a + b s + c s s) x with s = x x^T, computed on the small square s: a fifth of the work.
        square = x @ x.mT
        one = torch.eye(square.shape[-1], dtype=x.dtype, device=x.device)
        product = one
        for _ in range(self.STEPS):
            factor = a * one + b * square + c * square @ square
            product = factor @ product
            square = factor @ square @ factor
        orthogonal: Tensor = product @ x
        return (orthogonal.mT if is_tall else orthogonal).contiguous()


_CONVOLUTION = 4
"""Number of dimensions of a convolution's weights: outputs, inputs, height, width; more in a bank of them."""


def _with_gradients(group: Mapping[str, Any]) -> list[Tensor]:
    return [each for each in group["params"] if each.grad is not None]


def _fused_adamw(
    optimiser: torch.optim.Optimizer, group: Mapping[str, Any], params: list[Tensor], steps: list[Tensor]
) -> None:
    """Adds 1 to the steps and updates all weights, in one kernel that reads and writes each number once."""
    for each in params:
        for name in ("exp_avg", "exp_avg_sq"):
            if name not in optimiser.state[each]:
                optimiser.state[each][name] = torch.zeros_like(each)
    adamw(
        params,
        [each.grad for each in params if each.grad is not None],
        [optimiser.state[each]["exp_avg"] for each in params],
        [optimiser.state[each]["exp_avg_sq"] for each in params],
        [],
        steps,
        fused=True,
        amsgrad=False,
        beta1=group["betas"][0],
        beta2=group["betas"][1],
        lr=group["lr"],
        weight_decay=group.get("weight_decay", 0.0),
        eps=group["eps"],
        maximize=False,
    )


def make_optimiser(optimiser: Optimiser, weights: Iterable[Parameter]) -> torch.optim.Optimizer:
    """The torch optimiser of these weights, at the rate before the schedule's factor."""
    options: dict[str, Any] = {"lr": optimiser.rate, "betas": optimiser.betas, "eps": optimiser.epsilon}
    if optimiser.kind == "muon":
        return Muon(weights, **options)
    options["weight_decay"] = optimiser.decay
    if optimiser.kind == "bert_adam":
        return BertAdam(weights, **options)
    # Fused: for a small model, a loop over its weights takes as long as computing the gradients.
    return torch.optim.Adam(weights, fused=True, **options)


def trainable_weights(model: nn.Module) -> frozenset[str]:
    """Names of the weights that the model has not frozen for good."""
    return frozenset(name for name, each in model.named_parameters() if each.requires_grad)


def select_weights(model: nn.Module, stage: Stage, trainable: Set[str]) -> list[Parameter]:
    """Selects those of the `trainable_weights` that a stage updates, and freezes all others.

    Modules that the stage does not train are put in evaluation mode. The model itself is always in training
    mode, so that its losses can rely on it.

    Raises:
        ConfigError: the stage updates no weights.
    """
    prefixes = tuple(f"{name}." for name in stage.trains)
    selected = []
    for name, each in model.named_parameters():
        each.grad = None
        each.requires_grad_(name in trainable and (not prefixes or name.startswith(prefixes)))
        if each.requires_grad:
            selected.append(each)
    if not selected:
        raise ConfigError(f"stage {stage.name} trains no weights: all weights that it names are frozen")
    model.train()
    if prefixes:
        for module in model.children():
            module.eval()
    for name in stage.trains:
        model.get_submodule(name).train()
    return selected


def averaged_model(model: nn.Module, stage: Stage) -> nn.Module | None:
    """A copy of the model for the moving average of its weights; None if the stage has no average."""
    return deepcopy(model).requires_grad_(False) if stage.averaging else None


@torch.no_grad()
def average_weights(averaged: nn.Module, model: nn.Module, stage: Stage, update: int) -> None:
    """Updates the moving average of the weights after update number `update`, counted from 1.

    The first updates have equal weight, so that the initial weights do not count. Floating-point buffers,
    such as the statistics of batch norm, are averaged as well; others are copied.
    """
    both = [[*each.parameters(), *each.buffers()] for each in (averaged, model)]
    pairs = list(zip(*both, strict=True))
    floats = [(own, each) for own, each in pairs if own.is_floating_point()]
    towards = max(1 - stage.averaging, 1 / update)
    torch._foreach_lerp_([own for own, _ in floats], [each for _, each in floats], towards)
    for own, each in pairs:
        if not own.is_floating_point():
            own.copy_(each)
