"""A model and questions in, its answers out."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.models.batch import Batch
from clevrhope.runtime.progress import Advance, ignore_advance
from clevrhope.training.checks import check_programs, check_scores
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.request import Precision

NO_ANSWER = -1
"""Where the scores of a question are no numbers: an ill-formed program, say."""

BATCH = 256


def predicted(
    model: nn.Module,
    way: str,
    questions: Questions,
    *,
    n_answers: int,
    precision: Precision,
    batch_size: int = BATCH,
    advance: Advance = ignore_advance,
) -> npt.NDArray[np.int64]:
    """(N,) the number of the answer to each question, or `NO_ANSWER`.

    Neither the model's mode nor torch's generators are left changed, so a look at the tune set does not show
    in the weights.

    Args:
        model: on the questions' device.
        way: name of its method that gives scores.
        questions: of a split.
        n_answers: in vocab.json, special tokens included.
        precision: to compute in.
        batch_size: questions at once.
        advance: told how many are done.

    Raises:
        ConfigError: the method gives scores of another shape.
    """
    found = []
    for batch, scores in _each(model, way, questions, precision, batch_size):
        check_scores(model, way, batch, scores, n_answers)
        scores = scores.float().clone()
        none = scores.isnan().any(dim=1)
        # The first numbers are special tokens': whatever a model gives them, they are no answers.
        scores[:, : len(SPECIAL_TOKENS)] = -torch.inf
        found.append(scores.argmax(dim=1).masked_fill(none, NO_ANSWER).cpu().numpy())
        advance(len(batch))
    return np.concatenate(found)


def written(
    model: nn.Module,
    way: str,
    questions: Questions,
    *,
    precision: Precision,
    batch_size: int = BATCH,
    advance: Advance = ignore_advance,
) -> npt.NDArray[np.int64]:
    """(N, P) the program tokens that a model's method gives for each question; as `predicted`.

    Raises:
        ConfigError: the method gives something else.
    """
    found: list[npt.NDArray[np.int64]] = []
    for batch, programs in _each(model, way, questions, precision, batch_size):
        check_programs(model, way, batch, programs)
        found.append(programs.cpu().numpy())
        advance(len(batch))
    width = max(each.shape[1] for each in found)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in found])


def _each(
    model: nn.Module, way: str, questions: Questions, precision: Precision, batch_size: int
) -> Iterator[tuple[Batch, Tensor]]:
    """What a method gives for each batch of all questions, in evaluation's mode."""
    method: Callable[[Batch], Tensor] = getattr(model, way)
    modes = [(module, module.training) for module in model.modules()]
    gpus = [questions.device] if questions.device.type == "cuda" else []
    try:
        model.eval()
        with torch.random.fork_rng(devices=gpus), torch.no_grad(), casting(questions.device, precision):
            for batch in questions.batches(np.arange(len(questions)), batch_size):
                yield batch, method(batch)
    finally:
        for module, training in modes:
            module.training = training


def accuracy(answers: npt.NDArray[np.int64], questions: Questions) -> float:
    """Per cent that are right; no answer is wrong."""
    return 100 * float((answers == questions.answers).mean())
