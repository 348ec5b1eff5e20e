"""The question-only baseline, which shows how far the words go without the image."""

from dataclasses import dataclass

from torch import Tensor

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.base import BaseModel, two_layers
from clevrhope.models.batch import Batch
from clevrhope.models.lstm import QuestionEncoder
from clevrhope.models.recipe import Optimiser, single_stage
from clevrhope.runtime.settings import check_at_least


@dataclass(frozen=True)
class QuestionOnlyConfig:
    """Settings of the question-only baseline.

    Attributes:
        words: size of the word embeddings.
        hidden: units of the LSTM and of the layer after it.
    """

    words: int = 200
    hidden: int = 512

    def __post_init__(self) -> None:
        check_at_least(1, words=self.words, hidden=self.hidden)


class QuestionOnly(BaseModel):
    """An LSTM over the question and a classifier of two layers. All sizes are choices of this project."""

    name = "question_only"
    settings = QuestionOnlyConfig
    feature_kind = "none"
    recipe = single_stage(updates=50_000, optimiser=Optimiser(rate=5e-4))

    def __init__(self, config: QuestionOnlyConfig, vocab: Vocab) -> None:
        super().__init__()
        self.reader = QuestionEncoder(len(vocab.questions()), config.words, config.hidden)
        self.classifier = two_layers(config.hidden, config.hidden, len(vocab.answers()))

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        return self.classifier(self.reader(batch.questions, self.planned(batch)).whole)  # type: ignore[no-any-return]
