"""Learning from rewards: a policy gradient on answers that are drawn from a model's scores."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Stage
from clevrhope.rewards import Scorer

_FIRST = len(SPECIAL_TOKENS)
"""The index of the first answer that is one."""


_READ = 1 << 20
"""Answers to questions whose reading is kept."""


class AnswerRewards:
    """The rewards of a world's answers, each written as a reply that marks it."""

    def __init__(self, vocab: Vocab, attributes: Mapping[str, Sequence[str]]) -> None:
        """`attributes` are the values of each attribute of the world."""
        answers = vocab.answers()
        scorer = Scorer(answers[_FIRST:], attributes)

        # Questions and answers repeat, and reading a reply takes some 80 microseconds.
        @lru_cache(_READ)
        def read(question: str, answer: int) -> str | None:
            reply = f"<answer>{answers[answer]}</answer>"
            return scorer.score(question, reply, answers[answer], marked=True).answer

        self._answers, self._read = answers, read

    def __call__(self, batch: Batch, drawn: Tensor) -> Tensor:
        """(B, S) rewards, 0 or 1, of (B, S) indices of answers to the questions of a batch."""
        truths = [self._answers[each] for each in batch.answers.tolist()]
        rows = zip(batch.text(), drawn.tolist(), truths, strict=True)
        rewards = [[self._read(text, each) == truth for each in row] for text, row, truth in rows]
        return torch.tensor(rewards, dtype=torch.float32, device=drawn.device)


def policy_loss(model: Any, stage: Stage, batch: Batch, rewards: AnswerRewards) -> Tensor:
    """The loss whose gradient is that of the expected reward and the entropy, with the sign changed.

    The model's scores are the logarithms of a policy over the answers. S answers to each question are drawn
    from it with torch's generator. What an answer's reward is compared with is the mean reward of the S - 1
    others to the same question.

    Source: Williams 1992 (REINFORCE); Kool et al. 2019 (the other samples as baseline).
    """
    scores: Tensor = model.predict(batch)
    logs = scores[:, _FIRST:].float().log_softmax(1)  # (B, A)
    shares = logs.exp()
    # Scores that are NaN give a loss that is NaN, for the loop to tell, and so must not stop the drawing.
    drawn = torch.multinomial(shares.detach().nan_to_num(1.0), stage.samples, replacement=True)  # (B, S)
    received = rewards(batch, drawn + _FIRST)
    others = (received.sum(1, keepdim=True) - received) / (stage.samples - 1)
    gained = ((received - others) * logs.gather(1, drawn)).mean()
    entropy = -(shares * logs).sum(1).mean()
    return -gained - stage.entropy * entropy
