"""A rehearsal that calls all methods of a model before its run, and checks what they return.

A mistake that a later stage or `evaluate` would hit after hours is then found before anything is written.
"""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.protocol import answer_methods
from clevrhope.models.recipe import Stage
from clevrhope.training.answers import check_programs, check_scores, described
from clevrhope.training.data import Questions
from clevrhope.training.device import casting, computing
from clevrhope.training.optimisers import select_weights, trainable_weights
from clevrhope.training.prepared_run import PreparedRun


def check_loss(model: nn.Module, stage: Stage, loss: Any) -> None:
    """Checks that a loss is one number that depends on a weight; raises ConfigError if not."""
    name = f"{type(model).__name__}.{stage.loss}"
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise ConfigError(f"{name} returns {described(loss)}; expected one number as a tensor")
    if not loss.requires_grad:
        raise ConfigError(f"{name} returns a loss that depends on no weight of stage {stage.name}")


def rehearse(run: PreparedRun, questions: Questions) -> None:
    """Calls each method of a model that its run and evaluation will call, and checks what it returns.

    Each stage is run forward and backward on a batch of the first questions. The model and torch's generators
    stay unchanged. Nothing is done for a run that has already started.

    Raises:
        ConfigError: a loss, scores or programs have another form, or the model rejects its features.
        Exception: any exception in the model, with the shapes of the batch as a note.
    """
    if run.folder.is_started or not getattr(run.model, "rehearses", True):
        return
    try:
        copied = copy.deepcopy(run.model)
    except (RuntimeError, TypeError):  # some modules cannot be copied; any errors then come in the run itself
        return
    trainable = trainable_weights(copied)
    gpus = [run.device] if run.device.type == "cuda" else []
    batch: Batch | None = None
    with (
        torch.random.fork_rng(devices=gpus),
        computing(run.device, precision=run.precision, deterministic=run.request.deterministic),
    ):
        try:
            for stage in run.recipe.stages:
                first = np.arange(stage.batch_size)
                (batch,) = questions.batches(first, stage.batch_size, getattr(copied, "plan", None))
                select_weights(copied, stage, trainable)
                with casting(run.device, run.precision):
                    loss = getattr(copied, stage.loss)(batch)
                check_loss(copied, stage, loss)
                loss.backward()
            if batch is not None:
                with casting(run.device, run.precision):
                    _check_answers(copied, batch, len(run.vocab.answers()))
        except Exception as error:
            if batch is not None:
                tensors = {
                    "questions": batch.questions,
                    "programs": batch.programs,
                    **{f'features["{name}"]': each for name, each in batch.features.items()},
                }
                shapes = ", ".join(f"{name} {tuple(each.shape)}" for name, each in tensors.items())
                error.add_note(
                    f"({type(copied).__name__}, tried before its run on {len(batch)} questions: {shapes}; a "
                    f"model that cannot be tried like this sets rehearses = False)"
                )
            raise


@torch.no_grad()
def _check_answers(model: nn.Module, batch: Batch, n_answers: int) -> None:
    model.eval()
    ways, program_ways = answer_methods(model)
    for method in ways.values():
        check_scores(model, method, batch, getattr(model, method)(batch), n_answers)
    for method in program_ways.values():
        check_programs(model, method, batch, getattr(model, method)(batch))
