"""Extends models of one image to sets of images: each image is encoded, and further layers join the states.

Source: the variant of VisualBERT for several images in COVR (Bogin et al. 2021), in which each image is
encoded together with the question and two more layers follow.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.errors import ConfigError
from clevrhope.models.base import BaseModel
from clevrhope.models.batch import ABSENT, Batch

N_LAYERS = 2
SET_LAYERS = "set_layers."
"""Prefix of the names of weights that join several images; models of one image have none of them."""
_DEVIATION = 0.02


class SetLayers(nn.Module):
    """Two transformer layers over the states of a question's images and a learned token.

    The state of the token stands for the set. The token takes part in the attention, so its weight shows how
    many images there are, which a mean over the images would hide. There are no position embeddings, because
    the order of images has no meaning. A set of one image needs no joining: it keeps the state of its image,
    as in a model of one image.
    """

    def __init__(self, hidden: int, *, heads: int, intermediate: int, dropout: float) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(hidden) * _DEVIATION)
        layer = nn.TransformerEncoderLayer(
            hidden, heads, intermediate, dropout, F.gelu, batch_first=True, norm_first=True
        )
        self.transformer = nn.TransformerEncoder(layer, N_LAYERS, enable_nested_tensor=False)

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
