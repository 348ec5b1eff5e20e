"""A transformer over the words of a question, and another over an image's objects, which attend to the words.

With "scene-boxes" it reads backbone features of the true boxes. With "attributes" it reads the true attribute
values and coordinates, so none of its errors is due to perception: this is an upper bound on what better
perception can achieve. All of its hyperparameters are choices of this project.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError
from clevrhope.models.base import ImageSetModel, SetLayers
from clevrhope.models.batch import Batch
from clevrhope.models.lxmert.config import TransformerSettings
from clevrhope.models.recipe import Optimiser, Schedule, single_stage

ATTRIBUTE_TYPES = ("size", "color", "material", "shape")
"""Columns of a feature store of true attributes."""

_BOX_VECTOR, _BOX, _COORDINATES = 2048, 4, 3
_LONGEST = 128
"""The most tokens of a question; those of CLEVR's templates have up to 47, COVR's up to 68."""
_DEVIATION = 0.02
_DIRECTIONS = 8
"""Number of directions along which distances between objects are computed, depending on the question."""
_STEEPNESS = 3.0
"""Objects are at most about 1 or 2 apart along an axis, but small distances matter, too."""


@dataclass(frozen=True)
class ObjectTransformerConfig(TransformerSettings):
    """Settings of an object transformer.

    Attributes:
        features: "scene-boxes" or "frcnn" box vectors, or true "attributes".
        hidden: units of each token.
        heads: attention heads of each layer.
        layers: number of layers over the words, and also over the objects.
        dropout: dropout in all layers.
    """

    features: Literal["scene-boxes", "frcnn", "attributes"] = "scene-boxes"
    hidden: int = 256
    heads: int = 8
    layers: int = 3
    dropout: float = 0.1


class BoxTokens(nn.Module):
    """Embeds box vectors and box coordinates."""

    place_feature = "boxes"
    coordinates = _BOX

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.vector = nn.Linear(_BOX_VECTOR, hidden)
        self.place = nn.Linear(self.coordinates, hidden)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(U, 36, 2048) `vectors` and (U, 36, 4) `boxes` to (U, 36, D)."""
        vectors = features["vectors"].to(self.vector.weight.dtype)
        return self.vector(vectors) + self.place(features[self.place_feature])  # type: ignore[no-any-return]


class AttributeTokens(nn.Module):
    """Embeds objects' true attribute values and coordinates."""

    place_feature = "places"
    coordinates = _COORDINATES

    def __init__(self, hidden: int, vocab: Vocab) -> None:
        super().__init__()
        self.most_values = most_values = max(
            sum(name.startswith(f"filter_{kind}[") for name in vocab.programs()) for kind in ATTRIBUTE_TYPES
        )
        self.values = nn.Embedding(len(ATTRIBUTE_TYPES) * most_values, hidden)
        self.place = nn.Linear(self.coordinates, hidden)

    def forward(self, features: Mapping[str, Tensor]) -> Tensor:
        """(U, 10, T) `attributes` and (U, 10, 3) `places` to (U, 10, D)."""
        values = features["attributes"].clamp(min=0)  # -1 after the last object, which attention masks
        first = torch.arange(values.shape[2], device=values.device) * self.most_values
        return self.values(values + first).sum(2) + self.place(features[self.place_feature])  # type: ignore[no-any-return]


class Directions(nn.Module):
    """Directions in space that a question's words name, such as "left", and distances along them.

    The words weight the coordinates, so that a distance is a product of the words' meaning and of the
    positions of two objects. Without this product, the model takes long to learn to compare positions at all
    (docs/models.md).
    """

    def __init__(self, hidden: int, *, heads: int, coordinates: int, dropout: float) -> None:
        super().__init__()
        self.tokens = nn.Parameter(torch.randn(_DIRECTIONS, hidden))
        self.to_words = nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)
        self.weights = nn.Linear(hidden, coordinates)

    def forward(self, words: Tensor, no_word: Tensor, places: Tensor) -> Tensor:
        """(B, Q, D) words with (B, Q) padding and (B, I, T, C) places to (B, I, T, T, R) from -1 to 1."""
        tokens = self.tokens.expand(len(words), -1, -1)
        read, _ = self.to_words(tokens, words, words, key_padding_mask=no_word, need_weights=False)
        along = torch.einsum("bnc,bitc->bitn", self.weights(read), places)
        return torch.tanh(_STEEPNESS * (along.unsqueeze(3) - along.unsqueeze(2)))


