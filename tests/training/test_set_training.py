"""Runs on questions about sets of images: trained, tuned, resumed and evaluated, by call and by command."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from building import SET_SIZES, Cli
from short_runs import HOP, OBJECTS, Train, info, rows

from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import open_split, read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError
from clevrhope.features.store import open_store
from clevrhope.pipeline.paraphrases import make_paraphrases
from clevrhope.training.data import Questions
from clevrhope.training.evaluation import evaluate
from clevrhope.training.train_sets import kept_rows
from wording import check_refused, check_words, refused

TESTED = {
    "covr_dev": SET_SIZES["covr_dev"],
    **dict.fromkeys(("covr_test", "covr_test_paraphrased", "covr_test_ood"), SET_SIZES["covr_test"]),
}
"""The splits that a run answers, and how many questions each has."""


def opened(folder: Path, split: str = "covr_train") -> Any:
    layout = Layout(folder)
    return open_split(layout, HOP, split, vocab=read_vocab(layout.covr_vocab))


def test_a_batch_has_each_image_once(folder: Path) -> None:
    reader, of_pool = opened(folder), open_store(folder, kind="attributes").pool("train")
    table = read_table(Layout(folder).questions_h5(HOP, "covr_train"), SETS)
    questions = Questions(reader, of_pool, torch.device("cpu"))
    order = np.random.default_rng(3).permutation(96)
    batches = list(questions.batches(order, 40))
    assert [len(each) for each in batches] == [40, 40, 16]
    for batch, numbers in zip(batches, np.split(order, [40, 80]), strict=True):
        image_idxs = table.image_idxs[numbers]
        assert batch.images.shape == (len(numbers), 5)
        np.testing.assert_array_equal(batch.images.numpy() >= 0, image_idxs >= 0)
        assert len(batch.features["places"]) == len(np.unique(image_idxs[image_idxs >= 0]))
        expected = of_pool.arrays["places"][of_pool.rows(image_idxs[image_idxs >= 0])]
        np.testing.assert_array_equal(batch.single_images().features["places"].numpy(), expected)
        np.testing.assert_array_equal(batch.questions.numpy(), table.questions[numbers])


def test_types_can_be_dropped(folder: Path) -> None:
    vocab, programs = read_vocab(Layout(folder).covr_vocab), opened(folder).programs
    kept = kept_rows(programs, {"count_images": 1.0}, seed=1, vocab=vocab)
    # A program is written from its end.
    counts = programs[:, 1] == vocab.program_token_to_idx["count_images"]
    np.testing.assert_array_equal(kept, np.flatnonzero(~counts))
    assert 0 < len(kept) < len(programs)


def test_a_run_is_trained_tuned_and_evaluated(run: Train, folder: Path, cli: Cli) -> None:
    of_sets: dict[str, Any] = {"dataset": folder, "split": "covr_train", "size": 96}
    more = {"updates": 40, "tune_on": "covr_dev", "tune_every": 20, **of_sets}
    summary = run(model="object_transformer", settings={**OBJECTS, "recipe.rate": 3e-3}, **more)
    assert {"best", "last"} <= set(summary.checkpoints)
    folder_of_run = summary.folder
    layout = Layout(folder)
    assert read_vocab(folder_of_run / "vocab.json") == read_vocab(layout.covr_vocab)
    recorded = info(folder_of_run)
    assert (recorded["split"], recorded["tune"]["on"]) == ("covr_train", "covr_dev")
    tuned = [line for line in rows(folder_of_run / "log.jsonl") if "tuned_on" in line]
    assert [line["update"] for line in tuned] == [20, 40]
    best, last = evaluate(folder_of_run, device="cpu")
    assert (best.checkpoint, last.checkpoint) == ("best", "last")
    assert best.percent["covr_dev"] == pytest.approx(max(line["accuracy"] for line in tuned))
    answered = rows(last.path)
    assert list(dict.fromkeys(row["split"] for row in answered)) == list(TESTED)
    assert len(answered) == sum(TESTED.values())
    answers = read_vocab(layout.covr_vocab).answers()
    for split in TESTED:
        asked = read_table(layout.questions_h5(HOP, split), SETS).answers
        given = [row["answer"] for row in answered if row["split"] == split]
        right = np.mean([answers[number] == answer for number, answer in zip(asked, given, strict=True)])
        assert last.percent[split] == pytest.approx(100 * right)
    # Batches of another size, which hold other images, give the same answers; so does one split alone.
    before = last.path.read_bytes()
    evaluate(folder_of_run, checkpoints=["last"], device="cpu", batch_size=7)
    assert last.path.read_bytes() == before
    options = ["--checkpoint", "last", "--splits", "covr_test", "--device", "cpu", "--json"]
    (alone,) = json.loads(cli("evaluate", folder_of_run, *options).out)
    assert list(alone["percent"]) == ["covr_test"]
    assert sorted(last.path.read_bytes().splitlines()) == sorted(before.splitlines())
    # A run on train is another one, with another vocabulary.
    with refused(BindingError):
        run(model="object_transformer", settings=OBJECTS, dataset=folder, size=96, updates=40)


def test_a_run_on_train_still_has_single_images(run: Train, folder: Path, tmp_path: Path) -> None:
    run(dataset=folder)
    (made,) = evaluate(tmp_path / "run", checkpoints=["last"], device="cpu")
    assert tuple(made.percent) == ("complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
    check_refused(ConfigError, evaluate, tmp_path / "run", splits=["covr_test"], device="cpu")


@pytest.mark.parametrize(
    "arguments",
    [
        "--split covr_test",
        "--split covr_tran",
        "--tune-on val",
        "--split train --tune-on covr_dev",
        "--size 97",
        "--hop none",
    ],
)
def test_what_does_not_fit_is_said(folder: Path, tmp_path: Path, cli: Cli, arguments: str) -> None:
    options = f"--hop {HOP} --size 96 --seed 4 --split covr_train --device cpu --updates 20 {arguments}"
    sets = [each for name, value in OBJECTS.items() for each in ("--set", f"{name}={value}")]
    command = ["train", "object_transformer", folder, "--out", tmp_path / "run", *sets, *options.split()]
    check_words(cli(*command, code=2).err)
    assert not (tmp_path / "run").exists()


def test_paraphrases_of_questions_about_sets_are_answered(run: Train, folder: Path, tmp_path: Path) -> None:
    dataset = Path(shutil.copytree(folder, tmp_path / "data"))
    texts = [{"id": f"{HOP}/covr_test/{row}", "text": f"Which colour, {row}?"} for row in (3, 8)]
    (tmp_path / "texts.jsonl").write_text("".join(f"{json.dumps(text)}\n" for text in texts))
    make_paraphrases(dataset, "people", [tmp_path / "texts.jsonl"])
    settings = {"hidden": 8, "recipe.batch_size": 8}
    run(model="question_only", settings=settings, updates=2, dataset=dataset, split="covr_train", size=96)
    (made,) = evaluate(tmp_path / "run", suite="people", checkpoints=["last"], device="cpu")
    assert set(made.percent) == {"covr_test", "people/covr_test"}
    assert "colour" in made.unknown_words


def test_models_of_one_image_and_suites_are_refused(run: Train, folder: Path, tmp_path: Path) -> None:
    of_sets: dict[str, Any] = {"dataset": folder, "split": "covr_train", "size": 96}
    check_refused(ConfigError, run, **of_sets)
    run(model="question_only", settings={"hidden": 8, "recipe.batch_size": 8}, updates=2, **of_sets)
    check_refused(ConfigError, evaluate, tmp_path / "run", suite="rad", device="cpu")
