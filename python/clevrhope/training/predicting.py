"""A model and questions in, its answers out."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.progress import Advance
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
    advance: Advance = lambda _: None,
) -> npt.NDArray[np.int64]:
    """(N,) the number of the answer to each question, or `NO_ANSWER`.

    Neither the model's mode nor torch's generators are left changed, so a look at the tune set does not show
    in the weights.

    Args:
        model: on the questions' device.
        way: name of its method that gives scores.
        questions: of a split.
        n_answers: in vocab.json, special tokens included.
        precision: as the model was trained.
        batch_size: questions at once.
        advance: told how many are done.

    Raises:
        ConfigError: the method gives scores of another shape.
    """
    predict: Callable[[Batch], Tensor] = getattr(model, way)
    modes = [(module, module.training) for module in model.modules()]
    found = []
    gpus = [questions.device] if questions.device.type == "cuda" else []
    try:
        model.eval()
        with torch.random.fork_rng(devices=gpus), torch.no_grad(), casting(questions.device, precision):
            for batch in questions.batches(np.arange(len(questions)), batch_size):
                scores = predict(batch)
                if scores.shape != (len(batch), n_answers):
                    raise ConfigError(
                        f"{type(model).__name__}.{way}: scores of shape {tuple(scores.shape)} for "
                        f"{len(batch)} questions; expected ({len(batch)}, {n_answers}), a score for each "
                        "answer of vocab.json"
                    )
                # The first numbers are special tokens': whatever a model gives them, they are no answers.
                scores = scores.float().clone()
                scores[:, : len(SPECIAL_TOKENS)] = -torch.inf
                none = scores.isnan().any(dim=1)
                answers = scores.argmax(dim=1).masked_fill(none, NO_ANSWER)
                found.append(answers.cpu().numpy())
                advance(len(batch))
    finally:
        for module, training in modes:
            module.training = training
    return np.concatenate(found)


def accuracy(answers: npt.NDArray[np.int64], questions: Questions) -> float:
    """Per cent that are right; no answer is wrong."""
    return 100 * float((answers == questions.answers).mean())
