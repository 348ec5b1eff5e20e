"""Runs the engines of M models at once; a node's module is that of its model and token."""

from collections.abc import Mapping

import torch
from torch import Tensor

from clevrhope.errors import ConfigError
from clevrhope.models.stack import by_model, by_question, run_layers
from clevrhope.models.stems import Generators, PixelStem
from clevrhope.models.tensor_nmn.bank import Bank, Kernels, ModuleBank
from clevrhope.models.tensor_nmn.engine import Engine
from clevrhope.models.tensor_nmn.forms import run_gathered
from clevrhope.models.tensor_nmn.levels import Plan, plan_levels


def joined_bank(bank: ModuleBank) -> Bank:
    """The M x T modules of a stack of banks as one bank; module m * T + t is that of model m and token t."""
    weights = bank.weights()
    places = weights.join_places  # (M, T)
    starts = weights.joins.weights.shape[1] * torch.arange(len(places), device=places.device)
    first, second, joins = (Kernels(*(each.flatten(0, 1) for each in kernels)) for kernels in weights[:3])
    return Bank(first, second, joins, torch.where(places < 0, places, places + starts[:, None]).flatten())


def plan_stack(engine: Engine, programs: Tensor) -> Plan:
    """The order of the nodes of (M * B, P) programs by levels, on the CPU.

    Raises:
        ConfigError: a program is not a tree of functions.
    """
    plan = plan_levels(programs, engine.arities)
    if len(plan.roots) < len(programs):
        raise ConfigError(
            "a program of the train set is not a tree of functions, so models cannot be trained together"
        )
    return plan


def stack_scores(
    engine: Engine, features: Mapping[str, Tensor], plan: Plan, generators: Generators
) -> Tensor:
    """Scores (M * B, A) of a stack of engines with stems for pixels.

    Args:
        engine: an engine with stacked weights.
        features: features of the images of M * B questions, with those of each model consecutive.
        plan: the plan of their programs, from `plan_stack`.
        generators: one for each model.
    """
    stem, n_models = engine.stem, len(generators)
    assert isinstance(stem, PixelStem)
    images = by_question(stem.images(features, generators), n_models)
    maps = by_model(run_layers(stem.layers, images))  # (M * B, C, H, W)
    indices = plan.on(maps.device)
    models = indices.rows // (len(maps) // n_models)
    modules = indices.tokens + len(engine.arities) * models
    answers = run_gathered(joined_bank(engine.bank), maps, plan, indices._replace(tokens=modules))
    return by_model(run_layers(engine.classifier, by_question(answers, n_models)))
