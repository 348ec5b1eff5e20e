"""A new model and a few questions in: every loss and every way of answering tried once, on a copy.

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

MOST = 4
"""Questions."""


def rehearse(
    model: nn.Module, stages: Sequence[Stage], questions: Questions, *, n_answers: int, precision: Precision
) -> None:
    """Passes where all that a run and its evaluation will call gives what it should.

    Args:
        model: on the questions' device; left as it is, as are torch's generators.
        stages: of its recipe.
        questions: of the train set.
        n_answers: in vocab.json, special tokens included.
        precision: to compute in.

    Raises:
        ConfigError: a loss, scores or programs of another form; or the model refuses the features.
        Exception: whatever is raised in the model, with the batch's shapes as a note.
    """
    try:
        tried = copy.deepcopy(model)
    except (RuntimeError, TypeError):  # some modules cannot be copied; then the run itself will tell
        return
    (batch,) = questions.batches(np.arange(min(MOST, len(questions))), MOST)
    gpus = [questions.device] if questions.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus), casting(questions.device, precision):
        try:
            for stage in stages:
                tried.train()
                check_loss(tried, stage, getattr(tried, stage.loss)(batch))
            _answer(tried, batch, n_answers)
        except Exception as error:
            error.add_note(f"({type(model).__name__}, tried on {len(batch)} questions: {_shapes(batch)})")
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
