"""Questions in, answers out, without a look at the image: what can be had from words alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.config.options import check_at_least, read_options
from clevrhope.dataset.vocab import Vocab
from clevrhope.models.batch import Batch
from clevrhope.models.reading import Reader
from clevrhope.models.recipe import Optimiser, Recipe, Stage

NAME = "question_only"


@dataclass(frozen=True)
class QuestionOnlyConfig:
    """An LSTM.

    Attributes:
        words: size of its embeddings.
        hidden: units of the LSTM and of the layer behind it.
    """

    words: int = 200
    hidden: int = 512

    def __post_init__(self) -> None:
        check_at_least(NAME, 1, words=self.words, hidden=self.hidden)


class QuestionOnly(nn.Module):
    """An LSTM over the question, two layers behind it. All its numbers are choices."""

    feature_kind = "none"
    recipe = Recipe(
        (
            Stage(
                "train",
                updates=50_000,
                batch_size=64,
                optimiser=Optimiser(rate=5e-4),
                origins={"updates": "choice", "batch_size": "choice", "optimiser": "choice"},
            ),
        )
    )

    def __init__(self, config: QuestionOnlyConfig, vocab: Vocab) -> None:
        super().__init__()
        self.reader = Reader(len(vocab.questions()), config.words, config.hidden)
        self.classifier = nn.Sequential(
            nn.Linear(config.hidden, config.hidden),
            nn.ReLU(),
            nn.Linear(config.hidden, len(vocab.answers())),
        )

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        """A new model; `QuestionOnlyConfig` says what can be set."""
        return cls(read_options(QuestionOnlyConfig, config, model=NAME), vocab)

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy."""
        return F.cross_entropy(self.predict(batch), batch.answers)

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        read = self.reader(batch.questions, batch.question_lengths)
        return self.classifier(read.whole)  # type: ignore[no-any-return]
