"""The bases of this package's models: of all of them, and of those that can also read sets of images."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError
from clevrhope.models.batch import ABSENT, Batch
from clevrhope.runtime.settings import read_settings

MOST = 1 << 31
"""The limit that whole numbers stay below: sizes are products of several of them, in 64 bits."""

N_SET_LAYERS = 2
SET_LAYERS = "set_layers."
"""Prefix of the names of weights that join several images; models of one image have none of them."""
_DEVIATION = 0.02


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


class SetLayers(nn.Module):
    """Two transformer layers over the states of a question's images and a learned token.

    The state of the token stands for the set. The token takes part in the attention, so its weight shows how
    many images there are, which a mean over the images would hide. There are no position embeddings, because
    the order of images has no meaning. A set of one image needs no joining: it keeps the state of its image,
    as in a model of one image.

    Source: the variant of VisualBERT for several images in COVR (Bogin et al. 2021), in which each image is
    encoded together with the question and two more layers follow.
    """

    def __init__(self, hidden: int, *, heads: int, intermediate: int, dropout: float) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(hidden) * _DEVIATION)
        layer = nn.TransformerEncoderLayer(
            hidden, heads, intermediate, dropout, F.gelu, batch_first=True, norm_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, N_SET_LAYERS, enable_nested_tensor=False)

    def forward(self, states: Tensor, images: Tensor, places: Tensor) -> Tensor:
        """(B, D) states of the sets.

        Args:
            states: (K, D) states of all images of all sets, in the order of `images`.
            images: (B, I), `ABSENT` after the last image of a set.
            places: (K,) positions of the states in the flattened `images`.
        """
        is_there = images != ABSENT  # (B, I)
        of_images = self.token.new_zeros(images.numel(), len(self.token))
        of_images = of_images.index_copy(0, places, states.to(self.token.dtype)).view(
            *images.shape, -1
        )  # (B, I, D)
        token = self.token.expand(len(images), 1, -1)
        padding = F.pad(~is_there, (1, 0))  # (B, 1 + I), where the token is never masked
        joined = self.transformer(torch.cat([token, of_images], dim=1), src_key_padding_mask=padding)[:, 0]
        is_single = is_there.sum(1, keepdim=True) == 1
        return torch.where(is_single, of_images[:, 0], joined)


class ImageSetModel(BaseModel):
    """A model of one image that can be given layers for sets of images; without them it is unchanged.

    A head scores answers from the state of an image with its question, or from the state of a set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_layers: SetLayers | None = None

    def add_set_layers(self) -> None:
        """Adds the layers that join images; called once, on a new model."""
        raise NotImplementedError

    def plan(self, batch: Batch) -> Any:
        """As in `protocol.Model`: here `Batch.image_places`; None if each question is about one image."""
        return None if batch.images is None else batch.image_places()

    def image_places(self, batch: Batch) -> Tensor:
        """`Batch.image_places` as planned, on the batch's device."""
        return self.planned(batch).to(batch.answers.device, non_blocking=True)  # type: ignore[no-any-return]

    def image_states(self, batch: Batch) -> Tensor:
        """(K, D) states of all images, each with its question, in the order of `Batch.image_rows`."""
        raise NotImplementedError

    def states(self, batch: Batch) -> Tensor:
        """(B, D) states of the questions, each about one image or about one set.

        Raises:
            ConfigError: the questions are about sets, but the model has no layers for them.
        """
        if batch.images is None:
            return self.image_states(batch)
        if self.set_layers is None:
            raise ConfigError(f"{self.name}: it was built for one image, but the questions are about sets")
        return self.set_layers(self.image_states(batch), batch.images, self.image_places(batch))  # type: ignore[no-any-return]
