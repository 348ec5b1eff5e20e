"""Guessers by hand on a small folder, the symbolic oracle on a built one, and requests with their replies."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, Make, build_demo
from simulated import exactly, made_result, rows_of_file, write_rows

from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.images_h5 import read_images
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, PredictionsError
from clevrhope.images.png import read_png
from clevrhope.metrics import score
from clevrhope.metrics.baselines import BASELINES, baseline
from clevrhope.metrics.estimates import QuestionOnly, mean_of
from clevrhope.metrics.predictions import said_of_all
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.report.summary import beat_baseline
from clevrhope.report.tables import with_uncollapsed
from clevrhope.splits.kinds import IID
from wording import refused

HOP = "rubber_cylinder"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with images, not to be changed."""
    return build_demo(tmp_path_factory.mktemp("baselines") / "data", sizes={"train": 300}).folder


def test_the_symbolic_oracle_is_always_right(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "symbolic.jsonl"
    cli("baseline", folder, "--kind", "symbolic", "--out", out)
    (condition,) = score(folder, out, seed=1, bootstrap=0, by=()).conditions
    assert set(condition.accuracies.values()) == {100.0}
    assert set(condition.splits) == {"complex_iid", "complex_ood", "minimal_iid", "minimal_ood"}
    assert said_of_all(out, "model") == "symbolic"


def test_a_scene_that_is_missing_is_named_with_its_file(cli: Cli, folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "data"))
    path = next((folder / "scenes" / "test_iid").glob("*.json"))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:]]))
    told = cli("baseline", folder, "--kind", "symbolic", "--out", tmp_path / "symbolic.jsonl", code=1).err
    assert f"{path}: " in told
    assert told.endswith("run the dataset's build again\n")


def test_guessers_learn_from_the_train_set_of_the_size(folder: Path) -> None:
    train = read_table(folder / "hops" / HOP / "train.h5")
    asked = read_table(folder / "hops" / HOP / "complex_iid.h5").question_families
    names = read_vocab(folder / "vocab.json").answers()

    def most(answers: list[int]) -> str:
        return names[max(sorted(set(answers)), key=answers.count)]

    for size in (40, 300):
        answers, families = (each[:size].tolist() for each in (train.answers, train.question_families))
        given = {kind: list(baseline(folder, kind, size=size)) for kind in ("majority", "majority_by_family")}
        assert {row["answer"] for row in given["majority"]} == {most(answers)}
        assert {row["train_size"] for rows in given.values() for row in rows} == {size}
        for row in given["majority_by_family"]:
            if row["split"] == "complex_iid":
                family = asked[row["question_index"]]
                same = [answer for answer, each in zip(answers, families, strict=True) if each == family]
                assert row["answer"] == most(same or answers)
    with refused(ConfigError):
        list(baseline(folder, "majority", size=301))


