"""What tests of models share: small batches of made questions, settings, and learning a batch by heart."""

import torch
from torch import nn

from benchmarks.synthetic_batch import clevr_vocab, noise, part_of
from benchmarks.synthetic_batch import synthetic_batch as small_batch
from benchmarks.synthetic_batch import synthetic_scenes as small_scenes
from clevrhope.models.batch import Batch

__all__ = ["clevr_vocab", "noise", "part_of", "small_batch", "small_scenes"]

PIXELS = {"features": "pixels", "image_width": 48, "image_height": 32, "halvings": 2, "channels": 8}
"""Settings of a small model that reads the images of these batches."""

LXMERT = {"hidden": 24, "heads": 3, "intermediate": 48} | dict.fromkeys(
    ("language_layers", "object_layers", "cross_layers"), 1
)
"""Settings of a small LXMERT."""


def short_questions(kind: str = "pixels") -> Batch:
    """64 questions with programs of up to ten tokens, to be learned by heart."""
    batch = part_of(small_batch(30, 9, kind=kind, longest=10), slice(64))
    assert len(batch) == 64
    return batch


def learn_by_heart(model: nn.Module, batch: Batch, *, rate: float, most: int, loss: str = "loss") -> float:
    """Trains until all answers are right, at most so many updates; gives the share that is right."""
    optimiser = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], lr=rate)
    for update in range(1, most + 1):
        model.train()
        optimiser.zero_grad()
        getattr(model, loss)(batch).backward()
        optimiser.step()
        if update % 10 == 0 and (right := share_right(model, batch)) == 1.0:
            return right
    return share_right(model, batch)


def share_right(model: nn.Module, batch: Batch) -> float:
    model.eval()
    with torch.no_grad():
        return float((model.predict(batch).argmax(1) == batch.answers).float().mean())
