"""Runs that start from the weights of another: by command, on other questions, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from building import Cli
from safetensors.torch import load_file
from short_runs import HOP, OBJECTS, Train, stopped_states, weights
from torch import Tensor

from clevrhope.dataset.binding import BindingError
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError
from clevrhope.training.evaluation import evaluate
from clevrhope.training.initial_weights import initial_warnings
from clevrhope.training.request import TrainRequest
from wording import check_refused

MODEL = "object_transformer"
STILL = {**OBJECTS, "recipe.rate": 1e-12}
"""A rate with which weights stay what they are."""


def tensors(run: Path) -> dict[str, Tensor]:
    return load_file(run / "weights/last.safetensors")


def of_sets(folder: Path) -> dict[str, Any]:
    return {"model": MODEL, "dataset": folder, "split": "covr_train", "size": 96}


def test_a_run_on_sets_starts_from_one_on_single_images(run: Train, folder: Path, tmp_path: Path) -> None:
    run("single", model=MODEL, dataset=folder, settings=OBJECTS, updates=5)
    single = tensors(tmp_path / "single")
    request = {**of_sets(folder), "settings": STILL, "updates": 1, "seed": 8}
    run("plain", **request)
    run("sets", init_from=tmp_path / "single", **request)
    plain, found = tensors(tmp_path / "plain"), tensors(tmp_path / "sets")
    layout = Layout(folder)
    theirs, own = read_vocab(layout.vocab), read_vocab(layout.covr_vocab)
    assert theirs.questions() != own.questions()
    for name, value in found.items():
        if name.startswith("set_layers."):
            expected = plain[name]
        elif name == "words.weight":
            known = {word: single[name][row] for row, word in enumerate(theirs.questions())}
            expected = torch.stack(
                [known.get(word, plain[name][row]) for row, word in enumerate(own.questions())]
            )
        elif name.startswith("classifier."):
            known = {answer: single[name][row] for row, answer in enumerate(theirs.answers())}
            expected = torch.stack(
                [known.get(answer, plain[name][row]) for row, answer in enumerate(own.answers())]
            )
        else:
            expected = single[name]
        torch.testing.assert_close(value, expected, atol=1e-6, rtol=0)
    assert not torch.equal(found["token"], plain["token"])
    info = json.loads((tmp_path / "sets/run.json").read_text())
    assert (info["init"]["split"], info["init"]["size"], info["init"]["hop"]) == ("train", 100, HOP)
    # The request binds the run.
    check_refused(BindingError, run, "sets", **request)
    again = run("sets", init_from=tmp_path / "single", **request)
    assert again.resumed_at == 1


def test_by_command(folder: Path, tmp_path: Path, cli: Cli) -> None:
    sets = [each for name, value in OBJECTS.items() for each in ("--set", f"{name}={value}")]
    options = f"--hop {HOP} --size 96 --updates 2 --seed 1 --device cpu --quiet".split()
    command = ["train", MODEL, folder, *options, *sets]
    cli(*command, "--out", tmp_path / "first")
    cli(*command, "--init-from", tmp_path / "first", "--out", tmp_path / "second")
    refusal = cli(*command, "--init-from", folder, "--out", tmp_path / "third", code=2).err
    assert f"--init-from: {folder} is not the folder of a finished run" in refusal
    assert not (tmp_path / "third").exists()


def test_stopped_and_resumed_equals_uninterrupted(run: Train, folder: Path, tmp_path: Path) -> None:
    run("single", model=MODEL, dataset=folder, settings=OBJECTS, updates=2)
    usual = {**of_sets(folder), "settings": OBJECTS, "updates": 6, "init_from": tmp_path / "single"}
    run("whole", **usual)
    stopped_states(run, tmp_path / "stopped", [3], **usual)
    (tmp_path / "single").rename(tmp_path / "moved")  # it is not needed any more
    assert run("stopped", **usual).resumed_at == 3
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")
    (made_of,) = evaluate(tmp_path / "stopped", device="cpu")
    assert "covr_test" in made_of.percent


def test_a_run_on_single_images_starts_from_one_on_sets(run: Train, folder: Path, tmp_path: Path) -> None:
    run("sets", **of_sets(folder), settings=OBJECTS, updates=2)
    run("single", model=MODEL, dataset=folder, settings=STILL, updates=1, init_from=tmp_path / "sets")
    torch.testing.assert_close(
        tensors(tmp_path / "single")["token"], tensors(tmp_path / "sets")["token"], atol=1e-6, rtol=0
    )


def test_what_the_other_run_may_have_seen_is_said(run: Train, folder: Path, tmp_path: Path) -> None:
    usual: dict[str, Any] = {"model": MODEL, "dataset": folder, "settings": OBJECTS, "updates": 1}
    run("none", **usual, hop="none")
    said: list[str] = []
    run("pair", **usual, init_from=tmp_path / "none", tell=said.extend)
    assert said == [
        f"--init-from: {tmp_path / 'none'} was trained on none, so it may know what {HOP} holds out"
    ]
    request = TrainRequest(
        MODEL, folder, HOP, 96, 3, tmp_path, init_from=Path("all"), split="covr_train", covr_split="has-count"
    )
    source = {"hop": HOP, "size": 96, "split": "covr_train"}
    assert list(initial_warnings(request, {"init": source})) == [
        "--init-from: all was trained on all of covr_train, and this run holds out has-count"
    ]
    assert list(initial_warnings(request, {"init": {**source, "split": "train"}})) == []
    assert list(initial_warnings(request, {})) == []


@pytest.mark.parametrize(
    "changes", [{"model": "question_only", "settings": {"hidden": 16}}, {"settings": {**OBJECTS, "heads": 4}}]
)
def test_another_model_is_refused(run: Train, folder: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    run("first", model=MODEL, dataset=folder, settings=OBJECTS, updates=1)
    wanted = {"model": MODEL, "dataset": folder, "settings": OBJECTS, "updates": 1, **changes}
    check_refused(ConfigError, run, "second", init_from=tmp_path / "first", **wanted)


def test_other_words_need_a_model_that_says_where_they_are(run: Train, folder: Path, tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"model": "question_only", "settings": {"hidden": 16}, "updates": 1}
    run("first", dataset=folder, **wanted)
    run("second", dataset=folder, init_from=tmp_path / "first", **wanted)
    check_refused(ConfigError, run, "third", init_from=tmp_path / "first", **{**of_sets(folder), **wanted})
