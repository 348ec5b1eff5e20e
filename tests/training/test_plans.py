"""Batches of questions: each image once, planned ahead, and with their sentences."""

from pathlib import Path
from threading import Event, get_ident
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from short_runs import HOP

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import read_vocab
from clevrhope.features.store import open_store
from clevrhope.models.batch import Batch
from clevrhope.training.data import Questions
from waiting import HANG_S

CPU = torch.device("cpu")


@pytest.mark.parametrize("split", ["train", "covr_train"])
def test_a_plan_is_of_its_own_batch(folder: Path, split: str) -> None:
    layout, features = Layout(folder), open_store(folder, kind="attributes").pool("train")
    vocab = read_vocab(layout.vocab if split == "train" else layout.covr_vocab)
    questions = Questions(open_split(layout, HOP, split, vocab=vocab), features, CPU)
    order = np.random.default_rng(3).permutation(len(questions))[:50]

    def plan(batch: Batch) -> Any:
        return batch, get_ident()

    batches = list(questions.batches(order, 20, plan))
    assert [len(each) for each in batches] == [20, 20, 10]
    assert all(each.plan is None for each in questions.batches(order, 20))
    for batch in batches:
        planned, thread = batch.plan
        assert thread != get_ident()
        for name in ("questions", "question_lengths", "programs", "program_lengths", "answers", "rows"):
            assert torch.equal(getattr(planned, name), getattr(batch, name))
        assert (planned.images is None) == (split == "train")
        assert planned.images is None or torch.equal(planned.images, batch.images)
        assert set(planned.features) == set(batch.features)
        assert all(torch.equal(planned.features[name], each) for name, each in batch.features.items())


def test_the_next_batch_is_planned_while_one_is_computed(folder: Path) -> None:
    layout, features = Layout(folder), open_store(folder, kind="attributes").pool("train")
    reader = open_split(layout, HOP, "train", vocab=read_vocab(layout.vocab))
    planned = [Event() for _ in range(4)]

    def plan(batch: Batch) -> None:
        planned[int(batch.rows[0]) // 8].set()

    batches = Questions(reader, features, CPU).batches(np.arange(32), 8, plan)
    next(batches)
    assert planned[1].wait(HANG_S)
    assert not planned[2].is_set(), "one batch ahead, and no more"
    assert len(list(batches)) == 3
