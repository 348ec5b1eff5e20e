"""Small batches of made questions, and some of them."""

from benchmarks.synthetic_batch import clevr_vocab, noise
from benchmarks.synthetic_batch import synthetic_batch as small_batch
from benchmarks.synthetic_batch import synthetic_scenes as small_scenes
from clevrhope.models.batch import Batch

__all__ = ["clevr_vocab", "noise", "short_questions", "small_batch", "small_scenes"]


def short_questions(kind: str = "pixels") -> Batch:
    """64 questions with programs of up to ten tokens, to be learned by heart."""
    batch = small_batch(30, 9, kind=kind, longest=10).first(64)
    assert len(batch) == 64
    return batch
