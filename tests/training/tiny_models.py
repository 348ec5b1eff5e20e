"""Models small enough to train in a test: what each does is its docstring."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError
from clevrhope.models.batch import Batch
from clevrhope.models.recipe import Optimiser, Recipe, Schedule, Stage


class Tiny(nn.Module):
    """Means of the image's and the words' vectors, dropout, a layer; two stages, both kept."""

    feature_kind = "pixels"
    recipe: ClassVar[Recipe] = Recipe(
        (
            Stage("words", updates=12, batch_size=8, trains=("words", "answer"), evaluated=True),
            Stage(
                "all",
                updates=18,
                batch_size=16,
                optimiser=Optimiser("bert_adam", rate=3e-3, epsilon=1e-6, decay=0.01, clip_norm=1.0),
                schedule=Schedule("warmup_linear", 0.1),
            ),
        )
    )

    def __init__(self, n_words: int, n_answers: int, width: int, dropout: float) -> None:
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(3, width, 4, 4), nn.BatchNorm2d(width), nn.ReLU())
        self.words = nn.Embedding(n_words, width, padding_idx=0)
        self.drop = nn.Dropout(dropout)
        self.answer = nn.Linear(2 * width, n_answers)

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        for name in config:
            if name not in ("width", "dropout"):
                raise ConfigError(f'tiny: no setting "{name}"; there are: width, dropout')
        n_words, n_answers = len(vocab.questions()), len(vocab.answers())
        return cls(n_words, n_answers, config.get("width", 8), config.get("dropout", 0.2))

    def predict(self, batch: Batch) -> Tensor:
        image = self.look(batch.features["pixels"].float() / 255).mean(dim=(2, 3))  # (B, width)
        words = self.words(batch.questions).mean(dim=1)  # (B, width)
        scores: Tensor = self.answer(self.drop(torch.cat([image, words], dim=1)))
        return scores

    def loss(self, batch: Batch) -> Tensor:
        return F.cross_entropy(self.predict(batch), batch.answers)


class Static(Tiny):
    """Says that all its batches need the same work."""

    is_static = True


class Begins(Tiny):
    """Begins with a bias from a file that the environment names."""

    def begin(self) -> None:
        path = Path(os.environ["TINY_BEGINS_WITH"])
        if not path.exists():
            raise ConfigError(f"{path}: no such file")
        nn.init.constant_(self.answer.bias, float(path.read_text()))


class Dawdles(Tiny):
    """Where the environment names a file, makes that when it predicts, and takes its time."""

    recipe: ClassVar[Recipe] = Recipe((Stage("only", updates=2, batch_size=8),))

    def predict(self, batch: Batch) -> Tensor:
        place = os.environ.get("DAWDLES_AT")
        if place:
            Path(place).touch()
            time.sleep(3600)  # whoever interrupts it may be slow
        return super().predict(batch)


class Plain(nn.Module):
    """Question alone, no recipe."""

    def __init__(self, n_words: int, n_answers: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(n_words, n_answers)

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        return cls(len(vocab.questions()), len(vocab.answers()))

    def predict(self, batch: Batch) -> Tensor:
        scores: Tensor = self.words(batch.questions)
        return scores

    def loss(self, batch: Batch) -> Tensor:
        return F.cross_entropy(self.predict(batch), batch.answers)


class Blind(Plain):
    """Needs no features."""

    feature_kind = "none"


class Fickle(Plain):
    """Builds what the environment names, a model where it names nothing."""

    recipe = Recipe((Stage("only", updates=2, batch_size=8),))

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Any:
        made = {"none": None, "words": dict(vocab.question_token_to_idx)}
        named = os.environ.get("TINY_BUILDS")
        return made[named] if named else super().build(config, vocab)


class Explodes(Plain):
    """Its loss is no number from the 25th update on."""

    recipe = Recipe((Stage("only", updates=40, batch_size=8),))

    def __init__(self, n_words: int, n_answers: int) -> None:
        super().__init__(n_words, n_answers)
        self.register_buffer("made", torch.zeros((), dtype=torch.long))

    def loss(self, batch: Batch) -> Tensor:
        self.made += 1
        return super().loss(batch) * (1.0 if int(self.made) < 25 else torch.nan)


class Silent(Plain):
    """No answer at even rows; always yes; and by programs, the true ones but for every fifth row's."""

    ways: ClassVar[Mapping[str, str]] = {"even": "predict_some", "yes": "predict_yes"}
    program_ways: ClassVar[Mapping[str, str]] = {"symbolic": "write"}
    recipe = Recipe((Stage("only", updates=5, batch_size=8),))

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        made = super().build(config, vocab)
        made.yes = vocab.answer_token_to_idx["yes"]
        return made

    def predict_some(self, batch: Batch) -> Tensor:
        return self.predict(batch).masked_fill((batch.rows % 2 == 0)[:, None], torch.nan)

    def predict_yes(self, batch: Batch) -> Tensor:
        scores = torch.zeros_like(self.predict(batch))
        scores[:, self.yes] = 1
        return scores

    def write(self, batch: Batch) -> Tensor:
        return batch.programs.masked_fill((batch.rows % 5 == 0)[:, None], 0)


class Knowing(Plain):
    """Reads true attributes, and makes nothing of them."""

    feature_kind = "attributes"
    recipe = Recipe((Stage("only", updates=3, batch_size=8),))

    def loss(self, batch: Batch) -> Tensor:
        assert batch.features["attributes"].shape[1:] == (10, 4)
        return super().loss(batch)


class Slow(Tiny):
    """As `Tiny`, long enough to be interrupted."""

    recipe = Recipe((Stage("only", updates=4000, batch_size=8),))


class NoPredict(nn.Module):
    """Lacks a method."""

    build = loss = Plain.loss


class WrongShape(Plain):
    """Scores of another number of answers, but where the environment wants them all."""

    recipe = Recipe((Stage("only", updates=2, batch_size=8),))

    def predict(self, batch: Batch) -> Tensor:
        scores = super().predict(batch)
        return scores if os.environ.get("TINY_ANSWERS") else scores[:, :-1]

    def loss(self, batch: Batch) -> Tensor:
        return super().predict(batch).square().mean()
