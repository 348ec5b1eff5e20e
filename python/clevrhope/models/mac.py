"""MAC: a memory that is updated in steps, each of which attends first to the words and then to the image.

Source: Hudson and Manning 2018. A cell's control, read and write units are those of its section 3, without
the variants of its appendix. The knowledge base, the maps that a cell reads, is made as in its authors' code.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError
from clevrhope.models.base import BaseModel
from clevrhope.models.batch import Batch
from clevrhope.models.lstm import EncodedQuestions, QuestionEncoder
from clevrhope.models.maps import MapsConfig
from clevrhope.models.recipe import Optimiser, single_stage
from clevrhope.models.stems import make_maps, with_coordinates
from clevrhope.runtime.settings import check_at_least


@dataclass(frozen=True)
class MacConfig(MapsConfig):
    """Settings of a MAC network, in addition to those of `MapsConfig`.

    Attributes:
        words: size of the word embeddings.
        hidden: units of control, memory and all other layers; an odd number is rounded down.
        steps: how often the memory is updated.
        knowledge_dropout: dropout before each convolution of the knowledge base.
        dropout: dropout in the classifier.
    """

    words: int = 300
    hidden: int = 512
    steps: int = 12
    knowledge_dropout: float = 0.18
    dropout: float = 0.15

    def __post_init__(self) -> None:
        self.check_maps()
        check_at_least(1, words=self.words, steps=self.steps)
        check_at_least(2, hidden=self.hidden)
        for name in ("knowledge_dropout", "dropout"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 0 or more, below 1")


class Cell(nn.Module):
    """One step: attends to words (control), then to the image (read), then updates the memory (write)."""

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
        self, control: Tensor, memory: Tensor, question: Tensor, encoded: EncodedQuestions, image: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The next control and memory, (B, D) each.

        `question` (B, D) is the question as seen by this step, `image` is (B, H * W, D).
        """
        query = self.control(torch.cat([control, question], dim=1))
        scores = self.word_score(query.unsqueeze(1) * encoded.words).squeeze(2)  # (B, Q)
        weights = scores.masked_fill(~encoded.mask, -torch.inf).softmax(1)
        control = torch.einsum("bq,bqd->bd", weights, encoded.words)
        interaction = self.memory_key(memory).unsqueeze(1) * self.image_key(image)  # (B, H * W, D)
        mixed = self.mix(torch.cat([interaction, image], dim=2)) * control.unsqueeze(1)
        attention = self.cell_score(F.elu(mixed)).squeeze(2).softmax(1)  # (B, H * W)
        read = torch.einsum("bn,bnd->bd", attention, image)
        return control, self.write(torch.cat([read, memory], dim=1))


class Mac(BaseModel):
    """MAC: one cell with the same weights at each step, except for each step's view of the question."""

    name = "mac"
    settings = MacConfig
    recipe = single_stage(updates=500_000, optimiser=Optimiser(rate=1e-4, clip_norm=8.0))

    def __init__(self, config: MacConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        hidden = config.hidden - config.hidden % 2
        self.maps, n = make_maps(config)
        self.knowledge = nn.Sequential(
            nn.Dropout(config.knowledge_dropout),
            nn.Conv2d(n + 2, hidden, 3, padding=1),
            nn.ELU(),
            nn.Dropout(config.knowledge_dropout),
            nn.Conv2d(hidden, hidden, 3, padding=1),
            nn.ELU(),
        )
        self.reader = QuestionEncoder(len(vocab.questions()), config.words, hidden, bidirectional=True)
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

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores."""
        knowledge = self.knowledge(with_coordinates(self.maps(batch.features)))  # (B, D, H, W)
        image = knowledge.flatten(2).transpose(1, 2)  # (B, H * W, D)
        encoded = self.reader(batch.questions, self.planned(batch))
        control, memory = (first.expand(len(batch), -1) for first in (self.first_control, self.first_memory))
        for view in self.asked:
            control, memory = self.cell(control, memory, view(encoded.whole), encoded, image)
        return self.classifier(torch.cat([memory, encoded.whole], dim=1))  # type: ignore[no-any-return]
