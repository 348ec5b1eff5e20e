"""What updates the weights of a stage: the choice of weights, the optimisers and the moving average.

The optimisers are torch's Adam, and BertAdam and Muon, which are implemented here.
"""

import math
from collections.abc import Callable, Iterable, Set
from copy import deepcopy
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from clevrhope.errors import ConfigError
from clevrhope.models.recipe import Optimiser, Stage, WeightGroup


class _Adam(torch.optim.AdamW):
    """torch's AdamW, but in a state that is loaded a weight need not have a number of steps."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        torch.optim.Optimizer.__setstate__(self, state)


class BertAdam(_Adam):
    """Adam without bias correction and with decoupled weight decay.

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g;  p = p - rate (m / (sqrt(v) + epsilon) + decay p)

    Source: the public code of BERT and LXMERT. The first updates are larger than with the correction.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of all weights that have a gradient."""
        for group in self.param_groups:
            for each in group["params"]:
                if each.grad is None or "step" in self.state[each]:
                    continue
                # AdamW divides by 1 - b1^step and 1 - b2^step, which are 1 at an infinite step.
                self.state[each]["step"] = torch.full((), math.inf, device=each.device)
                for name in ("exp_avg", "exp_avg_sq"):
                    self.state[each].setdefault(name, torch.zeros_like(each))
        super().step(closure)


class Muon(_Adam):
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

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of all weights that have a gradient."""
        gradients: dict[Parameter, Tensor] = {}
        for group in self.param_groups:
            for each in group["params"]:
                if each.dim() >= _CONVOLUTION and each.grad is not None:
                    self._move(each, group["lr"])
                    gradients[each], each.grad = each.grad, None  # so that Adam leaves it alone
        super().step(closure)
        for each, gradient in gradients.items():
            each.grad = gradient

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


def weight_groups(model: nn.Module, stage: Stage, weights: Iterable[Parameter]) -> list[dict[str, Any]]:
    """The weights in groups for torch's optimisers, each with `factor` on the stage's rate, and its decay."""
    names = {each: name for name, each in model.named_parameters()}
    rest = WeightGroup("*")
    found: dict[WeightGroup, list[Parameter]] = {each: [] for each in (*stage.groups, rest)}
    for each in weights:
        found[next(of for of in found if fnmatchcase(names[each], of.weights))].append(each)
    decay = stage.optimiser.decay
    return [
        {"params": own, "factor": of.rate, "weight_decay": decay if of.decay is None else of.decay}
        for of, own in found.items()
        if own
    ]


def make_optimiser(
    optimiser: Optimiser, weights: Iterable[Parameter] | Iterable[dict[str, Any]]
) -> torch.optim.Optimizer:
    """The torch optimiser of these weights or groups, at the rate before the schedule's factor."""
    kinds: dict[str, type[torch.optim.Adam]] = {"adam": torch.optim.Adam, "bert_adam": BertAdam, "muon": Muon}
    return kinds[optimiser.kind](
        weights,
        lr=optimiser.rate,
        betas=optimiser.betas,
        eps=optimiser.epsilon,
        weight_decay=optimiser.decay,  # 0 for muon
        fused=True,  # for a small model, a loop over its weights takes as long as computing the gradients
    )


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