def test_a_baseline_that_there_is_none_of_is_named(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    told = cli("baseline", folder, "--kind", "oracle", "--out", out, code=2).err
    assert f'--kind: no baseline "oracle"; there are: {", ".join(BASELINES)}' in told
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("images", ["png", "h5"])
def test_requests_and_replies_there_and_back(cli: Cli, make: Make, tmp_path: Path, images: str) -> None:
    folder, requests = tmp_path / "data", tmp_path / "requests.jsonl"
    make(folder, images=images)
    cli("ask", folder, "--split", "complex_iid,complex_ood", "--limit", "5", "--out", requests)
    rows = rows_of_file(requests)
    assert [row["split"] for row in rows] == ["complex_iid"] * 5 + ["complex_ood"] * 5
    of = rows[0]["asked_of"]
    assert all(row["id"] == f"{HOP}/{row['split']}/{row['question_index']}@{of}" for row in rows)
    assert all(len(row["answers"]) == 28 and Path(row["image"]).read_bytes()[1:4] == b"PNG" for row in rows)
    texts = folder / "hops" / HOP / "complex_ood_questions.json"
    own = [json.loads(row) for row in read_row_lines(texts)]
    drawn = [own[row["question_index"]] for row in rows[5:]]
    assert [row["question"].lower() for row in rows[5:]] == [row["question"].lower() for row in drawn]
    assert [Path(row["image"]).name for row in rows[5:]] == [row["image_filename"] for row in drawn]

    # A model that says the right answer in a sentence, and once nothing that can be read.
    replies, out = tmp_path / "vlm.jsonl", tmp_path / "predictions.jsonl"
    right = {f"{HOP}/complex_ood/{k}@{of}": row["answer"] for k, row in enumerate(own)}
    said = [{"id": row["id"], "reply": f"The answer is {right.get(row['id'], 'dunno')}."} for row in rows]
    write_rows(replies, reversed(said))
    given = ["answers", replies, "--requests", requests, "--out", out]
    told = json.loads(cli(*given, "--json").out)
    assert (told["replies"], told["unreadable"]) == (10, 5)
    assert [said_of_all(out, name) for name in ("model", "note", "instruction")] == [
        "vlm",
        "not trained on the splits",
        "",
    ]
    found = score(folder, out, seed=1, bootstrap=0, by=(), partial=True)
    assert "Of these predictions: not trained on the splits." in list(scores_lines(found))
    scores = found.condition(HOP)
    assert scores.accuracies["complex_ood"] == 100.0
    assert scores.accuracies["complex_iid"] == 0.0

    # Some replies alone; and requests of another folder of this pair, about questions in the same rows.
    replies.write_text(json.dumps(said[9]) + "\n")
    told = cli(*given, "--partial").out
    assert "9 of 10 requests lack a reply (first rubber_cylinder/complex_iid/" in told
    assert [row["question_index"] for row in rows_of_file(out)] == [rows[9]["question_index"]]
    other, of_other = tmp_path / "other", tmp_path / "of_other.jsonl"
    make(other, images=images, seed=77)
    cli("ask", other, "--split", "complex_iid,complex_ood", "--limit", "5", "--out", of_other)
    theirs = ["answers", replies, "--requests", of_other, "--out", tmp_path / "none.jsonl", "--partial"]
    assert "is not a request of" in cli(*theirs, code=2).err
    assert "is about another dataset than" in cli(*given, "--partial", "--dataset", other, code=2).err
    with pytest.raises(PredictionsError, match="answers are to requests about another dataset"):
        score(other, out, seed=1, bootstrap=0, by=(), partial=True)

    for text, told_text in (
        (json.dumps(said[0]) + "\n", "9 of 10 requests lack a reply"),
        # A line that is there twice is one reply.
        (json.dumps(said[0]) + "\n" + json.dumps(said[0]), "9 of 10 requests lack a reply"),
        ('{"id": "x/y/0", "reply": "yes"}', '"x/y/0" is not a request of'),
        ("yes", "vlm.jsonl:1:1: broken JSON"),
    ):
        replies.write_text(text)
        assert told_text in cli(*given, code=2).err


@pytest.mark.slow
def test_a_limit_draws_images_with_a_seed(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    ask = ["ask", folder, "--split", "complex_ood", "--out", out]

    def drawn(*more: str) -> list[dict[str, Any]]:
        cli(*ask, *more)
        return rows_of_file(out)

    assert "Seed" not in cli(*ask).err
    everything = rows_of_file(out)
    assert "seed" not in everything[0]
    smaller, larger = (drawn("--limit", n, "--seed", "0") for n in ("8", "30"))
    assert larger == drawn("--limit", "30", "--seed", "0")
    assert larger != drawn("--limit", "30", "--seed", "1")
    assert [row for row in larger if row in smaller] == smaller
    indices = [row["question_index"] for row in larger]
    assert indices == sorted(indices)
    assert indices != list(range(30))
    # All questions about an image that was drawn, but for the last one.
    of_image = Counter(row["image"] for row in everything)
    cut = [image for image, n in Counter(row["image"] for row in larger).items() if n < of_image[image]]
    assert len(cut) <= 1
    assert {row["seed"] for row in larger} == {0}

    told = cli(*ask, "--limit", "8").err
    by_chance = rows_of_file(out)
    seed = str(by_chance[0]["seed"])
    assert f"Seed {seed} was drawn; to reproduce: clevrhope ask " in told
    assert told.endswith(f" --limit 8 --seed {seed}\n")
    assert by_chance == drawn("--limit", "8", "--seed", seed)
    assert "--seed needs --limit or --half-width, which draw images" in cli(*ask, "--seed", "1", code=2).err


@pytest.mark.slow
def test_a_file_of_another_kind_is_not_replaced(cli: Cli, folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(folder, tmp_path / "data"))
    requests, replies = tmp_path / "requests.jsonl", tmp_path / "replies.jsonl"
    ask = ["ask", folder, "--limit", "1", "--seed", "1", "--out"]
    baseline = ["baseline", folder, "--kind", "always_no", "--out"]
    answers = ["answers", replies, "--requests", requests, "--out"]
    predictions, notes = tmp_path / "predictions.jsonl", tmp_path / "notes.txt"
    cli(*ask, requests)
    write_rows(replies, ({"id": row["id"], "reply": "no"} for row in rows_of_file(requests)))
    notes.write_text("mine")
    own = write_rows(tmp_path / "own.jsonl", [{"question": "my own", "answer": "yes"}])
    cli(*answers, predictions)
    for command, out in (
        (ask, replies),
        (ask, predictions),
        (ask, folder / "manifest.json"),
        (ask, folder / "hops" / HOP / "train_questions.json"),
        (baseline, requests),
        (baseline, folder / "hops" / HOP / "train.h5"),
        (baseline, notes),
        (baseline, folder),
        (answers, requests),
        (answers, replies),
        (answers, notes),
        (baseline, own),
    ):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        said = cli(*command, out, code=1).err
        assert f"{out}: " in said
        assert "choose another --out" in said
        assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for command, out in ((ask, requests), (baseline, predictions), (answers, predictions)):
        cli(*command, out)  # one of the same kind is replaced


@pytest.mark.slow
def test_images_of_another_dataset_under_the_same_names_are_not_taken(
    cli: Cli, make: Make, tmp_path: Path
) -> None:
    for seed in (1, 2):
        make(tmp_path / f"data{seed}", images="h5", seed=seed)
        out = tmp_path / "requests.jsonl"
        cli("ask", tmp_path / f"data{seed}", "--limit", "3", "--out", out)
        path = Path(rows_of_file(out)[0]["image"])
        pool, _, index = path.stem.removeprefix("HOPE_").rpartition("_")
        ((_, pixels),) = read_images(tmp_path / f"data{seed}" / "images" / f"{pool}.h5", [int(index)])
        assert np.array_equal(read_png(path), pixels)


@pytest.mark.slow
def test_requests_are_of_the_hops_that_have_a_test_set(cli: Cli, make: Make, tmp_path: Path) -> None:
    folder, requests = tmp_path / "data", tmp_path / "requests.jsonl"
    make(folder, hops=(HOP, "none"))
    ask = ["ask", folder, "--limit", "2", "--out", requests]
    cli(*ask, "--split", "complex_ood", "--split", "test")
    asked = {(row["hop"], row["split"]) for row in rows_of_file(requests)}
    assert asked == {(HOP, "complex_ood"), ("none", "test")}
    cli(*ask)
    assert len({(row["hop"], row["split"]) for row in rows_of_file(requests)}) == 6, "train is no test set"
    requests.unlink()
    for more, told in (
        (["--split", "complex_odd"], '(did you mean "complex_ood"?)'),
        (["--split", "complex_ood", "--hop", "none"], 'no split "complex_ood" of none; there are: '),
    ):
        assert told in cli(*ask, *more, code=2).err
        assert not requests.exists()


@pytest.mark.slow
def test_the_command_to_score_a_baseline_is_whole(cli: Cli, make: Make, tmp_path: Path) -> None:
    folder, out = tmp_path / "data", tmp_path / "symbolic.jsonl"
    make(folder, hops=(HOP, "none"), render=False)
    told = cli("baseline", folder, "--kind", "symbolic", "--out", out, "--hop", "cylinder_rubber").out
    score = told.partition("To score them: clevrhope ")[2].split()
    assert score == ["score", str(folder), str(out), "--hop", HOP]
    cli(*score, "--bootstrap", "0")


def test_without_images_there_is_nothing_to_ask_about(cli: Cli, make: Make, tmp_path: Path) -> None:
    make(tmp_path / "data", render=False)
    told = cli("ask", tmp_path / "data", "--out", tmp_path / "r.jsonl", code=1).err
    assert "run the dataset's build again without --no-render" in told
    assert not (tmp_path / "r.jsonl").exists()


def test_collapsed_runs_are_those_below_the_question_only_baseline() -> None:
    result = made_result(accuracies={IID: exactly(18.0)}, blind=QuestionOnly({IID: exactly(43.0)}, None))
    assert result.collapsed
    even = replace(result, accuracies={IID: exactly(43.0)})
    assert not even.collapsed
    assert not beat_baseline([even])
    above = replace(result, accuracies={IID: exactly(43.1)})
    assert beat_baseline([above])
    runs = [97.4, 97.4, 14.9]
    # The cell of the paper's table 4 that has a deviation of 38.90 follows from one such run.
    assert mean_of(runs).value == pytest.approx(69.9)
    assert mean_of(runs, ddof=0).deviation == pytest.approx(38.9, abs=0.01)
    assert with_uncollapsed(runs, [False, False, True], str) == f"{runs} / [97.4, 97.4] without 1 collapsed"
    assert with_uncollapsed([10.0], [True], str) == "[10.0] / none left without 1 collapsed"
