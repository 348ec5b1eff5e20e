"""Vector-NMN: one module per program token, mapping the image and its inputs' vectors to a vector.

Source: Bahdanau et al. 2019 (CLOSURE). All modules share their convolutions, which the token and the inputs'
vectors scale and shift, so one call runs a whole level of a batch, whatever its tokens. The model answers on
true programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope import _core
from clevrhope.dataset.vocab import Vocab
from clevrhope.models.base import BaseModel, two_layers
from clevrhope.models.batch import Batch
from clevrhope.models.maps import MapsConfig
from clevrhope.models.recipe import Optimiser, single_stage
from clevrhope.models.stems import make_stem, with_coordinates
from clevrhope.models.tensor_nmn.levels import Plan, plan_levels


@dataclass(frozen=True)
class VectorNmnConfig(MapsConfig):
    """Settings of a Vector-NMN, in addition to those of `MapsConfig`; its vectors have `channels` numbers.

    Attributes:
        layers: residual layers of a module, with two convolutions each.
        classifier_hidden: units of the classifier's hidden layer.
    """

    layers: int = 2
    classifier_hidden: int = 1024


class SteeredConvolution(nn.Module):
    """A convolution whose input channels are first scaled and shifted by a network's output."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.steer = two_layers(3 * channels, 3 * channels, 2 * channels)
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, maps: Tensor, condition: Tensor) -> Tensor:
        """(n, C, H, W) maps and (n, 3 C) vectors to (n, C, H, W)."""
        scale, shift = self.steer(condition)[..., None, None].chunk(2, dim=1)  # (n, C, 1, 1)
        return self.convolution(maps * (1 + 2 * torch.tanh(scale)) + shift)  # type: ignore[no-any-return]


class SteeredLayer(nn.Module):
    """A residual layer of two such convolutions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = SteeredConvolution(channels)
        self.second = SteeredConvolution(channels)

    def forward(self, maps: Tensor, condition: Tensor) -> Tensor:
        """(n, C, H, W) maps and (n, 3 C) vectors to (n, C, H, W)."""
        hidden = torch.relu(self.first(maps, condition))
        return torch.relu(maps + self.second(hidden, condition))


class SteeredModule(nn.Module):
    """Residual layers over the image, then the maximum of each channel."""

    def __init__(self, channels: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(SteeredLayer(channels) for _ in range(layers))

    def forward(self, maps: Tensor, condition: Tensor) -> Tensor:
        """(n, C, H, W) maps and (n, 3 C) vectors of the token and its inputs to (n, C)."""
        for layer in self.layers:
            maps = layer(maps, condition)
        return maps.amax((2, 3))


class VectorNmn(BaseModel):
    """Vector-NMN on true programs; an ill-formed program has no answer."""

    name = "vector_nmn"
    settings = VectorNmnConfig
    recipe = single_stage(updates=500_000, optimiser=Optimiser(rate=1e-4), batch_size=128)
    ways: Mapping[str, str] = {"true_programs": "predict"}

    def __init__(self, config: VectorNmnConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        self.arities = _core.program_arities(vocab.programs())
        self.stem = make_stem(config)
        # A choice of this project: the public code's modules read the stem's maps, without coordinates.
        self.enter = nn.Conv2d(config.channels + 2, config.channels, 1)
        self.tokens = nn.Embedding(len(vocab.programs()), config.channels)
        self.module = SteeredModule(config.channels, config.layers)
        self.classifier = two_layers(config.channels, config.classifier_hidden, len(vocab.answers()))

    def plan(self, batch: Batch) -> Plan:
        """As in `protocol.Model`."""
        return plan_levels(batch.programs, self.arities)

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy over the questions whose programs are well-formed."""
        scores, rows = self._run(batch)
        return F.cross_entropy(scores, batch.answers[rows], reduction="sum") / max(len(rows), 1)

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores on the given programs; NaN if a program is ill-formed."""
        scores, rows = self._run(batch)
        return scores.new_full((len(batch), scores.shape[1]), torch.nan).index_copy(0, rows, scores)

    def _run(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Scores (R, A) of the well-formed programs, and their rows (R,) in the batch."""
        config = self.config
        plan: Plan = self.planned(batch)
        maps = torch.relu(self.enter(with_coordinates(self.stem(batch.features))))  # (B, C, H, W)
        indices = plan.on(maps.device)
        tokens = self.tokens(indices.tokens)  # (N, C)
        # Row 0 is a zero vector, the input of tokens that take fewer than two; so operands count from 1.
        operands = torch.stack([indices.left, indices.right], dim=1) + 1  # (N, 2)
        vectors = maps.new_zeros(1, config.channels)
        for begin, end in plan.sets:
            here = slice(begin, end)
            inputs = vectors[operands[here]].flatten(1)  # (n, 2 C)
            outputs = self.module(maps[indices.rows[here]], torch.cat([tokens[here], inputs], dim=1))
            vectors = torch.cat([vectors, outputs])
        return self.classifier(vectors[indices.roots + 1]), indices.well_formed
