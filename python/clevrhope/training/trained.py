"""A model and a stage in, the weights that the stage updates out; all else stands still."""

from collections.abc import Set

from torch import nn
from torch.nn import Parameter

from clevrhope.errors import ConfigError
from clevrhope.models.recipe import Stage


def trainable(model: nn.Module) -> frozenset[str]:
    """Names of the weights that may be updated at all: a model can freeze some for good."""
    return frozenset(name for name, each in model.named_parameters() if each.requires_grad)


def choose_weights(model: nn.Module, stage: Stage, among: Set[str]) -> list[Parameter]:
    """The weights that a stage updates; the others get no gradient, and their modules stand still.

    The model itself is in training mode in any case, so that its losses can tell.

    Args:
        model: whose weights and modules are set.
        stage: of its recipe.
        among: `trainable` of the model as it was built.

    Raises:
        ConfigError: there are none.
    """
    prefixes = tuple(f"{name}." for name in stage.trains)
    chosen = []
    for name, each in model.named_parameters():
        each.grad = None
        each.requires_grad_(name in among and (not prefixes or name.startswith(prefixes)))
        if each.requires_grad:
            chosen.append(each)
    if not chosen:
        raise ConfigError(f"stage {stage.name} trains no weights: those that it names are frozen")
    model.train()
    if prefixes:
        for module in model.children():
            module.eval()
    for name in stage.trains:
        model.get_submodule(name).train()
    return chosen