class ObjectAttention(nn.Module):
    """Attention among the objects of an image, with distances added to keys and values (Shaw et al. 2018)."""

    def __init__(self, hidden: int, *, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.project = nn.Linear(hidden, 3 * hidden)
        self.project_distances = nn.Linear(_DIRECTIONS, 2 * hidden, bias=False)
        self.out = nn.Linear(hidden, hidden)

    def forward(self, objects: Tensor, no_object: Tensor, distances: Tensor) -> Tensor:
        """(N, T, D) objects with (N, T) padding and (N, T, T, R) distances to (N, T, D)."""
        # Queries, keys and values are (N, T, H, E), with H heads of E units. Distances are projected inside
        # the sums, because (N, T, T, H, E) would fill the memory.
        queries, keys, values = self.project(objects).unflatten(2, (3, self.heads, -1)).unbind(2)
        far = self.project_distances.weight.view(2, self.heads, -1, _DIRECTIONS)  # (2, H, E, R)
        scores = torch.einsum("nihe,njhe->nhij", queries, keys)
        scores = scores + torch.einsum("nihe,her,nijr->nhij", queries, far[0], distances)
        scores = scores / queries.shape[3] ** 0.5
        scores = scores.masked_fill(no_object[:, None, None], -torch.inf)
        weights = F.dropout(scores.softmax(3), self.dropout, self.training)
        read = torch.einsum("nhij,njhe->nihe", weights, values)
        read = read + torch.einsum("nhij,nijr,her->nihe", weights, distances, far[1])
        return self.out(read.flatten(2))  # type: ignore[no-any-return]


class ObjectLayer(nn.Module):
    """All objects of a question's images attend to its words, and then those of each image to one another."""

    def __init__(self, hidden: int, *, heads: int, dropout: float) -> None:
        super().__init__()
        self.to_words = nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)
        self.to_objects = ObjectAttention(hidden, heads=heads, dropout=dropout)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(4 * hidden, hidden)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, objects: Tensor, no_object: Tensor, words: Tensor, no_word: Tensor, distances: Tensor
    ) -> Tensor:
        """(B, I, T, D) objects with (B, I, T) padding, (B, Q, D) words with (B, Q), to (B, I, T, D)."""
        read = self.norms[0](objects).flatten(1, 2)  # (B, I * T, D)
        read, _ = self.to_words(read, words, words, key_padding_mask=no_word, need_weights=False)
        objects = objects + self.dropout(read).view_as(objects)
        own = self.norms[1](objects).flatten(0, 1)  # (B * I, T, D)
        own = self.to_objects(own, no_object.flatten(0, 1), distances.flatten(0, 1))
        objects = objects + self.dropout(own).view_as(objects)
        return objects + self.dropout(self.feed_forward(self.norms[2](objects)))  # type: ignore[no-any-return]


class ObjectPlan(NamedTuple):
    """The lengths to which the padding of a batch is trimmed."""

    places: Tensor | None  # (K,) `Batch.image_places`; None where each question is about one image
    n_words: int  # tokens in the longest question
    n_objects: int  # objects in the fullest image


