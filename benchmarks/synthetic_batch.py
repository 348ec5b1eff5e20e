"""Synthetic batches: questions of CLEVR's templates on sampled scenes, with noise as features.

Benchmarks and tests need questions and programs of realistic kinds and lengths, but no images or files.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clevrhope import _core
from clevrhope.dataset.vocab import Vocab, make_vocab
from clevrhope.models.batch import Batch
from clevrhope.questions import instantiate_questions, read_templates
from clevrhope.scenes import read_world, sample_scenes

N_OBJECTS, N_TYPES = 10, 4
"""The most objects of a scene, and the number of attribute types."""


@cache
def clevr_vocab() -> Vocab:
    """The vocabulary of every dataset with CLEVR's templates and values."""
    world = read_world()
    tokens = _core.ProgramTokens(world.vocabulary)
    return make_vocab(read_templates(world).words, tokens.names, world.answers)


@cache
def synthetic_scenes(n: int) -> _core.SceneBatch:
    """The scenes that the questions are about."""
    return sample_scenes(n, seed=3)


def part_of(batch: Batch, rows: slice) -> Batch:
    """These questions of a batch, each with its own image, or with its set of images that all may share."""
    columns = {each.name: getattr(batch, each.name)[rows] for each in fields(Batch)[:7]}
    if batch.images is not None:
        return replace(batch, **columns, images=batch.images[rows])
    features = {name: array[rows] for name, array in batch.features.items()}
    return replace(batch, **columns, features=features)


def synthetic_batch(
    n_scenes: int = 8,
    questions_per_scene: int = 8,
    *,
    kind: str = "pixels",
    height: int = 32,
    width: int = 48,
    seed: int = 0,
    longest: int | None = None,
) -> Batch:
    """A batch of questions on a few scenes, each scene with its own noise as features.

    Questions share scenes and scenes share questions, so neither determines the answers on its own. Rows are
    only as wide as necessary.

    Args:
        n_scenes: number of scenes.
        questions_per_scene: the most questions per scene; some families yield none.
        kind: the kind of features.
        height: image height in pixels; only for "pixels".
        width: image width in pixels; only for "pixels".
        seed: the seed of the noise.
        longest: the most tokens of a program, including <START> and <END>; longer ones are left out.
    """
    world, vocab = read_world(), clevr_vocab()
    templates = read_templates(world)
    batch = instantiate_questions(
        synthetic_scenes(n_scenes), seed=5, templates=templates, questions_per_scene=questions_per_scene
    )
    questions, question_lengths = batch.question_tokens(vocab.questions(), templates.question_width)
    tokens = _core.ProgramTokens(world.vocabulary, vocab.programs())
    programs, program_lengths = batch.program_tokens(tokens, templates.program_width)
    answers = [vocab.answer_token_to_idx[world.answers[number]] for number in batch.column("answers")]
    features = noise(n_scenes, kind, height, width, seed=seed)
    kept = np.flatnonzero(program_lengths <= (longest or templates.program_width))
    n_words, n_tokens = (int(lengths[kept].max()) for lengths in (question_lengths, program_lengths))
    return Batch(
        questions=_long(questions[kept, :n_words]),
        question_lengths=_long(question_lengths[kept]),
        programs=_long(programs[kept, :n_tokens]),
        program_lengths=_long(program_lengths[kept]),
        answers=torch.tensor(answers)[kept],
        families=_long(batch.column("question_families")[kept]),
        rows=torch.arange(len(kept)),
        features={name: array[batch.column("image_idxs")[kept]] for name, array in features.items()},
    )


def noise(n: int, kind: str, height: int, width: int, *, seed: int = 0) -> Mapping[str, Tensor]:
    """Features of a kind for n images, as a feature store's arrays."""
    rng = torch.Generator().manual_seed(seed)
    if kind == "pixels":
        return {"pixels": torch.randint(0, 256, (n, 3, height, width), dtype=torch.uint8, generator=rng)}
    if kind == "none":
        return {}
    if kind == "resnet101":
        return {"maps": torch.rand(n, 1024, 14, 14, generator=rng).half()}
    n_boxes = torch.randint(3, N_OBJECTS + 1, (n,), generator=rng)
    if kind == "attributes":
        there = torch.arange(N_OBJECTS) < n_boxes.unsqueeze(1)
        attributes = torch.randint(0, 2, (n, N_OBJECTS, N_TYPES), generator=rng)
        places = torch.rand(n, N_OBJECTS, 3, generator=rng) * 2 - 1
        return {
            "attributes": attributes.masked_fill(~there.unsqueeze(2), -1),
            "places": places * there.unsqueeze(2),
            "n_boxes": n_boxes,
        }
    there = (torch.arange(36) < n_boxes.unsqueeze(1)).unsqueeze(2)
    return {
        "vectors": (torch.rand(n, 36, 2048, generator=rng) * there).half(),
        "boxes": torch.rand(n, 36, 4, generator=rng) * there,
        "n_boxes": n_boxes,
    }


def _long(array: npt.NDArray[np.integer[Any]]) -> Tensor:
    return torch.from_numpy(array.astype(np.int64))
