"""Train sets without a share of their questions of some types: which rows stay, and whole runs on them."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from short_runs import HOP, Train, info, weights

from clevrhope.__main__ import run_command
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError
from clevrhope.report.setups import dropped, setup_of
from clevrhope.training.request import parse_drops
from clevrhope.training.train_sets import kept_rows
from wording import refused


@pytest.fixture(scope="module")
def vocab(dataset: Path) -> Vocab:
    return read_vocab(Layout(dataset).vocab)


def rows_that_end_with(vocab: Vocab, *functions: str, n: int) -> Ints:
    """(n, 3) programs that end with these functions in turn: <START>, the last function, <END>."""
    numbers = vocab.program_token_to_idx
    ends = [numbers[functions[k % len(functions)]] for k in range(n)]
    return np.asarray([[numbers["<START>"], end, numbers["<END>"]] for end in ends], dtype=np.int32)


def test_a_share_of_one_type_goes_and_nothing_else(vocab: Vocab) -> None:
    programs = rows_that_end_with(vocab, "query_color", "count", n=20_000)
    rows = kept_rows(programs, {"color": 0.9}, seed=3, vocab=vocab)
    assert (np.diff(rows) > 0).all()
    assert np.count_nonzero(rows % 2 == 1) == 10_000  # the questions that count
    n_left = np.count_nonzero(rows % 2 == 0)
    assert abs(n_left - 1000) < 5 * np.sqrt(10_000 * 0.9 * 0.1)


def test_draws_depend_on_the_seed_and_the_row_alone(vocab: Vocab) -> None:
    programs = rows_that_end_with(vocab, "query_color", "count", n=3000)
    rows = kept_rows(programs, {"color": 0.5}, seed=3, vocab=vocab)
    fewer = kept_rows(programs[:700], {"color": 0.5}, seed=3, vocab=vocab)
    assert fewer.tolist() == [row for row in rows.tolist() if row < 700]
    more_dropped = kept_rows(programs, {"color": 0.8}, seed=3, vocab=vocab)
    assert set(more_dropped.tolist()) < set(rows.tolist())
    both = kept_rows(programs, {"color": 0.5, "count": 0.5}, seed=3, vocab=vocab)
    assert set(both.tolist()) < set(rows.tolist())
    assert kept_rows(programs, {"color": 0.5}, seed=4, vocab=vocab).tolist() != rows.tolist()


def test_what_cannot_be_dropped_is_said(vocab: Vocab) -> None:
    programs = rows_that_end_with(vocab, "query_color", "count", n=40)
    with refused(ConfigError):
        kept_rows(programs, {"colr": 0.5}, seed=3, vocab=vocab)
    with refused(ConfigError):
        kept_rows(programs, {"color": 1.0, "count": 1.0}, seed=3, vocab=vocab)


@pytest.mark.parametrize("text", ["color", "=0.5", "color=", "color=half", "color=0", "color=2", "color=nan"])
def test_shares_of_another_form_are_refused(text: str) -> None:
    with refused(ConfigError):
        parse_drops([text])


def test_shares_are_read_and_a_type_may_occur_once() -> None:
    assert parse_drops(["color=0.9", "count=1"]) == {"color": 0.9, "count": 1.0}
    with refused(ConfigError):
        parse_drops(["color=0.9", "color=0.5"])


def test_a_split_keeps_its_columns_in_step(dataset: Path, vocab: Vocab) -> None:
    layout = Layout(dataset)
    whole = open_split(layout, HOP, "train", vocab=vocab)
    every = [whole.tokens(0, len(whole))]
    rows = kept_rows(every[0][1], {"exist": 0.5, "count": 0.5}, seed=3, vocab=vocab)
    kept = whole.take(rows)
    assert 0 < len(kept) == len(rows) < len(whole)
    assert np.array_equal(kept.questions, every[0][0][rows])
    assert np.array_equal(kept.programs, every[0][1][rows])
    for name in ("answers", "image_idxs", "question_families", "question_lengths", "program_lengths"):
        assert np.array_equal(getattr(kept, name), getattr(whole, name)[rows])


def test_a_run_says_what_it_dropped_and_is_another_run(run: Train, dataset: Path, tmp_path: Path) -> None:
    run("plain", updates=4)
    run("dropped", updates=4, drop_types={"exist": 0.5})
    plain, partial = (info(tmp_path / name) for name in ("plain", "dropped"))
    assert "drop_types" not in plain
    assert partial["drop_types"] == {"exist": 0.5}
    assert not dropped(setup_of(plain))
    assert dropped(setup_of(partial))
    assert setup_of(partial)["dropped exist"] == 0.5
    assert weights(tmp_path / "plain") != weights(tmp_path / "dropped")
    with refused(BindingError):
        run("plain", updates=4, drop_types={"exist": 0.5})
    command = f"train tiny_models:Tiny {dataset} --hop {HOP} --size 100 --seed 3 --updates 4 --device cpu"
    more = f"--quiet --out {tmp_path / 'again'} --drop-type exist=0.5"
    assert run_command(f"{command} {more}".split()) == 0
    assert weights(tmp_path / "again") == weights(tmp_path / "dropped")


def test_too_few_questions_for_a_batch_are_refused(run: Train) -> None:
    with refused(ConfigError):
        run("few", size=20, drop_types=dict.fromkeys(("count", "shape", "color", "material"), 1.0))
