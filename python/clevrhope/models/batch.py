"""Questions, programs, answers and their images' features, as tensors: what a model is given at a step."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """B questions and their images' features; Q and P are the widths of the folder's rows of tokens.

    Attributes:
        questions: (B, Q) int64 tokens of vocab.json: <START>, words, <END>, then 0.
        question_lengths: (B,) int64 tokens of a question, both marks included.
        programs: (B, P) int64 tokens of vocab.json: <START>, functions in prefix order, <END>, then 0.
        program_lengths: (B,) int64 tokens of a program, both marks included.
        answers: (B,) int64 numbers of vocab.json.
        families: (B,) int64, CLEVR's question_family_index.
        rows: (B,) int64, the question's place in its split's file.
        features: of the questions' images, by the array's name in its feature store, each (B, ...), of the
            store's types.
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

    def first(self, n: int) -> "Batch":
        """The first n questions."""
        some = {each.name: getattr(self, each.name)[:n] for each in fields(self) if each.name != "features"}
        return replace(self, **some, features={name: array[:n] for name, array in self.features.items()})

    def to(self, device: torch.device | str) -> "Batch":
        """The same on another device."""
        moved = {
            each.name: getattr(self, each.name).to(device, non_blocking=True)
            for each in fields(self)
            if each.name != "features"
        }
        features = {name: array.to(device, non_blocking=True) for name, array in self.features.items()}
        return replace(self, **moved, features=features)
