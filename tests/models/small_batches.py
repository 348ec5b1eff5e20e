"""Questions of CLEVR's templates on sampled scenes, as batches with made features; no files."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache

import numpy as np
import torch
from torch import Tensor

from clevrhope import _core
from clevrhope.dataset.vocab import Vocab, make_vocab
from clevrhope.models.batch import Batch
from clevrhope.questions import instantiate_questions, read_templates
from clevrhope.scenes import read_world, sample_scenes

N_OBJECTS, N_TYPES = 10, 4


@cache
def clevr_vocab() -> Vocab:
    """The vocab.json of every folder of CLEVR's templates and values."""
    world = read_world()
    tokens = _core.ProgramTokens(world.vocabulary)
    return make_vocab(read_templates(world).words, tokens.names, world.answers)


@cache
def small_scenes(n: int) -> _core.SceneBatch:
    return sample_scenes(n, seed=3)


def small_batch(
    n_scenes: int = 8,
    questions_per_scene: int = 8,
    *,
    kind: str = "pixels",
    height: int = 32,
    width: int = 48,
    seed: int = 0,
    longest: int | None = None,
) -> Batch:
    """Questions on a few scenes, each scene with features of noise that are its own.

    Questions share scenes and scenes share questions, so neither alone gives the answers. With `longest`,
    those alone whose programs have no more tokens. Rows are as wide as they need to be.
    """
    world, vocab = read_world(), clevr_vocab()
    templates = read_templates(world)
    asked = instantiate_questions(
        small_scenes(n_scenes), seed=5, templates=templates, questions_per_scene=questions_per_scene
    )
    questions, question_lengths = asked.question_tokens(vocab.questions(), templates.question_width)
    tokens = _core.ProgramTokens(world.vocabulary, vocab.programs())
    programs, program_lengths = asked.program_tokens(tokens, templates.program_width)
    answers = [vocab.answer_token_to_idx[world.answers[number]] for number in asked.answers]
    pictures = asked.image_idxs
    features = {
        name: array[pictures] for name, array in noise(n_scenes, kind, height, width, seed=seed).items()
    }
    kept = np.flatnonzero(program_lengths <= (longest or templates.program_width))
    n_words, n_tokens = (int(lengths[kept].max()) for lengths in (question_lengths, program_lengths))
    return Batch(
        questions=long(questions[kept, :n_words]),
        question_lengths=long(question_lengths[kept]),
        programs=long(programs[kept, :n_tokens]),
        program_lengths=long(program_lengths[kept]),
        answers=torch.tensor(answers)[kept],
        families=long(asked.question_families[kept]),
        rows=torch.arange(len(kept)),
        features={name: array[kept] for name, array in features.items()},
    )


def first_rows(batch: Batch, n: int) -> Batch:
    arrays = {each.name: getattr(batch, each.name)[:n] for each in fields(batch) if each.name != "features"}
    return Batch(**arrays, features={name: array[:n] for name, array in batch.features.items()})


def short_questions(kind: str = "pixels") -> Batch:
    """64 questions with programs of up to ten tokens, to be learned by heart."""
    batch = first_rows(small_batch(30, 9, kind=kind, longest=10), 64)
    assert len(batch) == 64
    return batch


def noise(n: int, kind: str, height: int, width: int, *, seed: int = 0) -> Mapping[str, Tensor]:
    """Features of a kind for n pictures, as a feature store's arrays."""
    rng = torch.Generator().manual_seed(seed)
    if kind == "pixels":
        return {"pixels": torch.randint(0, 256, (n, 3, height, width), dtype=torch.uint8, generator=rng)}
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


def long(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array.astype(np.int64))
