"""Checks of the losses, scores and programs that a model's methods return."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage


def check_loss(model: nn.Module, stage: Stage, loss: Any) -> None:
    """Checks that a loss is one number that depends on a weight.

    Raises:
        ConfigError: it is not.
    """
    name = f"{type(model).__name__}.{stage.loss}"
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise ConfigError(f"{name} returns {_described(loss)}; expected one number as a tensor")
    if not loss.requires_grad:
        raise ConfigError(f"{name} returns a loss that depends on no weight of stage {stage.name}")


def check_scores(model: nn.Module, method: str, batch: Batch, scores: Any, n_answers: int) -> None:
    """Checks that there is a score for each answer to each question.

    Raises:
        ConfigError: there is not.
    """
    if not isinstance(scores, Tensor) or scores.shape != (len(batch), n_answers):
        shown = f"scores of shape {tuple(scores.shape)}" if isinstance(scores, Tensor) else _described(scores)
        raise ConfigError(
            f"{type(model).__name__}.{method}: {shown} for {len(batch)} questions; expected "
            f"({len(batch)}, {n_answers}), a score for each answer of vocab.json"
        )


def check_programs(model: nn.Module, method: str, batch: Batch, programs: Any) -> None:
    """Checks that there is an int64 row of program tokens for each question.

    Raises:
        ConfigError: there is not.
    """
    is_tensor = isinstance(programs, Tensor)
    if not is_tensor or programs.ndim != 2 or len(programs) != len(batch) or programs.dtype != torch.int64:
        shown = f"{programs.dtype} of shape {tuple(programs.shape)}" if is_tensor else _described(programs)
        raise ConfigError(
            f"{type(model).__name__}.{method}: {shown} for {len(batch)} questions; expected int64 rows of "
            "program tokens"
        )


@contextmanager
def determinism_errors(*, deterministic: bool) -> Iterator[None]:
    """Turns torch's error for an operation without a deterministic version into a ConfigError.

    Raises:
        ConfigError: there was such an error, and `deterministic` is true.
    """
    try:
        yield
    except RuntimeError as error:
        if not deterministic or "deterministic" not in str(error):
            raise
        operation = str(error).partition(" ")[0]
        raise ConfigError(
            f"--deterministic: torch has no deterministic {operation} on this device; leave the flag out, or "
            "write the model without this operation"
        ) from error


def _described(given: Any) -> str:
    return f"a tensor of shape {tuple(given.shape)}" if isinstance(given, Tensor) else repr(given)[:60]