class ObjectTransformer(ImageSetModel):
    """Reads the words, then each image's objects with them, and answers from the state of an image's token.

    The words are read once per question, however many images it is about. In the layers over the objects, an
    image's objects and a learned token attend to one another and to the words.
    """

    name = "object_transformer"
    settings = ObjectTransformerConfig
    recipe = single_stage(
        updates=200_000,
        optimiser=Optimiser(rate=1e-4, clip_norm=1.0),
        schedule=Schedule("warmup_linear", warmup=0.02),
    )

    def __init__(self, config: ObjectTransformerConfig, vocab: Vocab) -> None:
        super().__init__()
        self.config = config
        self.feature_kind = config.features
        if config.features == "attributes":
            self.objects: AttributeTokens | BoxTokens = AttributeTokens(config.hidden, vocab)
        else:
            self.objects = BoxTokens(config.hidden)
        self.words = nn.Embedding(len(vocab.questions()), config.hidden)
        self.places = nn.Parameter(torch.randn(_LONGEST, config.hidden) * _DEVIATION)
        self.token = nn.Parameter(torch.randn(config.hidden) * _DEVIATION)
        layer = nn.TransformerEncoderLayer(
            config.hidden,
            config.heads,
            4 * config.hidden,
            config.dropout,
            F.gelu,
            batch_first=True,
            norm_first=True,
        )
        self.word_layers = nn.TransformerEncoder(
            layer, config.layers, nn.LayerNorm(config.hidden), enable_nested_tensor=False
        )
        self.directions = Directions(
            config.hidden, heads=config.heads, coordinates=self.objects.coordinates, dropout=config.dropout
        )
        self.object_layers = nn.ModuleList(
            ObjectLayer(config.hidden, heads=config.heads, dropout=config.dropout)
            for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.hidden)
        self.classifier = nn.Linear(config.hidden, len(vocab.answers()))

    @staticmethod
    def vocab_rows(vocab: Vocab) -> dict[str, list[str]]:
        """As in `protocol.Model`."""
        answers = vocab.answers()
        return {"words.weight": vocab.questions(), "classifier.weight": answers, "classifier.bias": answers}

    def add_set_layers(self) -> None:
        """As in `ImageSetModel`, with the size of the other layers."""
        config = self.config
        self.set_layers = SetLayers(
            config.hidden, heads=config.heads, intermediate=4 * config.hidden, dropout=config.dropout
        )

    def predict(self, batch: Batch) -> Tensor:
        """(B, A) scores; raises ConfigError if questions have more tokens than the model can read."""
        return self.classifier(self.norm(self.states(batch)))  # type: ignore[no-any-return]

    def plan(self, batch: Batch) -> ObjectPlan:
        """As in `protocol.Model`."""
        n_words, n_objects = (int(each.max()) for each in (batch.question_lengths, batch.features["n_boxes"]))
        return ObjectPlan(super().plan(batch), n_words, n_objects)

    def image_places(self, batch: Batch) -> Tensor:
        """As in `ImageSetModel`."""
        return self.planned(batch).places.to(batch.answers.device, non_blocking=True)  # type: ignore[no-any-return]

    def image_states(self, batch: Batch) -> Tensor:
        """(K, D) states of the images' tokens; errors as for `predict`."""
        if batch.questions.shape[1] > len(self.places):
            raise ConfigError(
                f"the questions have {batch.questions.shape[1]} tokens; the model reads at most "
                f"{len(self.places)}"
            )
        plan: ObjectPlan = self.planned(batch)
        questions, no_word = _trimmed(batch.questions, batch.question_lengths, plan.n_words)  # (B, Q), (B, Q)
        words = self.words(questions) + self.places[: questions.shape[1]]
        words = self.word_layers(words, src_key_padding_mask=no_word)  # (B, Q, D)
        images = batch.image_rows()  # (B, I)
        objects = self.objects(batch.features)  # (U, M, D)
        objects = torch.cat([self.token.expand(len(objects), 1, -1), objects], dim=1)
        lengths = batch.features["n_boxes"] + 1
        objects, no_object = _trimmed(objects, lengths, plan.n_objects + 1)  # (U, T, D), (U, T)
        # Absent images are replaced by the batch's first image, and their results are discarded.
        rows = images.clamp(min=0)
        objects, no_object = objects[rows], no_object[rows]  # (B, I, T, D), (B, I, T)
        places = batch.features[self.objects.place_feature][:, : plan.n_objects].to(words.dtype)
        places = F.pad(places, (0, 0, 1, 0))[rows]  # (B, I, T, C), the token's all 0
        distances = self.directions(words, no_word, places)
        for layer in self.object_layers:
            objects = layer(objects, no_object, words, no_word, distances)
        states: Tensor = objects[:, :, 0]  # (B, I, D)
        if batch.images is None:
            return states[:, 0]
        return states.flatten(0, 1)[self.image_places(batch)]


def _trimmed(rows: Tensor, lengths: Tensor, longest: int) -> tuple[Tensor, Tensor]:
    """Rows (N, W, ...) without the padding common to all of them, and whether each position is padding."""
    rows = rows[:, :longest]
    return rows, torch.arange(rows.shape[1], device=rows.device) >= lengths.unsqueeze(1)
