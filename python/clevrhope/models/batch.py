"""One training step's input: questions, programs, answers and image features as tensors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor


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
            store's dtype.
    """

    questions: Tensor
    question_lengths: Tensor
    programs: Tensor
    program_lengths: Tensor
    answers: Tensor
    families: Tensor
    rows: Tensor
    features: Mapping[str, Tensor]

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        shapes = "".join(f", {name} {tuple(array.shape)}" for name, array in self.features.items())
        return f"Batch({len(self)} questions on {self.answers.device}{shapes})"

    def first(self, n: int) -> "Batch":
        """The first n questions."""
        return self._map(lambda tensor: tensor[:n])

    def to(self, device: torch.device | str) -> "Batch":
        """A copy of the batch on another device."""
        return self._map(lambda tensor: tensor.to(device, non_blocking=True))

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        columns = {each.name: change(getattr(self, each.name)) for each in fields(self)[:-1]}
        return Batch(**columns, features={name: change(array) for name, array in self.features.items()})
