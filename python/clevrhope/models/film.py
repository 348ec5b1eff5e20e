"""Maps of an image scaled and shifted, channel by channel, as the question says: FiLM.

Source: Perez et al. 2018. The question's LSTM (theirs is a GRU) and the updates are choices.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.config.options import check_at_least, read_options
from clevrhope.dataset.vocab import Vocab
from clevrhope.models.batch import Batch
from clevrhope.models.maps import MapsConfig
from clevrhope.models.reading import Reader
from clevrhope.models.recipe import Optimiser, Recipe, Stage
from clevrhope.models.stems import make_stem, with_places

NAME = "film"


@dataclass(frozen=True)
class FilmConfig(MapsConfig):
    """A FiLM network: of `MapsConfig`, and this.

    Attributes:
        blocks: how many residual blocks the question steers.
        words: size of embeddings.
        hidden: units of the question's LSTM.
        classifier_channels: of the classifier's maps.
        classifier_hidden: units of its hidden layer.
    """

    blocks: int = 4
    words: int = 200
    hidden: int = 4096
    classifier_channels: int = 512
    classifier_hidden: int = 1024

    def __post_init__(self) -> None:
        self.check_maps(NAME)
        check_at_least(NAME, 1, blocks=self.blocks, words=self.words, hidden=self.hidden)
        check_at_least(
            NAME, 1, classifier_channels=self.classifier_channels, classifier_hidden=self.classifier_hidden
        )


class FilmBlock(nn.Module):
    """A residual block; what its second convolution gives is scaled and shifted."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels + 2, channels, 1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels, affine=False)

    def forward(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        """(B, C, H, W) to the same; scale and shift are (B, C)."""
        x = torch.relu(self.first(with_places(x)))
        normal = self.norm(self.second(x))
        return x + torch.relu(normal * scale[:, :, None, None] + shift[:, :, None, None])


class Film(nn.Module):
    """FiLM."""

    recipe = Recipe(
        (
            Stage(
                "train",
                updates=500_000,
                batch_size=64,
                optimiser=Optimiser(rate=3e-4, decay=1e-5),
                origins={"updates": "choice", "batch_size": "model's paper", "optimiser": "model's paper"},
            ),
        )
    )

    def __init__(self, config: FilmConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        self.stem = make_stem(config)
        self.enter = nn.Conv2d(config.channels + 2, config.channels, 3, padding=1)
        self.reader = Reader(len(vocab.questions()), config.words, config.hidden)
        self.steer = nn.Linear(config.hidden, config.blocks * 2 * config.channels)
        self.blocks = nn.ModuleList(FilmBlock(config.channels) for _ in range(config.blocks))
        self.look = nn.Conv2d(config.channels + 2, config.classifier_channels, 1)
        self.classifier = nn.Sequential(
            nn.Linear(config.classifier_channels, config.classifier_hidden),
            nn.ReLU(),
            nn.Linear(config.classifier_hidden, len(vocab.answers())),
        )

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        """A new model; `FilmConfig` says what can be set."""
        return cls(read_options(FilmConfig, config, model=NAME), vocab)

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy."""
        return F.cross_entropy(self.predict(batch), batch.answers)

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        config = self.config
        whole = self.reader(batch.questions, batch.question_lengths).whole
        steering = self.steer(whole).view(len(batch), config.blocks, 2, config.channels)
        x = torch.relu(self.enter(with_places(self.stem(batch.features))))  # (B, C, H, W)
        for number, block in enumerate(self.blocks):
            change, shift = steering[:, number].unbind(1)
            x = block(x, 1 + change, shift)
        seen = torch.relu(self.look(with_places(x))).amax((2, 3))
        return self.classifier(seen)  # type: ignore[no-any-return]
