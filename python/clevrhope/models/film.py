"""FiLM: residual blocks over image maps, whose channels are scaled and shifted depending on the question.

Source: Perez et al. 2018 and its public script. Layers followed by batch norm have no bias of their own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError
from clevrhope.models.base import BaseModel
from clevrhope.models.batch import Batch
from clevrhope.models.lstm import Gru, encode
from clevrhope.models.maps import MapsConfig
from clevrhope.models.recipe import Optimiser, single_stage
from clevrhope.models.stack import answer_losses, by_model, by_question, embed, run_gru, run_layers
from clevrhope.models.stems import Generators, PixelStem, make_maps, with_coordinates


@dataclass(frozen=True)
class FilmConfig(MapsConfig):
    """Settings of a FiLM network, in addition to those of `MapsConfig`.

    Attributes:
        blocks: the number of residual blocks that the question modulates.
        words: size of the word embeddings.
        hidden: units of the question's GRU.
        classifier_channels: channels of the classifier's maps.
        classifier_hidden: units of its hidden layer.
    """

    blocks: int = 4
    words: int = 200
    hidden: int = 4096
    classifier_channels: int = 512
    classifier_hidden: int = 1024


Run = Callable[[nn.Module, Tensor], Tensor]
"""Runs a layer on its input: `nn.Module.__call__`, or `run_layers` for all models of a stack at once."""


class FilmBlock(nn.Module):
    """A residual block whose second convolution is scaled and shifted."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels + 2, channels, 1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels, affine=False)

    def forward(self, x: Tensor, scale: Tensor, shift: Tensor, run: Run = nn.Module.__call__) -> Tensor:
        """(B, C, H, W) to the same shape; scale and shift are (B, C). In a stack, all are (B, M, C, ...)."""
        x = torch.relu(run(self.first, with_coordinates(x)))
        normed = run(self.norm, run(self.second, x))
        return x + torch.relu(normed * scale[..., None, None] + shift[..., None, None])


class Film(BaseModel):
    """FiLM, for any image features that provide maps."""

    name = "film"
    settings = FilmConfig
    recipe = single_stage(updates=500_000, optimiser=Optimiser(rate=3e-4, decay=1e-5))
    stack_losses: Mapping[str, str] = {}

    def __init__(self, config: FilmConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        self.maps, n = make_maps(config)
        if config.features == "pixels":
            self.stack_losses = {"loss": "stack_answer_losses"}
        self.stem = nn.Sequential(
            nn.Conv2d(n + 2, config.channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(config.channels),
            nn.ReLU(),
        )
        self.words = nn.Embedding(len(vocab.questions()), config.words)
        self.reader = Gru(config.words, config.hidden, batch_first=True)
        self.steer = nn.Linear(config.hidden, config.blocks * 2 * config.channels)
        self.blocks = nn.ModuleList(FilmBlock(config.channels) for _ in range(config.blocks))
        self.look = nn.Sequential(
            nn.Conv2d(config.channels + 2, config.classifier_channels, 1, bias=False),
            nn.BatchNorm2d(config.classifier_channels),
            nn.ReLU(),
        )
        self.classifier = nn.Sequential(
            nn.Linear(config.classifier_channels, config.classifier_hidden, bias=False),
            nn.BatchNorm1d(config.classifier_hidden),
            nn.ReLU(),
            nn.Linear(config.classifier_hidden, len(vocab.answers())),
        )

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores.

        Raises:
            ConfigError: a single question in training, where batch norm needs several.
        """
        if self.training and len(batch) == 1:
            raise ConfigError(
                "film: batch norm needs two questions or more; set recipe.batch_size to more than 1"
            )
        _, _, last = encode(self.reader, self.words(batch.questions), self.planned(batch))
        return self._scores(last[-1], self.maps(batch.features), nn.Module.__call__)

    stack_plan = BaseModel.plan

    def stack_answer_losses(self, batch: Batch, generators: Generators) -> Tensor:
        """(M,) `loss` of each model of a stack, on its own part of the questions."""
        n_models = len(generators)
        assert isinstance(self.maps, PixelStem)
        words = embed(self.words, batch.questions, n_models)
        last = run_gru(self.reader, words, batch.plan, n_models)
        images = self.maps.images(batch.features, generators)
        maps = run_layers(self.maps.layers, by_question(images, n_models))
        scores = self._scores(by_question(last, n_models), maps, run_layers)
        return answer_losses(by_model(scores), batch.answers, n_models)

    def _scores(self, questions: Tensor, maps: Tensor, run: Run) -> Tensor:
        """(B, A) scores from (B, H) states of the questions and (B, C, H, W) maps; in a stack (B, M, ...)."""
        film = run(self.steer, questions)
        film = film.view(*questions.shape[:-1], self.config.blocks, 2, self.config.channels)
        x = run(self.stem, with_coordinates(maps))  # (B, C, H, W)
        for block, (scale, shift) in zip(self.blocks, film.movedim((-3, -2), (0, 1)), strict=True):
            x = block(x, 1 + scale, shift, run)
        # torch's pooling layer has no deterministic gradient on a GPU.
        pooled = run(self.look, with_coordinates(x)).amax((-2, -1))
        return run(self.classifier, pooled)
