"""Predictions of trained runs: what is in the files, and what does not fit together."""

import json
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from building import Cli, build_demo
from short_runs import HOP, Train, rows, start_command

import clevrhope
from clevrhope.config.presets import PRESETS
from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.vocab import read_vocab, write_vocab
from clevrhope.errors import ConfigError, DatasetError, WrongFolderError
from clevrhope.features.extraction import make_features
from clevrhope.metrics import score
from clevrhope.report.results import measure
from clevrhope.report.runs import find_sources
from clevrhope.training.evaluation import evaluate
from waiting import HANG_S, wait_until
from wording import check_refused, refused

SPLITS = ("complex_iid", "complex_ood", "minimal_iid", "minimal_ood")


def test_each_checkpoint_answers_every_test_set_in_scores_columns(
    run: Train, dataset: Path, tmp_path: Path
) -> None:
    run(keep_last=2, keep_every=4)
    made = evaluate(tmp_path / "run", device="cpu")
    assert [(each.checkpoint, each.way) for each in made] == [
        ("all-0000014", "predict"),
        ("words", "predict"),
        ("last", "predict"),
    ]
    for each in made:
        assert each.path == tmp_path / f"run/predictions/{each.checkpoint}.predict.jsonl"
        assert not any(each.unanswered.values())
        (condition,) = score(dataset, each.path, seed=1, bootstrap=0, hops=[HOP]).conditions
        assert condition.train_size == 100
        assert condition.runs == ("3",)
        assert condition.accuracies == pytest.approx(dict(each.percent))
        assert tuple(condition.accuracies) == SPLITS
        assert {
            (row["model"], row["seed"], row["checkpoint"], row["way"], row["features"])
            for row in rows(each.path)
        } == {("tiny_models:Tiny", 3, each.checkpoint, "predict", "pixels")}
    before = made[2].path.read_bytes()
    assert evaluate(tmp_path / "run", device="cpu", batch_size=7)[2].path.read_bytes() == before


def test_ways_and_questions_without_an_answer(run: Train, dataset: Path, tmp_path: Path) -> None:
    run(model="tiny_models:Silent")
    even, yes, symbolic = evaluate(tmp_path / "run", device="cpu")
    assert (even.way, yes.way, symbolic.way) == ("even", "yes", "symbolic")
    answers = rows(even.path)
    assert all((row["answer"] == "<UNK>") == (row["question_index"] % 2 == 0) for row in answers)
    assert even.unanswered == {
        split: sum(row["split"] == split for row in answers if row["answer"] == "<UNK>") for split in SPLITS
    }
    (condition,) = score(dataset, even.path, seed=1, bootstrap=0, hops=[HOP], by=()).conditions
    assert condition.accuracies == pytest.approx(dict(even.percent))
    for split in SPLITS:
        asked = clevrhope.load(dataset, HOP, split, text=True, images=False)
        right = np.mean([each["answer_text"] == "yes" for each in asked])
        assert yes.percent[split] == pytest.approx(100 * right)
    # It writes the true program, but for every fifth question, of which it writes none.
    for split, n in symbolic.unanswered.items():
        there = [row for row in rows(symbolic.path) if row["split"] == split]
        assert n == len(there[::5]) == sum(row["answer"] == "<UNK>" for row in there)
        assert symbolic.percent[split] == pytest.approx(100 * (1 - n / len(there)))


def test_some_checkpoints_and_splits_elsewhere(run: Train, tmp_path: Path) -> None:
    run()
    (made,) = evaluate(
        tmp_path / "run", checkpoints=["words"], splits=["minimal_ood"], out=tmp_path / "out", device="cpu"
    )
    assert made.path == tmp_path / "out/predictions/words.predict.jsonl"
    assert {row["split"] for row in rows(made.path)} == {"minimal_ood"}
    check_refused(ConfigError, evaluate, tmp_path / "run", checkpoints=["lats"])
    check_refused(ConfigError, evaluate, tmp_path / "run", splits=["train"])


