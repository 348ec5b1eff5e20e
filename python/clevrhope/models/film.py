"""FiLM: residual blocks over image maps, each channel scaled and shifted as the question says.

Source: Perez et al. 2018. Reading the question with an LSTM (theirs is a GRU) and the number of updates are
choices of this project.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.base import BaseModel, two_layers
from clevrhope.models.batch import Batch
from clevrhope.models.lstm import QuestionEncoder
from clevrhope.models.maps import MapsConfig
from clevrhope.models.recipe import Optimiser, single_stage
from clevrhope.models.stems import make_stem, with_coordinates
from clevrhope.runtime.settings import check_at_least


@dataclass(frozen=True)
class FilmConfig(MapsConfig):
    """Settings of a FiLM network, added to those of `MapsConfig`.

    Attributes:
        blocks: the number of residual blocks that the question modulates.
        words: size of the word embeddings.
        hidden: units of the question's LSTM.
        classifier_channels: channels of the classifier's maps.
        classifier_hidden: units of its hidden layer.
    """

    blocks: int = 4
    words: int = 200
    hidden: int = 4096
    classifier_channels: int = 512
    classifier_hidden: int = 1024

    def __post_init__(self) -> None:
        self.check_maps()
        check_at_least(1, blocks=self.blocks, words=self.words, hidden=self.hidden)
        check_at_least(
            1, classifier_channels=self.classifier_channels, classifier_hidden=self.classifier_hidden
        )


class FilmBlock(nn.Module):
    """A residual block whose second convolution is scaled and shifted."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels + 2, channels, 1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels, affine=False)

    def forward(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """(B, C, H, W) to the same shape; scale and shift are (B, C)."""
        x = torch.relu(self.first(with_coordinates(x)))
        normed = self.norm(self.second(x))
        return x + torch.relu(normed * scale[:, :, None, None] + shift[:, :, None, None])


class Film(BaseModel):
    """FiLM, for any image features that give maps."""

    name = "film"
    settings = FilmConfig
    recipe = single_stage(updates=500_000, optimiser=Optimiser(rate=3e-4, decay=1e-5), origin="model's paper")

    def __init__(self, config: FilmConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        self.stem = make_stem(config)
        self.enter = nn.Conv2d(config.channels + 2, config.channels, 3, padding=1)
        self.reader = QuestionEncoder(len(vocab.questions()), config.words, config.hidden)
        self.steer = nn.Linear(config.hidden, config.blocks * 2 * config.channels)
        self.blocks = nn.ModuleList(FilmBlock(config.channels) for _ in range(config.blocks))
        self.look = nn.Conv2d(config.channels + 2, config.classifier_channels, 1)
        self.classifier = two_layers(
            config.classifier_channels, config.classifier_hidden, len(vocab.answers())
        )

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        whole = self.reader(batch.questions, self.planned(batch)).whole
        film = self.steer(whole).view(len(batch), self.config.blocks, 2, self.config.channels)
        x = torch.relu(self.enter(with_coordinates(self.stem(batch.features))))  # (B, C, H, W)
        for block, (scale, shift) in zip(self.blocks, film.permute(1, 2, 0, 3), strict=True):
            x = block(x, 1 + scale, shift)
        pooled = torch.relu(self.look(with_coordinates(x))).amax((2, 3))
        return self.classifier(pooled)  # type: ignore[no-any-return]
