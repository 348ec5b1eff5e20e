"""A memory that a question rewrites in steps, each with a look at words and a look at the image: MAC.

Source: Hudson and Manning 2018; a cell's control, read and write as in its section 3, without the variants of
its appendix. The updates are a choice.
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
from clevrhope.models.reading import Read, Reader
from clevrhope.models.recipe import Optimiser, Recipe, Stage
from clevrhope.models.stems import make_stem, with_places

NAME = "mac"


@dataclass(frozen=True)
class MacConfig(MapsConfig):
    """A MAC network: of `MapsConfig`, and this.

    Attributes:
        words: size of embeddings.
        hidden: units of control, memory and all else; even.
        steps: how often the memory is rewritten.
        dropout: in the classifier.
    """

    words: int = 300
    hidden: int = 512
    steps: int = 12
    dropout: float = 0.15

    def __post_init__(self) -> None:
        self.check_maps(NAME)
        check_at_least(NAME, 1, words=self.words, steps=self.steps)
        check_at_least(NAME, 2, hidden=self.hidden)


class Cell(nn.Module):
    """One step: which words matter now, what they ask of the image, what is kept of it."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.control = nn.Linear(2 * hidden, hidden)
        self.word_score = nn.Linear(hidden, 1)
        self.memory_key = nn.Linear(hidden, hidden)
        self.image_key = nn.Linear(hidden, hidden)
        self.mix = nn.Linear(2 * hidden, hidden)
        self.cell_score = nn.Linear(hidden, 1)
        self.write = nn.Linear(2 * hidden, hidden)

    def forward(
        self, control: Tensor, memory: Tensor, asked: Tensor, read: Read, image: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Control and memory (B, D) to the next; `asked` (B, D) is the question as this step sees it.

        `picture` is (B, H * W, D).
        """
        wanted = self.control(torch.cat([control, asked], dim=1))
        scores = self.word_score(wanted.unsqueeze(1) * read.words).squeeze(2)  # (B, Q)
        weights = scores.masked_fill(~read.there, -torch.inf).softmax(1)
        control = torch.einsum("bq,bqd->bd", weights, read.words)
        met = self.memory_key(memory).unsqueeze(1) * self.image_key(image)  # (B, H * W, D)
        mixed = self.mix(torch.cat([met, image], dim=2)) * control.unsqueeze(1)
        looked = self.cell_score(F.elu(mixed)).squeeze(2).softmax(1)
        found = torch.einsum("bn,bnd->bd", looked, image)
        return control, self.write(torch.cat([found, memory], dim=1))


class Mac(nn.Module):
    """MAC: one cell, its weights the same at each step but for how the question is seen."""

    recipe = Recipe(
        (
            Stage(
                "train",
                updates=500_000,
                batch_size=64,
                optimiser=Optimiser(rate=1e-4, clip_norm=8.0),
                # Clipping is said in its authors' code alone.
                origins={"updates": "choice", "batch_size": "model's paper", "optimiser": "model's paper"},
            ),
        )
    )

    def __init__(self, config: MacConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        hidden = config.hidden - config.hidden % 2
        self.stem = make_stem(config)
        self.enter = nn.Conv2d(config.channels + 2, hidden, 1)
        self.reader = Reader(len(vocab.questions()), config.words, hidden, both_ways=True)
        self.asked = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(config.steps))
        self.cell = Cell(hidden)
        self.first_control = nn.Parameter(torch.zeros(hidden))
        self.first_memory = nn.Parameter(torch.randn(hidden) / hidden**0.5)
        self.classifier = nn.Sequential(
            nn.Dropout(config.dropout),
            nn.Linear(2 * hidden, hidden),
            nn.ELU(),
            nn.Dropout(config.dropout),
            nn.Linear(hidden, len(vocab.answers())),
        )

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        """A new model; `MacConfig` says what can be set."""
        return cls(read_options(MacConfig, config, model=NAME), vocab)

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy."""
        return F.cross_entropy(self.predict(batch), batch.answers)

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        maps = F.elu(self.enter(with_places(self.stem(batch.features))))  # (B, D, H, W)
        image = maps.flatten(2).transpose(1, 2)  # (B, H * W, D)
        read = self.reader(batch.questions, batch.question_lengths)
        control, memory = (first.expand(len(batch), -1) for first in (self.first_control, self.first_memory))
        for asked in self.asked:
            control, memory = self.cell(control, memory, asked(read.whole), read, image)
        return self.classifier(torch.cat([memory, read.whole], dim=1))  # type: ignore[no-any-return]