def test_some_splits_leave_a_files_others_as_they_are(run: Train, tmp_path: Path) -> None:
    run()
    folder, more = tmp_path / "run", {"checkpoints": ["last"], "device": "cpu"}
    (made,) = evaluate(folder, **more)
    before = rows(made.path)
    (again,) = evaluate(folder, **more, splits=["minimal_ood"])
    assert set(again.percent) == {"minimal_ood"}
    assert again.constants == {"minimal_ood": ("no", 75.0)}  # one image in four shows the pair
    assert 0 <= again.groups["minimal_ood"] <= again.percent["minimal_ood"]
    after = rows(made.path)
    assert sorted(after, key=json.dumps) == sorted(before, key=json.dumps)
    # One file grows from split to split, too.
    made.path.unlink()
    for split in SPLITS:
        evaluate(folder, **more, splits=[split])
    assert rows(made.path) == before

    # Weights that came later answered none of what is there; nor is known who answered rows of old files.
    (folder / "weights/last.safetensors").write_bytes((folder / "weights/words.safetensors").read_bytes())
    content = made.path.read_bytes()
    check_refused(ConfigError, evaluate, folder, **more, splits=["minimal_ood"])
    assert made.path.read_bytes() == content
    assert evaluate(folder, **more)
    made.path.write_text("".join(f"{json.dumps({**row, 'made_by': None})}\n" for row in rows(made.path)))
    check_refused(ConfigError, evaluate, folder, **more, splits=["minimal_ood"])


def test_a_copy_of_the_dataset_is_the_runs_own_and_one_with_other_questions_is_not(
    run: Train, dataset: Path, tmp_path: Path
) -> None:
    trained_on = shutil.copytree(dataset, tmp_path / "data")
    run(dataset=trained_on)
    folder, more = tmp_path / "run", {"checkpoints": ["last"], "splits": ["minimal_ood"], "device": "cpu"}
    copy = shutil.copytree(trained_on, tmp_path / "copy")
    (made,) = evaluate(folder, **more, dataset=copy)
    assert made.path == folder / "predictions/last.predict.jsonl"
    # Of the same seed, world and templates, but with other questions, as settings of a build can make them.
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"][f"hops/{HOP}/minimal_ood.h5"]["sha256"] = "0" * 64
    (copy / "manifest.json").write_text(json.dumps(manifest, indent=2))
    check_refused(ConfigError, evaluate, folder, **more, dataset=copy)
    # Where the one it was trained on is gone, it has moved.
    shutil.rmtree(trained_on)
    assert evaluate(folder, **more, dataset=copy)


def test_notes_of_features_are_in_every_row(run: Train, dataset: Path, tmp_path: Path) -> None:
    make_features(dataset, kind="attributes")
    run(model="tiny_models:Knowing")
    (made,) = evaluate(tmp_path / "run", device="cpu")
    assert {row["note"] for row in rows(made.path)} == {"true attributes, nothing seen"}
    assert json.loads((tmp_path / "run/run.json").read_text())["features"]["note"]


