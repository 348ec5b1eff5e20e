"""A model's answers to questions, from the scores or as the programs that its methods give."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from clevrhope.dataset.question_table import padded
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.runtime.progress import Advance, ignore_advance
from clevrhope.training.data import Questions
from clevrhope.training.device import casting
from clevrhope.training.request import Precision

NO_ANSWER = -1
"""The answer to a question whose scores are NaN, for instance because of an ill-formed program."""

BATCH = 256


def predict_answers(
    model: nn.Module, method: str, questions: Questions, *, n_answers: int, **options: Any
) -> npt.NDArray[np.int64]:
    """(N,) index of the answer to each question, or `NO_ANSWER`, from the scores that a model's method gives.

    The model's mode and torch's generators are left unchanged, so evaluating on the tune set does not affect
    training. `n_answers` counts all answers in vocab.json, special tokens included; `options` are the
    precision and, unless they are the usual ones, `batch_size` and `advance`.

    Raises:
        ConfigError: the scores have another shape.
    """
    found = []
    for batch, scores in _outputs(model, method, questions, **options):
        check_scores(model, method, batch, scores, n_answers)
        scores = scores.float().clone()
        none = scores.isnan().any(dim=1)
        # Special tokens are not answers, whatever their scores.
        scores[:, : len(SPECIAL_TOKENS)] = -torch.inf
        found.append(scores.argmax(dim=1).masked_fill(none, NO_ANSWER).cpu().numpy())
    return np.concatenate(found)


def predict_programs(
    model: nn.Module, method: str, questions: Questions, **options: Any
) -> npt.NDArray[np.int64]:
    """(N, P) program tokens that a model's method gives for each question; see `predict_answers`.

    Raises:
        ConfigError: the method gives something else.
    """
    found: list[npt.NDArray[np.int64]] = []
    for batch, programs in _outputs(model, method, questions, **options):
        check_programs(model, method, batch, programs)
        found.append(programs.cpu().numpy())
    return padded(found)


def accuracy(answers: npt.NDArray[np.int64], questions: Questions) -> float:
    """Percentage of right answers; no answer counts as wrong."""
    return 100 * float((answers == questions.answers).mean())


def most_frequent(answers: npt.NDArray[np.int64]) -> float:
    """Percentage of questions that get the most frequent answer; 100 of a model that has collapsed."""
    return 100 * float(np.unique(answers, return_counts=True)[1].max() / len(answers))


def _outputs(
    model: nn.Module,
    method: str,
    questions: Questions,
    *,
    precision: Precision,
    batch_size: int = BATCH,
    advance: Advance = ignore_advance,
) -> Iterator[tuple[Batch, Tensor]]:
    """Each batch of the questions with the method's output for it, in evaluation mode."""
    predict: Callable[[Batch], Tensor] = getattr(model, method)
    order, plan = np.arange(len(questions)), getattr(model, "plan", None)
    modes = [(module, module.training) for module in model.modules()]
    gpus = [questions.device] if questions.device.type == "cuda" else []
    try:
        model.eval()
        with torch.random.fork_rng(devices=gpus), torch.no_grad(), casting(questions.device, precision):
            for batch in questions.batches(order, batch_size, plan):
                yield batch, predict(batch)
                advance(len(batch))
    finally:
        for module, training in modes:
            module.training = training


def check_scores(model: nn.Module, method: str, batch: Batch, scores: Any, n_answers: int) -> None:
    """Checks that scores are (B, A), one for each answer to each question; raises ConfigError if not."""
    if not isinstance(scores, Tensor) or scores.shape != (len(batch), n_answers):
        shown = f"scores of shape {tuple(scores.shape)}" if isinstance(scores, Tensor) else described(scores)
        raise ConfigError(
            f"{type(model).__name__}.{method}: {shown} for {len(batch)} questions; expected "
            f"({len(batch)}, {n_answers}), a score for each answer of vocab.json"
        )


def check_programs(model: nn.Module, method: str, batch: Batch, programs: Any) -> None:
    """Checks that programs are int64 (B, P), a row of tokens for each question; raises ConfigError if not."""
    is_tensor = isinstance(programs, Tensor)
    if not is_tensor or programs.ndim != 2 or len(programs) != len(batch) or programs.dtype != torch.int64:
        shown = f"{programs.dtype} of shape {tuple(programs.shape)}" if is_tensor else described(programs)
        raise ConfigError(
            f"{type(model).__name__}.{method}: {shown} for {len(batch)} questions; expected int64 rows of "
            "program tokens"
        )


def described(given: Any) -> str:
    """What a method returned instead of scores or the like, for messages."""
    return f"a tensor of shape {tuple(given.shape)}" if isinstance(given, Tensor) else repr(given)[:60]
