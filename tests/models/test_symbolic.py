"""Programs as a model writes them, run on true scenes: true ones give the true answers, others none."""

from dataclasses import asdict

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from small_batches import clevr_vocab, small_batch, small_scenes

from clevrhope import programs as executor


def test_true_programs_give_the_true_answers() -> None:
    batch, scenes = small_batch(8, 8), small_scenes(8)
    # Questions of a scene stand together, eight of each.
    idxs = np.repeat(scenes.indices, 8)
    answers = executor.execute_batch(
        batch.programs.numpy(), scenes, image_idxs=idxs, vocab=asdict(clevr_vocab()), mark_ill_formed=True
    )
    assert answers.tolist() == batch.answers.tolist()


def test_programs_without_an_answer_are_told_from_rows_that_are_none() -> None:
    vocab, scenes = clevr_vocab(), small_scenes(8)
    assert scenes.n_objects[0] > 1

    def row(text: str) -> list[int]:
        tokens = [vocab.program_token_to_idx[name] for name in text.split()]
        return [*tokens, *[0] * (6 - len(tokens))]

    rows = [
        row("<START> count scene <END>"),
        row("<START> query_color unique scene <END>"),  # several objects
        row("<START> exist count scene <END>"),  # a tree, but of functions that do not fit
        row("<START> count <END>"),
        row("<START> count scene"),
    ]
    answers = executor.execute_batch(
        np.array(rows, dtype=np.int32),
        scenes,
        image_idxs=np.repeat(scenes.indices[:1], len(rows)),
        vocab=asdict(vocab),
        mark_ill_formed=True,
    )
    count = vocab.answer_token_to_idx[str(scenes.n_objects[0])]
    assert answers.tolist() == [count, executor.INVALID, *[executor.ILL_FORMED] * 3]
