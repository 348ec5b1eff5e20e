"""Settings and recipes of an LXMERT; the defaults are the paper's model. No torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from clevrhope.errors import ConfigError
from clevrhope.models.recipe import Optimiser, Recipe, Schedule, Stage
from clevrhope.runtime.settings import Counts

LENGTH_OF_SETS = 96
"""WordPieces of a question about a set of images: this package's phrasings have up to 69."""


class TransformerSettings(Counts):
    """The base of settings of transformers; raises ConfigError if a value is out of range."""

    hidden: int
    heads: int
    dropout: float
    least: ClassVar = {"length": 4, "language_layers": 0, "object_layers": 0}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % self.heads:
            raise ConfigError(f"hidden is {self.hidden}; expected a multiple of heads, {self.heads}")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout is {self.dropout}; expected 0 or more, below 1")


@dataclass(frozen=True)
class LxmertConfig(TransformerSettings):
    """Settings of LXMERT-p and LXMERT-s.

    Attributes:
        features: "frcnn", the paper's boxes; or "scene-boxes", true boxes, which are not the paper's.
        weights: the file of pretrained weights for LXMERT-p; unused by LXMERT-s.
        length: WordPieces per question, including special tokens and padding; longer questions are cut. If
            questions are about sets of images, at least `LENGTH_OF_SETS`.
        hidden: units of all layers.
        heads: attention heads of each layer.
        intermediate: units of the feed-forward layers.
        language_layers: layers over words only.
        object_layers: layers over boxes only.
        cross_layers: layers over both.
        dropout: dropout in all layers, attention included.
    """

    features: Literal["frcnn", "scene-boxes"] = "frcnn"
    weights: str = ""
    length: int = 49
    hidden: int = 768
    heads: int = 12
    intermediate: int = 3072
    language_layers: int = 9
    object_layers: int = 5
    cross_layers: int = 5
    dropout: float = 0.1


def _recipe(*, rate: float, updates: int) -> Recipe:
    stage = Stage(
        name="train",
        updates=updates,
        batch_size=32,
        optimiser=Optimiser(
            kind="bert_adam", rate=rate, betas=(0.9, 0.999), epsilon=1e-6, decay=0.01, clip_norm=5.0
        ),
        # As in the public code, the first update of the warm-up has the learning rate 0.
        schedule=Schedule(kind="warmup_linear", warmup=0.1),
        evaluated=True,
    )
    return Recipe(stages=(stage,), precision="bf16")


PRETRAINED = _recipe(rate=5e-5, updates=218_750)
SCRATCH = _recipe(rate=1e-5, updates=481_000)
