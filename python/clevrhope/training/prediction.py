"""A model's answers to the questions of a split, from its scores or from programs that it writes."""

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
"""The answer where a question's scores are NaN, for instance because of an ill-formed program."""

BATCH = 256


def predict_answers(
    model: nn.Module,
    method: str,
    questions: Questions,
    *,
    n_answers: int,
    precision: Precision,
    batch_size: int = BATCH,
    advance: Advance = ignore_advance,
) -> npt.NDArray[np.int64]:
    """(N,) index of the answer to each question, or `NO_ANSWER`.

    The model's mode and torch's generators are left unchanged, so evaluating on the tune set does not affect
    training.

    Args:
        model: on the questions' device.
        method: name of the model's method that gives scores.
        questions: questions of a split.
        n_answers: number of answers in vocab.json, special tokens included.
        precision: precision to compute in.
        batch_size: questions per batch.
        advance: called with the number of questions answered since the last call.

    Raises:
        ConfigError: the method gives scores of another shape.
    """
    found = []
    for batch, scores in _outputs(model, method, questions, precision, batch_size):
        check_scores(model, method, batch, scores, n_answers)
        scores = scores.float().clone()
        none = scores.isnan().any(dim=1)
        # Special tokens are no answers, whatever their scores.
        scores[:, : len(SPECIAL_TOKENS)] = -torch.inf
        found.append(scores.argmax(dim=1).masked_fill(none, NO_ANSWER).cpu().numpy())
        advance(len(batch))
    return np.concatenate(found)


def predict_programs(
    model: nn.Module,
    method: str,
    questions: Questions,
    *,
    precision: Precision,
    batch_size: int = BATCH,
    advance: Advance = ignore_advance,
) -> npt.NDArray[np.int64]:
    """(N, P) program tokens that a model's method gives for each question; arguments as `predict_answers`.

    Raises:
        ConfigError: the method gives something else.
    """
    found: list[npt.NDArray[np.int64]] = []
    for batch, programs in _outputs(model, method, questions, precision, batch_size):
        check_programs(model, method, batch, programs)
        found.append(programs.cpu().numpy())
        advance(len(batch))
    width = max(each.shape[1] for each in found)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in found])


def accuracy(answers: npt.NDArray[np.int64], questions: Questions) -> float:
    """Percentage of right answers; no answer is a wrong one."""
    return 100 * float((answers == questions.answers).mean())


def _outputs(
    model: nn.Module, method: str, questions: Questions, precision: Precision, batch_size: int
) -> Iterator[tuple[Batch, Tensor]]:
    """Each batch of all questions with what the method gives for it, in evaluation mode."""
    predict: Callable[[Batch], Tensor] = getattr(model, method)
    order, plan = np.arange(len(questions)), getattr(model, "plan", None)
    modes = [(module, module.training) for module in model.modules()]
    gpus = [questions.device] if questions.device.type == "cuda" else []
    try:
        model.eval()
        with torch.random.fork_rng(devices=gpus), torch.no_grad(), casting(questions.device, precision):
            for batch in questions.batches(order, batch_size, plan):
                yield batch, predict(batch)
    finally:
        for module, training in modes:
            module.training = training
