"""Runs that start from the weights of another: by command, on other questions, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from made_sets import make_sets
from safetensors.torch import load_file
from short_runs import HOP, Train
from torch import Tensor

from clevrhope.__main__ import run_command
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import BindingError
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError
from clevrhope.features.extraction import make_features

MODEL = "object_transformer"
SMALL = {"features": "attributes", "hidden": 16, "heads": 2, "layers": 1, "recipe.batch_size": 16}
STILL = {**SMALL, "recipe.rate": 1e-12}
"""A rate with which weights stay what they are."""


@pytest.fixture(scope="module")
def folder(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = shutil.copytree(dataset, tmp_path_factory.mktemp("initial") / "data")
    make_sets(copy, HOP)
    make_features(copy, kind="attributes")
    return copy


def weights(run: Path) -> dict[str, Tensor]:
    return load_file(run / "weights/last.safetensors")


def test_a_run_on_sets_starts_from_one_on_single_images(run: Train, folder: Path, tmp_path: Path) -> None:
    run("single", model=MODEL, dataset=folder, settings=SMALL, updates=5)
    single = weights(tmp_path / "single")
    of_sets: dict[str, Any] = {
        "model": MODEL,
        "dataset": folder,
        "settings": STILL,
        "updates": 1,
        "split": "covr_train",
        "size": 96,
        "seed": 8,
    }
    run("plain", **of_sets)
    run("sets", init_from=tmp_path / "single", **of_sets)
    plain, found = weights(tmp_path / "plain"), weights(tmp_path / "sets")
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
    with pytest.raises(BindingError, match="init"):
        run("sets", **of_sets)
    again = run("sets", init_from=tmp_path / "single", **of_sets)
    assert again.resumed_at == 1


def test_by_command(folder: Path, tmp_path: Path, capfd: Any) -> None:
    sets = [each for name, value in SMALL.items() for each in ("--set", f"{name}={value}")]
    command = ["train", MODEL, str(folder), "--hop", HOP, "--size", "96", "--updates", "2", "--seed", "1"]
    command += [*sets, "--device", "cpu", "--quiet"]
    assert run_command([*command, "--out", str(tmp_path / "first")]) == 0
    start = ["--init-from", str(tmp_path / "first"), "--out", str(tmp_path / "second")]
    assert run_command([*command, *start]) == 0
    assert run_command([*command, "--init-from", str(folder), "--out", str(tmp_path / "third")]) == 2
    assert f"--init-from: {folder} is not the folder of a finished run" in capfd.readouterr().err
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": "question_only", "settings": {"hidden": 16}}, "is a run of object_transformer, not of"),
        ({"settings": {**SMALL, "layers": 2}}, "has other weights than the model, such as"),
        ({"settings": {**SMALL, "hidden": 8}}, r"has the weight \S+ in the shape .*16.*, and the model in"),
    ],
)
def test_another_model_is_refused(
    run: Train, folder: Path, tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    run("first", model=MODEL, dataset=folder, settings=SMALL, updates=1)
    wanted = {"model": MODEL, "dataset": folder, "settings": SMALL, "updates": 1, **changes}
    with pytest.raises(ConfigError, match=sentence):
        run("second", init_from=tmp_path / "first", **wanted)


def test_other_words_need_a_model_that_says_where_they_are(run: Train, folder: Path, tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"model": "question_only", "settings": {"hidden": 16}, "updates": 1}
    run("first", dataset=folder, **wanted)
    run("second", dataset=folder, init_from=tmp_path / "first", **wanted)
    of_sets = {"dataset": folder, "split": "covr_train", "size": 96}
    with pytest.raises(ConfigError, match="has another vocabulary, and the model has no vocab_rows"):
        run("third", init_from=tmp_path / "first", **of_sets, **wanted)
