"""Runs on a train set with questions of a suite: trained, resumed, evaluated, and kept apart from others."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from short_runs import HOP, Train, check_resumes

from clevrhope.__main__ import run_command
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline.suites import make_suite
from clevrhope.report.runs import find_sources
from clevrhope.training.evaluation import evaluate
from clevrhope.training.request import TrainRequest, default_out
from clevrhope.training.train_sets import open_train_set
from wording import refused


@pytest.fixture
def folder(dataset: Path, tmp_path: Path) -> Path:
    """A copy of the dataset with train_carets, and the pairs of both suites."""
    copy = shutil.copytree(dataset, tmp_path / "data")
    for suite in ("carets", "rad"):
        make_suite(copy, suite, hops=[HOP])
    make_suite(copy, "carets", hops=[HOP], train=True)
    return copy


def test_a_model_learns_the_words_of_the_suite_and_is_scored_on_its_pairs(
    run: Train, folder: Path, tmp_path: Path
) -> None:
    summary = run(dataset=folder, split="train_carets")
    layout, made = Layout(folder), tmp_path / "run"
    vocab = read_vocab(made / "vocab.json")
    assert vocab == read_vocab(layout.suite_vocab(HOP, "carets"))
    assert len(vocab.questions()) > len(read_vocab(layout.vocab).questions())
    info = json.loads((made / "run.json").read_text())
    assert (info["split"], info["size"]) == ("train_carets", 100)
    assert len(info["suite_fingerprint"]) == 64
    # It answers the splits' own questions, the suite that it learned, and one with words that it did not.
    (own,) = evaluate(made, checkpoints=["last"], device="cpu")
    assert own.unknown_words == ()
    (carets,) = evaluate(made, suite="carets", checkpoints=["last"], device="cpu")
    assert carets.unknown_words == ()
    (rad,) = evaluate(made, suite="rad", checkpoints=["last"], device="cpu")
    assert "exactly" in rad.unknown_words
    (condition,) = score_suite(folder, "carets", carets.path, seed=1, bootstrap=0).conditions
    assert condition.train_size == 100
    for scored in condition.splits.values():
        assert scored.n_missing == 0
    # The same request again changes nothing, and one without the added questions is of another run.
    assert run(dataset=folder, split="train_carets").resumed_at == summary.updates
    with refused(BindingError):
        run(dataset=folder)


def test_the_added_questions_come_on_top(run: Train, folder: Path, tmp_path: Path) -> None:
    layout = Layout(folder)
    reader, _, _ = open_train_set(layout, HOP, "train_carets", 100)
    assert len(reader) == 110
    assert len(open_train_set(layout, HOP, "train_carets", 109)[0]) == 119
    plain, _, _ = open_train_set(layout, HOP, "train", 100)
    is_own = np.arange(110) % 11 < 10
    np.testing.assert_array_equal(reader.answers[is_own], plain.answers)
    np.testing.assert_array_equal(reader.image_idxs[is_own], plain.image_idxs)
    with refused(ConfigError):
        run(dataset=folder, split="train_carets", size=5000)
    request = TrainRequest("lstm", folder, HOP, size=105, seed=0, out=tmp_path, split="train_carets")
    assert request.n_questions == 115


def test_an_interrupted_run_goes_on_to_the_same_weights(run: Train, folder: Path, tmp_path: Path) -> None:
    check_resumes(run, tmp_path, 9, dataset=folder, split="train_carets")


def test_reports_do_not_take_it_for_a_seed_of_a_run_on_train(
    run: Train, folder: Path, tmp_path: Path
) -> None:
    run("runs/plain", dataset=folder)
    run("runs/augmented", dataset=folder, split="train_carets", seed=4)
    for name in ("plain", "augmented"):
        evaluate(tmp_path / "runs" / name, checkpoints=["last"], device="cpu")
    sources, skipped = find_sources([tmp_path / "runs"])
    assert not skipped
    assert {each.name for each in sources} == {"Tiny", "Tiny (split=train_carets)"}
    assert default_out("a.b:Tiny", HOP, 100, 3, "train_carets") == Path(f"runs/Tiny-{HOP}-train_carets-100-3")


def test_a_train_set_that_was_not_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = Layout(folder)
    with refused(
        ConfigError,
    ):
        open_train_set(layout, HOP, "train_rad", 10)
    with refused(ConfigError):
        open_train_set(layout, HOP, "train_caret", 10)
    command = ["train", "tiny_models:Tiny", str(folder), "--hop", HOP, "--size", "10", "--seed", "1"]
    assert run_command([*command, "--split", "complex_ood"]) == 2
    err = capsys.readouterr().err
    assert '--split: "complex_ood" is not a train set; there is train, and with questions of a suite' in err
