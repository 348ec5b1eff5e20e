"""CNN+LSTM and CNN+LSTM+SA, the baselines of CLEVR's own paper: no module and no relation is built into them.

Sources: Johnson et al. 2017a (the CLEVR paper), whose second model follows Yang et al. 2016, and the defaults
of the public training script of Johnson et al. 2017b, from which all sizes come.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.base import BaseModel, two_layers
from clevrhope.models.batch import Batch
from clevrhope.models.maps import MapsConfig
from clevrhope.models.question_only import QuestionReader
from clevrhope.models.recipe import Optimiser, single_stage
from clevrhope.models.stems import make_maps


@dataclass(frozen=True)
class CnnLstmConfig(MapsConfig):
    """Settings of both models, in addition to those of `MapsConfig`.

    Attributes:
        words: size of the word embeddings.
        hidden: units of the LSTM; in CNN+LSTM+SA also channels of the maps that are attended to.
        lstm_layers: layers of the LSTM.
        classifier_hidden: units of the classifier's hidden layer.
    """

    words: int = 300
    hidden: int = 256
    lstm_layers: int = 2
    classifier_hidden: int = 1024


@dataclass(frozen=True)
class CnnLstmJoinedConfig(CnnLstmConfig):
    """Settings of CNN+LSTM.

    Attributes:
        projection: channels to which the maps are reduced before they are joined with the question.
    """

    projection: int = 512


@dataclass(frozen=True)
class CnnLstmSaConfig(CnnLstmConfig):
    """Settings of CNN+LSTM+SA.

    Attributes:
        attention: units in which a cell and the question are compared.
        rounds: how often the model looks at the image.
    """

    attention: int = 512
    rounds: int = 2


class _CnnLstmBase(BaseModel):
    """What both models share: maps, an LSTM over the words, and how they are trained."""

    recipe = single_stage(updates=100_000, optimiser=Optimiser(rate=5e-4))

    def __init__(self, config: CnnLstmConfig, vocab: Vocab) -> None:
        super().__init__()
        self.feature_kind = config.features
        self.maps, self.n_channels = make_maps(config)
        self.reader = QuestionReader(
            len(vocab.questions()), config.words, config.hidden, layers=config.lstm_layers
        )

    def read(self, batch: Batch) -> Tensor:
        """(B, D) states of the questions."""
        return self.reader(batch.questions, self.planned(batch))  # type: ignore[no-any-return]


class CnnLstm(_CnnLstmBase):
    """Reduced and pooled maps and the state of the question, joined, and a classifier of two layers."""

    name = "cnn_lstm"
    settings = CnnLstmJoinedConfig

    def __init__(self, config: CnnLstmJoinedConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.reduce = nn.Sequential(
            nn.Conv2d(self.n_channels, config.projection, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        )
        height, width = config.map_size
        n_joined = config.projection * (height // 2) * (width // 2) + config.hidden
        self.classifier = two_layers(n_joined, config.classifier_hidden, len(vocab.answers()))

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        image = self.reduce(self.maps(batch.features))  # (B, projection * H/2 * W/2)
        return self.classifier(torch.cat([self.read(batch), image], dim=1))  # type: ignore[no-any-return]


class StackedAttention(nn.Module):
    """One look at the image: the mean of its cells, weighted by the question, is added to the question."""

    def __init__(self, n_channels: int, attention: int) -> None:
        super().__init__()
        self.of_cells = nn.Linear(n_channels, attention)
        self.of_question = nn.Linear(n_channels, attention)
        self.weight = nn.Linear(attention, 1)

    def forward(self, cells: Tensor, question: Tensor) -> Tensor:
        """(B, H * W, D) cells and a (B, D) question to a (B, D) question that knows more."""
        both = torch.tanh(self.of_cells(cells) + self.of_question(question).unsqueeze(1))
        weights = self.weight(both).softmax(dim=1)  # (B, H * W, 1)
        return question + (weights * cells).sum(1)  # type: ignore[no-any-return]


class CnnLstmSa(_CnnLstmBase):
    """Stacked attention: the question looks at the maps twice, and a classifier of two layers answers."""

    name = "cnn_lstm_sa"
    settings = CnnLstmSaConfig

    def __init__(self, config: CnnLstmSaConfig, vocab: Vocab) -> None:
        super().__init__(config, vocab)
        self.project = nn.Conv2d(self.n_channels, config.hidden, 1)
        self.looks = nn.ModuleList(
            StackedAttention(config.hidden, config.attention) for _ in range(config.rounds)
        )
        self.classifier = two_layers(config.hidden, config.classifier_hidden, len(vocab.answers()))

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        cells = self.project(self.maps(batch.features)).flatten(2).transpose(1, 2)  # (B, H * W, D)
        question = self.read(batch)
        for look in self.looks:
            question = look(cells, question)
        return self.classifier(question)  # type: ignore[no-any-return]
