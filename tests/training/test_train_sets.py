"""Train sets other than the whole of train: with questions of a suite, or without a share of some types."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from building import Cli
from short_runs import HOP, Train, check_resumes, info, weights

from clevrhope.audit import audit
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import existing_manifest
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_files import without_suites
from clevrhope.dataset.vocab import Vocab, read_vocab
from clevrhope.errors import ConfigError
from clevrhope.experiments.checks import findings
from clevrhope.experiments.plan import make_plan
from clevrhope.experiments.reading import read_experiment
from clevrhope.metrics.baselines import baseline
from clevrhope.metrics.request_files import write_requests
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline.paraphrases import make_paraphrases
from clevrhope.pipeline.suites import make_suite
from clevrhope.report.runs import find_sources
from clevrhope.report.setups import dropped, setup_of
from clevrhope.training.evaluation import evaluate
from clevrhope.training.request import default_out, parse_drops
from clevrhope.training.train_sets import kept_rows, open_train_set
from wording import check_refused, check_words, refused


@pytest.fixture(scope="module")
def folder(paired: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the dataset with train_carets, and the pairs of both suites; not to be changed."""
    copy = Path(shutil.copytree(paired, tmp_path_factory.mktemp("train_sets") / "data"))
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
    check_refused(BindingError, run, dataset=folder)


def test_the_added_questions_come_on_top(run: Train, folder: Path) -> None:
    layout = Layout(folder)
    reader, _, _ = open_train_set(layout, HOP, "train_carets", 100)
    assert len(reader) == 110
    assert len(open_train_set(layout, HOP, "train_carets", 109)[0]) == 119
    plain, _, _ = open_train_set(layout, HOP, "train", 100)
    is_own = np.arange(110) % 11 < 10
    np.testing.assert_array_equal(reader.answers[is_own], plain.answers)
    np.testing.assert_array_equal(reader.image_idxs[is_own], plain.image_idxs)
    check_refused(ConfigError, run, dataset=folder, split="train_carets", size=5000)


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


def test_paraphrases_of_train_come_behind_its_questions(run: Train, dataset: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(dataset, tmp_path / "data"))
    texts = [
        {"id": f"{HOP}/train/{row}", "text": f"Which would you {k}-say, zyx?"}
        for row, k in ((3, 1), (99, 2), (100, 3), (3, 4))
    ]
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in texts))
    make_paraphrases(folder, "people", [file])
    assert [check.name for check in audit(folder).checks if check.faults and check.name != "images"] == []
    layout = Layout(folder)
    table, vocab, info = open_train_set(layout, HOP, "train_people", 100)
    check_refused(ConfigError, open_train_set, layout, HOP, "train_peple", 100)
    own = open_train_set(layout, HOP, "train", 100)[0]
    assert (len(table), table.pool, info["split"]) == (103, own.pool, "train_people")
    for name in ("answers", "image_idxs"):
        np.testing.assert_array_equal(getattr(table, name), getattr(own, name)[[*range(100), 3, 3, 99]])
    words = vocab.questions()
    assert [words[token] for token in table.questions[102] if token][-4:] == ["2-say", ",", "zyx", "<END>"]
    assert table.sentences()[100:] == [texts[k]["text"] for k in (0, 3, 1)]
    plan = tmp_path / "plan.toml"
    for batch in (103, 104):  # the plan of an experiment counts the texts, too
        plan.write_text(
            f"""[[dataset]]
name = "own"
folder = "{folder}"
build = [{{ hops = ["{HOP}"] }}]
[[model]]
name = "question_only"
sizes = [100]
seeds = [1]
options = ["--split", "train_people"]
set = {{ "recipe.batch_size" = {batch} }}
"""
        )
        told = [*findings(make_plan(read_experiment(plan)))]
        assert len(told) == batch - 103
    check_words(str(told[0]))
    run(dataset=folder, split="train_people")
    (own_words,) = evaluate(tmp_path / "run", checkpoints=["last"], device="cpu")
    assert own_words.unknown_words == ()
    for answers in (
        lambda: list(baseline(folder, "always_no", suite="people")),
        lambda: score_suite(folder, "people", own_words.path, seed=1),
        lambda: write_requests(folder, tmp_path / "asked.jsonl", suite="people", seed=1),
        lambda: evaluate(tmp_path / "run", suite="people", checkpoints=["last"], device="cpu"),
    ):
        check_refused(ConfigError, answers)
    kept = without_suites(layout, existing_manifest(layout.manifest), HOP, "train")
    assert HOP not in kept.suites
    assert not layout.suite_h5(HOP, "people", "train").exists()


def test_texts_about_a_test_set_alone_are_no_train_set(dataset: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(dataset, tmp_path / "data"))
    file = tmp_path / "texts.jsonl"
    file.write_text(json.dumps({"id": f"{HOP}/complex_ood/3", "text": "Which would you say?"}))
    make_paraphrases(folder, "other", [file])
    check_refused(ConfigError, open_train_set, Layout(folder), HOP, "train_other", 10)
    check_refused(ConfigError, score_suite, folder, "other", file, seed=1, hops=["none"])


def test_a_train_set_that_was_not_made(folder: Path, cli: Cli) -> None:
    for split in ("train_rad", "train_caret"):
        check_refused(ConfigError, open_train_set, Layout(folder), HOP, split, 10)
    command = ["train", "tiny_models:Tiny", str(folder), "--hop", HOP, "--size", "10", "--seed", "1"]
    check_words(cli(*command, "--split", "complex_ood", code=2).err)


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
    check_refused(ConfigError, kept_rows, programs, {"colr": 0.5}, seed=3, vocab=vocab)
    check_refused(ConfigError, kept_rows, programs, {"color": 1.0, "count": 1.0}, seed=3, vocab=vocab)


@pytest.mark.parametrize("text", ["color", "=0.5", "color=", "color=half", "color=0", "color=2", "color=nan"])
def test_shares_of_another_form_are_refused(text: str) -> None:
    check_refused(ConfigError, parse_drops, [text])


def test_shares_are_read_and_a_type_may_occur_once() -> None:
    assert parse_drops(["color=0.9", "count=1"]) == {"color": 0.9, "count": 1.0}
    check_refused(ConfigError, parse_drops, ["color=0.9", "color=0.5"])


def test_a_run_says_what_it_dropped_and_is_another_run(
    run: Train, dataset: Path, tmp_path: Path, cli: Cli
) -> None:
    run("plain", updates=4)
    run("dropped", updates=4, drop_types={"exist": 0.5})
    plain, partial = (info(tmp_path / name) for name in ("plain", "dropped"))
    assert "drop_types" not in plain
    assert partial["drop_types"] == {"exist": 0.5}
    assert not dropped(setup_of(plain))
    assert dropped(setup_of(partial))
    assert setup_of(partial)["dropped exist"] == 0.5
    assert weights(tmp_path / "plain") != weights(tmp_path / "dropped")
    check_refused(BindingError, run, "plain", updates=4, drop_types={"exist": 0.5})
    options = f"--hop {HOP} --size 100 --seed 3 --updates 4 --device cpu --quiet --drop-type exist=0.5"
    cli("train", "tiny_models:Tiny", dataset, *options.split(), "--out", tmp_path / "again")
    assert weights(tmp_path / "again") == weights(tmp_path / "dropped")


def test_too_few_questions_for_a_batch_are_refused(run: Train) -> None:
    with refused(ConfigError):
        run("few", size=20, drop_types=dict.fromkeys(("count", "shape", "color", "material"), 1.0))
