"""The base of this package's models: how they are built from settings, and the loss that most of them use."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.models.batch import Batch
from clevrhope.runtime.settings import read_settings

MOST = 1 << 31
"""The limit that whole numbers stay below: sizes are products of several of them, in 64 bits."""


def two_layers(n_in: int, hidden: int, n_out: int) -> nn.Sequential:
    """A linear layer, ReLU and another linear layer."""
    return nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, n_out))


class BaseModel(nn.Module):
    """A model that is built from a dataclass of settings and a vocabulary; see `protocol.Model`.

    Attributes:
        name: the model's name, for messages.
        settings: the dataclass.
    """

    name: ClassVar[str]
    settings: ClassVar[type[Any]]

    @classmethod
    def build(cls, config: Mapping[str, Any], vocab: Vocab) -> Self:
        """Builds a new model; raises ConfigError if a setting is unknown, or a value is invalid."""
        return cls(read_settings(cls.settings, config, where=cls.name, strings=True, most=MOST), vocab)

    def plan(self, batch: Batch) -> Any:
        """As in `protocol.Model`: here (B,) lengths of the questions on the CPU, by which LSTMs pack them."""
        return batch.question_lengths.cpu()

    def planned(self, batch: Batch) -> Any:
        """The batch's plan, which is made here if its loader did not make it."""
        return self.plan(batch) if batch.plan is None else batch.plan

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy of the answers."""
        return F.cross_entropy(self.predict(batch), batch.answers)

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores of the answers; each model computes them in its own way."""
        raise NotImplementedError
