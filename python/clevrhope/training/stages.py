"""What a stage of a recipe does to a model: which weights it updates, and the moving average of these."""

from collections.abc import Set
from copy import deepcopy

import torch
from torch import nn
from torch.nn import Parameter

from clevrhope.errors import ConfigError
from clevrhope.models.recipe import Stage


def check_stage(model: nn.Module, stage: Stage, n_questions: int) -> None:
    """Checks that a model can be trained in a stage.

    Raises:
        ConfigError: the model lacks a method or submodule, or there are fewer questions than in a batch.
    """
    kind = type(model).__name__
    if not callable(getattr(model, stage.loss, None)):
        raise ConfigError(f"{kind}: no method {stage.loss}, which stage {stage.name} of its recipe names")
    for name in stage.trains:
        try:
            model.get_submodule(name)
        except AttributeError as error:
            raise ConfigError(
                f"{kind}: no submodule {name}, which stage {stage.name} of its recipe names"
            ) from error
    if stage.batch_size > n_questions:
        raise ConfigError(
            f"--size: {n_questions:,} questions, but a batch of stage {stage.name} has {stage.batch_size:,}; "
            "use more questions, or set recipe.batch_size"
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
