"""Tries every stage's loss and every way of answering on a copy of a new model.

Errors that a later stage or `evaluate` would raise after hours are raised before anything is written.
"""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from clevrhope.models.batch import Batch
from clevrhope.models.protocol import answer_methods
from clevrhope.models.recipe import Stage
from clevrhope.training.checks import check_loss, check_programs, check_scores
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.request import Precision
from clevrhope.training.stages import select_weights, trainable_weights

WANTED = "rehearses"
"""Attribute of a model; if it is False, nothing is tried."""


def rehearse(
    model: nn.Module, stages: Sequence[Stage], questions: Questions, *, n_answers: int, precision: Precision
) -> None:
    """Calls each method of a model that its run and its evaluation will call, and checks what it returns.

    Args:
        model: on the questions' device; neither it nor torch's generators are changed.
        stages: stages of its recipe; each is run forward and backward on a batch of the first questions.
        questions: questions of the train set.
        n_answers: number of answers in vocab.json, special tokens included.
        precision: precision to compute in.

    Raises:
        ConfigError: losses, scores or programs of another form, or features that the model rejects.
        Exception: any exception in the model, with the shapes of the batch as a note.
    """
    if not getattr(model, WANTED, True):
        return
    try:
        copied = copy.deepcopy(model)
    except (RuntimeError, TypeError):  # some modules cannot be copied; errors then come in the run itself
        return
    trainable = trainable_weights(copied)
    gpus = [questions.device] if questions.device.type == "cuda" else []
    batch: Batch | None = None
    with torch.random.fork_rng(devices=gpus):
        try:
            for stage in stages:
                first = np.arange(stage.batch_size)
                (batch,) = questions.batches(first, stage.batch_size, getattr(copied, "plan", None))
                select_weights(copied, stage, trainable)
                with casting(questions.device, precision):
                    loss = getattr(copied, stage.loss)(batch)
                check_loss(copied, stage, loss)
                loss.backward()
            if batch is not None:
                with casting(questions.device, precision):
                    _check_answers(copied, batch, n_answers)
        except Exception as error:
            if batch is not None:
                tensors = {
                    "questions": batch.questions,
                    "programs": batch.programs,
                    **{f'features["{name}"]': each for name, each in batch.features.items()},
                }
                shapes = ", ".join(f"{name} {tuple(each.shape)}" for name, each in tensors.items())
                error.add_note(
                    f"({type(model).__name__}, tried before its run on {len(batch)} questions: {shapes}; a "
                    f"model that cannot be tried like this sets {WANTED} = False)"
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
