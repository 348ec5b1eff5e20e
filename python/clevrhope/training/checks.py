"""What a model's methods gave in; passes for what can be minimised, or answered with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage


def check_loss(model: nn.Module, stage: Stage, loss: Any) -> None:
    """Passes for a loss that some weight moves.

    Raises:
        ConfigError: something else.
    """
    name = f"{type(model).__name__}.{stage.loss}"
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise ConfigError(f"{name} gives {_shown(loss)}; expected one number as a tensor")
    if not loss.requires_grad:
        raise ConfigError(f"{name} gives a loss that depends on no weight of stage {stage.name}")


def check_scores(model: nn.Module, way: str, batch: Batch, scores: Any, n_answers: int) -> None:
    """Passes for a score for each answer and question.

    Raises:
        ConfigError: something else.
    """
    if not isinstance(scores, Tensor) or scores.shape != (len(batch), n_answers):
        shown = f"scores of shape {tuple(scores.shape)}" if isinstance(scores, Tensor) else _shown(scores)
        raise ConfigError(
            f"{type(model).__name__}.{way}: {shown} for {len(batch)} questions; expected "
            f"({len(batch)}, {n_answers}), a score for each answer of vocab.json"
        )


def check_programs(model: nn.Module, way: str, batch: Batch, programs: Any) -> None:
    """Passes for a row of program tokens for each question.

    Raises:
        ConfigError: something else.
    """
    is_tensor = isinstance(programs, Tensor)
    if not is_tensor or programs.ndim != 2 or len(programs) != len(batch) or programs.dtype != torch.int64:
        shown = f"{programs.dtype} of shape {tuple(programs.shape)}" if is_tensor else _shown(programs)
        raise ConfigError(
            f"{type(model).__name__}.{way}: {shown} for {len(batch)} questions; expected int64 rows of "
            "program tokens"
        )


@contextmanager
def as_sentence(*, deterministic: bool) -> Iterator[None]:
    """What torch says where it has no deterministic way of doing something, as one sentence.

    Raises:
        ConfigError: it said so, and `deterministic` was asked for.
    """
    try:
        yield
    except RuntimeError as error:
        said = str(error)
        if not deterministic or "deterministic" not in said:
            raise
        operation = said.partition(" ")[0]
        raise ConfigError(
            f"--deterministic: torch has no deterministic {operation} on this device; leave the flag out, or "
            "write the model without it"
        ) from error


def _shown(given: Any) -> str:
    return f"a tensor of shape {tuple(given.shape)}" if isinstance(given, Tensor) else repr(given)[:60]
