"""A new model and a batch in: every stage's loss and every way of answering tried once, on a copy.

What a later stage or `evaluate` would stumble over, hours after, is told before anything is written.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage
from clevrhope.training.checks import check_loss, check_programs, check_scores
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.request import Precision
from clevrhope.training.trained import choose_weights, trainable

WANTED = "rehearses"
"""Attribute of models; where it is False, nothing is tried."""


def rehearse(
    model: nn.Module, stages: Sequence[Stage], questions: Questions, *, n_answers: int, precision: Precision
) -> None:
    """Passes where all that a run and its evaluation will call gives what it should.

    Args:
        model: on the questions' device; left as it is, as are torch's generators.
        stages: of its recipe; each is tried forward and back on the first questions, a batch of its own size.
        questions: of the train set.
        n_answers: in vocab.json, special tokens included.
        precision: to compute in.

    Raises:
        ConfigError: a loss, scores or programs of another form; or the model refuses the features.
        Exception: whatever is raised in the model, with the batch's shapes as a note.
    """
    if not getattr(model, WANTED, True):
        return
    try:
        tried = copy.deepcopy(model)
    except (RuntimeError, TypeError):  # some modules cannot be copied; then the run itself will tell
        return
    among = trainable(tried)
    gpus = [questions.device] if questions.device.type == "cuda" else []
    batch: Batch | None = None
    with torch.random.fork_rng(devices=gpus):
        try:
            for stage in stages:
                (batch,) = questions.batches(np.arange(stage.batch_size), stage.batch_size)
                choose_weights(tried, stage, among)
                with casting(questions.device, precision):
                    loss = getattr(tried, stage.loss)(batch)
                check_loss(tried, stage, loss)
                loss.backward()
            if batch is not None:
                with casting(questions.device, precision):
                    _answer(tried, batch, n_answers)
        except Exception as error:
            if batch is not None:
                error.add_note(
                    f"({type(model).__name__}, tried before its run on {len(batch)} questions: "
                    f"{_shapes(batch)}; a model that cannot be tried so says {WANTED} = False)"
                )
            raise


@torch.no_grad()
def _answer(model: nn.Module, batch: Batch, n_answers: int) -> None:
    model.eval()
    ways: Mapping[str, str] = getattr(model, "ways", {"predict": "predict"})
    program_ways: Mapping[str, str] = getattr(model, "program_ways", {})
    for way in ways.values():
        check_scores(model, way, batch, getattr(model, way)(batch), n_answers)
    for way in program_ways.values():
        check_programs(model, way, batch, getattr(model, way)(batch))


def _shapes(batch: Batch) -> str:
    tensors: dict[str, Any] = {
        "questions": batch.questions,
        "programs": batch.programs,
        **{f'features["{name}"]': each for name, each in batch.features.items()},
    }
    return ", ".join(f"{name} {tuple(each.shape)}" for name, each in tensors.items())
