"""The question-only baseline, which shows how far the words go without the image."""

from dataclasses import dataclass

from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.base import BaseModel, two_layers
from clevrhope.models.batch import Batch
from clevrhope.models.lstm import Lstm, encode
from clevrhope.models.recipe import Optimiser, single_stage
from clevrhope.runtime.settings import Counts


@dataclass(frozen=True)
class QuestionOnlyConfig(Counts):
    """Settings of the question-only baseline.

    Attributes:
        words: size of the word embeddings.
        hidden: units of the LSTM and of the layer after it.
    """

    words: int = 200
    hidden: int = 512


class QuestionReader(nn.Module):
    """An LSTM over embedded words."""

    def __init__(self, n_words: int, word_size: int, hidden: int, *, layers: int = 1) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, word_size)
        self.lstm = Lstm(word_size, hidden, layers, batch_first=True)

    def forward(self, questions: Tensor, lengths: Tensor) -> Tensor:
        """(B, D) states after all words of (B, Q) tokens, whose `lengths` (B,) are on the CPU."""
        _, _, (last, _) = encode(self.lstm, self.embedding(questions), lengths)
        return last[-1]  # type: ignore[no-any-return]


class QuestionOnly(BaseModel):
    """An LSTM over the question and a classifier of two layers. All sizes are choices of this project."""

    name = "question_only"
    settings = QuestionOnlyConfig
    feature_kind = "none"
    recipe = single_stage(updates=50_000, optimiser=Optimiser(rate=5e-4))

    def __init__(self, config: QuestionOnlyConfig, vocab: Vocab) -> None:
        super().__init__()
        self.reader = QuestionReader(len(vocab.questions()), config.words, config.hidden)
        self.classifier = two_layers(config.hidden, config.hidden, len(vocab.answers()))

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        return self.classifier(self.reader(batch.questions, self.planned(batch)))  # type: ignore[no-any-return]