def test_a_run_that_is_not_finished(run: Train, tmp_path: Path) -> None:
    check_refused(DatasetError, evaluate, tmp_path)
    run()
    (tmp_path / "run/weights/last.safetensors").unlink()
    check_refused(ConfigError, evaluate, tmp_path / "run")
    check_refused(DatasetError, run)
    assert len(evaluate(tmp_path / "run", checkpoints=["words"], device="cpu")) == 1
    (mine := tmp_path / "run/weights/mine.safetensors").write_bytes(b"somebody else's")
    shutil.copyfile(tmp_path / "run/weights/words.safetensors", tmp_path / "run/weights/last.safetensors")
    check_refused(DatasetError, run)
    run("other", seed=7)
    shutil.copyfile(tmp_path / "other/weights/last.safetensors", mine)
    check_refused(DatasetError, evaluate, tmp_path / "run", device="cpu")
    mine.unlink()
    (tmp_path / "run/weights/last.safetensors").unlink()
    (tmp_path / "run/finished.json").unlink()
    check_refused(ConfigError, evaluate, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/weights")
    check_refused(ConfigError, evaluate, tmp_path / "run")


def test_weights_of_a_finished_run_that_are_cut_off(run: Train, tmp_path: Path) -> None:
    run()
    path = tmp_path / "run/weights/words.safetensors"
    path.write_bytes(path.read_bytes()[:-10])
    check_refused(DatasetError, run)


@pytest.mark.slow
def test_what_does_not_belong_together(run: Train, tmp_path: Path) -> None:
    run()
    folder = tmp_path / "run"
    other = build_demo(tmp_path / "other", seed=6, images="h5").folder
    make_features(other, kind="pixels", size=(24, 8))
    check_refused(DatasetError, evaluate, folder, dataset=other)
    shutil.rmtree(other / "features")
    make_features(other, kind="pixels", size=(24, 16))
    # Another dataset with the same words: its predictions would pass for the run's own.
    more = {"dataset": other, "checkpoints": ["last"], "device": "cpu"}
    for out in (None, folder, run("second").folder):
        check_refused(ConfigError, evaluate, folder, **more, out=out)
        assert not (folder / "predictions").exists()
    (made,) = evaluate(folder, **more, out=tmp_path / "elsewhere")
    assert made.path == tmp_path / "elsewhere/predictions/last.predict.jsonl"
    assert set(made.percent) == set(SPLITS)
    # Neither do some splits of one dataset go into a file of another one.
    with refused(ConfigError):
        evaluate(folder, device="cpu", out=tmp_path / "elsewhere", splits=["minimal_ood"])
    vocab = read_vocab(other / "vocab.json")
    words = {**vocab.question_token_to_idx, "zebra": len(vocab.question_token_to_idx)}
    write_vocab(
        other / "vocab.json", type(vocab)(words, vocab.program_token_to_idx, vocab.answer_token_to_idx)
    )
    run("trained_there", dataset=other)
    (folder / "weights/last.safetensors").write_bytes(
        (tmp_path / "trained_there/weights/last.safetensors").read_bytes()
    )
    check_refused(DatasetError, evaluate, folder, dataset=other)
    shutil.copyfile(folder / "weights/last.safetensors", tmp_path / "last.safetensors")
    run("wide", settings={"width": 9})
    shutil.copyfile(tmp_path / "wide/weights/last.safetensors", folder / "weights/last.safetensors")
    check_refused(DatasetError, evaluate, folder, checkpoints=["last"])
    (folder / "weights/last.safetensors").write_bytes(b"weights")
    check_refused(DatasetError, evaluate, folder, checkpoints=["last"])


def test_scores_of_another_number_of_answers(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_refused(ConfigError, run, model="tiny_models:WrongShape")
    assert not (tmp_path / "run").exists(), "told before anything is written, let alone trained"
    # What is right in training and wrong when evaluated is told then.
    monkeypatch.setenv("TINY_ANSWERS", "all")
    run(model="tiny_models:WrongShape")
    monkeypatch.delenv("TINY_ANSWERS")
    check_refused(ConfigError, evaluate, tmp_path / "run", device="cpu")


def test_the_command_tells_accuracies(run: Train, tmp_path: Path, cli: Cli) -> None:
    run(model="tiny_models:Silent")
    first, *_ = cli("evaluate", tmp_path / "run", "--quiet", "--device", "cpu").out.splitlines()
    assert "complex_iid" in first
    assert first.endswith(" without an answer")
    told = json.loads(cli("evaluate", tmp_path / "run", "--quiet", "--json", "--device", "cpu").out)
    assert [each["way"] for each in told] == ["even", "yes", "symbolic"]
    refusal = cli("evaluate", tmp_path / "nothing", "--quiet", code=2).err
    assert "no such folder; give the folder that clevrhope train --out wrote" in refusal


def test_the_documentations_model_is_trained_scored_and_learns(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    page = Path(__file__).parents[2] / "docs/models_of_your_own.md"
    code = page.read_text().split('```python title="mine.py"\n')[1].split("```")[0]
    assert 35 <= len(code.splitlines()) <= 45
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(code)
    options = f"--hop {HOP} --size 64 --seed 1 --set width=16 --updates 150 --device cpu --quiet"
    cli("train", "mine:BagAndConv", dataset, *options.split(), "--out", "runs/mine-1")
    lines = rows(Path("runs/mine-1/log.jsonl"))
    assert lines[-1]["loss"] < 0.7 * lines[0]["loss"]
    cli("evaluate", "runs/mine-1", "--model", "mine:BagAndConv", "--quiet")
    predictions = "runs/mine-1/predictions/last.predict.jsonl"
    scored = cli("score", dataset, predictions, "--hop", HOP, "--seed", 1, "--quiet")
    assert "complex_ood" in scored.out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_evaluation_leaves_no_file(number: int, run: Train, tmp_path: Path) -> None:
    run(model="tiny_models:Dawdles", size=40, updates=2)
    begun = tmp_path / "begun"
    options = "--model tiny_models:Dawdles --device cpu --quiet"
    command = ["evaluate", str(tmp_path / "run"), *options.split()]
    process = start_command(*command, DAWDLES_AT=str(begun))
    wait_until(lambda: begun.exists() or process.poll() is not None, "the evaluation begins")
    process.send_signal(number)
    _, told = process.communicate(timeout=HANG_S)
    assert (process.returncode, told.strip()) == (130, "clevrhope: stopped")
    left = tmp_path / "run/predictions"
    assert not left.is_dir() or not list(left.glob("[!.]*"))
    assert len(evaluate(tmp_path / "run", device="cpu")) == 1


@pytest.mark.parametrize("change", [{"seed": 6}, {"samples": 2}, {"minimal_pool": "shared"}])
@pytest.mark.slow
def test_another_dataset_in_the_place_of_a_runs_own_is_none_of_its(
    change: dict[str, Any], run: Train, tmp_path: Path
) -> None:
    """The same words, sizes and features, so that nothing but the run's own word tells."""
    place = tmp_path / "data"

    def build_there(**changes: Any) -> None:
        shutil.rmtree(place, ignore_errors=True)
        samples = changes.pop("samples", None)
        if samples:
            rendering = replace(PRESETS["demo"].rendering, samples=samples)
            changes["config"] = replace(PRESETS["demo"], rendering=rendering, images="h5")
        build_demo(place, images="h5", **changes)
        make_features(place, kind="pixels", size=(24, 16))

    build_there()
    run(dataset=place)
    evaluate(tmp_path / "run", device="cpu")
    place.rename(tmp_path / "moved")
    for reads in (lambda path: evaluate(path, device="cpu"), lambda path: find_sources([path])):
        with pytest.raises(WrongFolderError, match=r"if it was moved, say where it is with --dataset DIR$"):
            reads(tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    build_there(**change)
    check_refused(BindingError, run, dataset=place)
    check_refused(ConfigError, evaluate, tmp_path / "run", device="cpu")
    _, skipped = measure(find_sources([tmp_path / "run"])[0])
    assert len(skipped) == 1
    assert "trained on another dataset than the one that is in" in skipped[0]
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    # The run's own is known wherever it was moved, and also after it has grown.
    assert len(evaluate(tmp_path / "run", dataset=tmp_path / "moved", device="cpu")) == 2
    build_there()
    build_demo(place, images="h5", sizes={"train": 200, "test": 80})
    make_features(place, kind="pixels", size=(24, 16))
    assert run(dataset=place).resumed_at == 30
    assert len(evaluate(tmp_path / "run", device="cpu")) == 2
    assert measure(find_sources([tmp_path / "run"])[0])[1] == ()


def test_a_class_of_ones_own_is_imported_only_if_the_command_line_names_it(
    run: Train, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(updates=2)
    (tmp_path / "evil.py").write_text("open('was_run', 'w').close()\nfrom tiny_models import Tiny as Evil\n")
    path = tmp_path / "run/run.json"
    path.write_text(path.read_text().replace("tiny_models:Tiny", "evil:Evil"))
    monkeypatch.chdir(tmp_path)
    refusal = cli("evaluate", "run", "--quiet", code=2)
    assert refusal.err.strip().endswith("if you trust this class, name it: --model evil:Evil")
    cli("evaluate", "run", "--model", "tiny_models:Tiny", "--quiet", code=2)
    assert not (tmp_path / "was_run").exists()
    assert "evil" not in sys.modules
    path.write_text(path.read_text().replace("evil:Evil", "tiny_models:Tiny"))
    monkeypatch.delitem(sys.modules, "tiny_models")
    check_refused(ConfigError, evaluate, "run")
    cli("evaluate", "run", "--model", "tiny_models:Tiny", "--quiet", "--device", "cpu")
    assert (tmp_path / "run/predictions/last.predict.jsonl").exists()
