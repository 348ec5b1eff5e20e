"""One training step's input: questions, programs, answers and image features as tensors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from clevrhope.errors import ConfigError, TrainingError

ABSENT = -1
"""Marks the end of a set's images in a row of indices."""


@dataclass(frozen=True, repr=False)
class Batch:
    """B questions and the features of their images; Q and P are the widths of the dataset's token rows.

    Attributes:
        questions: (B, Q) int64 tokens of vocab.json: <START>, words, <END>, then 0.
        question_lengths: (B,) int64 tokens in each question, <START> and <END> included.
        programs: (B, P) int64 tokens of vocab.json: <START>, functions in prefix order, <END>, then 0.
        program_lengths: (B,) int64 tokens in each program, <START> and <END> included.
        answers: (B,) int64 answer indices of vocab.json.
        families: (B,) int64, CLEVR's question_family_index.
        rows: (B,) int64, each question's row in its split's file.
        features: array name in the feature store -> (B, ...) features of the questions' images, in the
            store's dtype; (U, ...) if questions are about sets of images, with one row for each image of the
            batch, however many questions share it.
        images: (B, I) int64, the rows in `features` of each question's images, `ABSENT` after the last one;
            None if each question is about one image.
        sentences: returns the sentences of all questions of the split; models use `text`.
        plan: what the model's `plan` returned for this batch; None if it was not called.
    """

    questions: Tensor
    question_lengths: Tensor
    programs: Tensor
    program_lengths: Tensor
    answers: Tensor
    families: Tensor
    rows: Tensor
    features: Mapping[str, Tensor]
    images: Tensor | None = None
    sentences: Callable[[], Sequence[str]] | None = None
    plan: Any = None

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        shapes = "".join(f", {name} {tuple(array.shape)}" for name, array in self.features.items())
        return f"Batch({len(self)} questions on {self.answers.device}{shapes})"

    def text(self) -> list[str]:
        """The sentences of the B questions, as in the dataset's question file: "What color is the cube?".

        They contain all words of the dataset, even those that are <UNK> in `questions`. The first call for a
        split makes the sentences of all its questions, about 100 bytes each.

        Raises:
            ConfigError: the batch was not made from a split, so it has no sentences.
        """
        if self.sentences is None:
            raise ConfigError("the batch was not made of the questions of a split, so it has no text")
        sentences = self.sentences()
        return [sentences[row] for row in self.rows.tolist()]

    def to(self, device: torch.device | str) -> "Batch":
        """A copy of the batch on another device."""
        return self._changed(lambda tensor: tensor.to(device, non_blocking=True))

    def copy(self) -> "Batch":
        """A copy with tensors of its own."""
        return self._changed(Tensor.clone)

    def fill(self, other: "Batch") -> None:
        """Overwrites the tensors with those of another batch.

        Raises:
            TrainingError: they have other shapes or dtypes.
        """
        own, others = self._tensors(), other._tensors()
        for name in {**own, **others}:
            one, another = (_shape(each.get(name)) for each in (own, others))
            if one != another:
                raise TrainingError(f"a batch whose {name} are {another} cannot replace one with {one}")
        for name, tensor in own.items():
            tensor.copy_(others[name])

    def image_rows(self) -> Tensor:
        """(B, I) `images`, even if each question is about one image."""
        if self.images is not None:
            return self.images
        return torch.arange(len(self), device=self.answers.device).unsqueeze(1)

    def image_places(self) -> Tensor:
        """(K,) int64 positions of images in the flattened `images`, without absent ones. Waits for a GPU."""
        return (self.image_rows() != ABSENT).flatten().nonzero().squeeze(1)

    def single_images(self, places: Tensor | None = None) -> "Batch":
        """Each image with its question, as a batch of questions about one image.

        Rows are in the order of `images`, without absent ones.

        Args:
            places: `image_places`, if already known.
        """
        if self.images is None:
            return self
        places = self.image_places() if places is None else places
        questions = places // self.images.shape[1]
        images = self.images.flatten().index_select(0, places)
        columns = self._columns(lambda tensor: tensor.index_select(0, questions))
        features = _mapped(self.features, lambda array: array.index_select(0, images))
        return replace(self, **{**columns, "images": None}, features=features)

    def _tensors(self) -> dict[str, Tensor]:
        """The columns and arrays that are present, by name."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return {name: each for name, each in {**columns, **self.features}.items() if each is not None}

    def _changed(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        """Applies a change to all tensors, whatever their rows are."""
        return replace(self, **self._columns(change), features=_mapped(self.features, change))

    def _columns(self, change: Callable[[Tensor], Tensor]) -> dict[str, Any]:
        """Applies a change to the tensors that have a row for each question."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        return {name: each if each is None else change(each) for name, each in columns.items()}


_COLUMNS = tuple(each.name for each in fields(Batch) if each.name not in ("features", "sentences", "plan"))


def _mapped(features: Mapping[str, Tensor], change: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    return {name: change(array) for name, array in features.items()}


def _shape(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"
