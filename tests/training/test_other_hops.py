"""Predictions about another sub-dataset of a run's pair, and by the checkpoints that reach an accuracy."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from building import Cli, request
from short_runs import Train, rows

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import open_split
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.features.store import open_store
from clevrhope.models.names import build_model
from clevrhope.pipeline import Limits, build
from clevrhope.training.answers import predict_answers
from clevrhope.training.checkpoints import load_weights
from clevrhope.training.data import Questions
from clevrhope.training.evaluation import evaluate
from wording import check_refused

SMALL, LARGE, OTHER = "cyan_cylinder-d4", "cyan_cylinder-d16", "cyan_cube-d4"
SIZES = {"train": 120, "val_iid": 24, "complex_iid": 24, "complex_ood": 10, "minimal_places": 1}
MODEL = "tiny_models:Blind"
LAST: dict[str, Any] = {"checkpoints": ["last"], "device": "cpu"}


def build_palettes(out: Path, seed: int = 5) -> Path:
    """Two nested diversities of a pair, and one of another pair, without images."""
    more: dict[str, Any] = {"sizes": SIZES, "render": False, "question_json": False, "seed": seed}
    build(request(out, hops=("cyan_cylinder",), limits=Limits(diversities=(4, 16), mode="nested"), **more))
    build(request(out, hops=("cyan_cube",), limits=Limits(diversities=(4,), mode="nested"), **more))
    return out


@pytest.fixture(scope="module")
def palettes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_palettes(tmp_path_factory.mktemp("palettes") / "data")


@pytest.fixture
def trained(run: Train, palettes: Path, tmp_path: Path) -> Path:
    """A run of 12 updates on the larger diversity, evaluated and kept after every third."""
    run(
        model=MODEL,
        dataset=palettes,
        hop=LARGE,
        updates=12,
        settings={"recipe.batch_size": 8},
        **{"tune_on": "val", "tune_every": 3, "keep_last": 3, "keep_every": 3},
    )
    return tmp_path / "run"


def accuracies(folder: Path, found: Mapping[int, float]) -> None:
    """Writes other accuracies on the tuning set into a run's log, by update."""
    path = folder / "log.jsonl"
    lines = rows(path)
    for line in lines:
        if "tuned_on" in line:
            line["accuracy"] = found[line["update"]]
    assert {line["update"] for line in lines if "tuned_on" in line} == set(found)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_another_sub_dataset_is_answered_beside_the_runs_own(trained: Path, palettes: Path) -> None:
    (own,) = evaluate(trained, **LAST)
    before = own.path.read_bytes()
    (made,) = evaluate(trained, hop="cylinder_cyan-d4", **LAST)
    assert made.path == trained / f"other_hops/{SMALL}/predictions/last.predict.jsonl"
    assert own.path.read_bytes() == before
    found = rows(made.path)
    assert {(row["hop"], row["train_size"], row["run"]) for row in found} == {(SMALL, 100, 3)}

    # Its answers are those of the same weights to that sub-dataset's questions.
    layout, vocab = Layout(palettes), read_vocab(palettes / "vocab.json")
    model = build_model(MODEL, {}, vocab)
    load_weights(trained / "weights/last.safetensors", model)
    reader = open_split(layout, SMALL, "complex_ood", vocab=vocab)
    features = open_store(palettes, kind="none").pool(reader.pool)
    questions = Questions(reader, features, torch.device("cpu"))
    by_hand = predict_answers(
        model, "predict", questions, n_answers=len(vocab.answers()), precision="float32"
    )
    told = [row["answer"] for row in found if row["split"] == "complex_ood"]
    assert len(set(told)) > 1
    assert told == [vocab.answers()[answer] for answer in by_hand.tolist()]
    assert made.percent["complex_ood"] == pytest.approx(100 * (by_hand == reader.answers).mean())

    # The other test sets stay when one is answered again.
    evaluate(trained, hop=SMALL, splits=["complex_ood"], **LAST)
    assert sorted(map(json.dumps, rows(made.path))) == sorted(map(json.dumps, found))
    # The run's own sub-dataset by its name is none but the usual one.
    assert evaluate(trained, hop=LARGE, **LAST)[0].path == own.path
    assert own.path.read_bytes() == before


@pytest.mark.slow
def test_another_pair_and_another_dataset_are_refused(trained: Path, palettes: Path, tmp_path: Path) -> None:
    check_refused(ConfigError, evaluate, trained, hop=OTHER, **LAST)
    check_refused(ConfigError, evaluate, trained, hop="cyan_cylinder-d8", **LAST)
    other = build_palettes(tmp_path / "other", seed=6)
    check_refused(ConfigError, evaluate, trained, dataset=other, hop=SMALL, **LAST)
    assert not (trained / "other_hops").exists()
    (made,) = evaluate(trained, dataset=other, hop=SMALL, out=tmp_path / "out", **LAST)
    assert made.path == tmp_path / "out/predictions/last.predict.jsonl"
    # A copy is the run's own dataset, but not if the sub-dataset that is asked has other questions there.
    copy = shutil.copytree(palettes, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"][f"hops/{SMALL}/complex_ood.h5"]["sha256"] = "0" * 64
    (copy / "manifest.json").write_text(json.dumps(manifest, indent=2))
    check_refused(ConfigError, evaluate, trained, dataset=copy, hop=SMALL, **LAST)
    assert evaluate(trained, dataset=copy, **LAST)


@pytest.mark.parametrize(
    ("found", "reached"),
    [
        ({3: 95, 6: 89, 9: 95, 12: 89}, []),
        ({3: 80, 6: 90, 9: 90, 12: 95}, ["train-0000006", "train-0000009"]),
        ({3: 80, 6: 95, 9: 80, 12: 95}, []),
        ({3: 80, 6: 80, 9: 90, 12: 95}, ["train-0000009", "last"]),
    ],
)
def test_the_first_two_checkpoints_in_a_row_that_reach_an_accuracy(
    found: dict[int, float], reached: list[str], trained: Path
) -> None:
    accuracies(trained, found)
    made = evaluate(trained, reaching=90, hop=SMALL, splits=["complex_ood"], device="cpu")
    assert [each.checkpoint for each in made] == [*(name for name in reached if name != "last"), "last"]
    assert json.loads((trained / "reached.json").read_text()) == {"percent": 90, "checkpoints": reached}


def test_weights_that_reached_it_and_were_not_kept_are_no_censored_run(trained: Path) -> None:
    accuracies(trained, {3: 95, 6: 95, 9: 80, 12: 80})
    check_refused(DatasetError, evaluate, trained, reaching=90, splits=["complex_ood"], device="cpu")


def test_another_accuracy_takes_the_place_of_the_first(trained: Path) -> None:
    accuracies(trained, {3: 50, 6: 60, 9: 95, 12: 95})
    evaluate(trained, reaching=90, splits=["complex_ood"], device="cpu")
    evaluate(trained, reaching=60, splits=["complex_ood"], device="cpu")
    assert json.loads((trained / "reached.json").read_text()) == {
        "percent": 60,
        "checkpoints": ["train-0000006", "train-0000009"],
    }


def test_what_cannot_be_reached_is_said(
    trained: Path, run: Train, palettes: Path, tmp_path: Path, cli: Cli
) -> None:
    check_refused(ConfigError, evaluate, trained, reaching=90, **LAST)
    for percent in (-1, 100.5, float("nan")):
        check_refused(ConfigError, evaluate, trained, reaching=percent, device="cpu")
    run("untuned", model=MODEL, dataset=palettes, hop=LARGE, updates=2, settings={"recipe.batch_size": 8})
    check_refused(DatasetError, evaluate, tmp_path / "untuned", reaching=90, device="cpu")
    for folder in (trained, tmp_path / "untuned"):
        assert not (folder / "reached.json").exists()
    told = cli("evaluate", trained, "--reaching", 90, "--hop", OTHER, "--device", "cpu", "--quiet", code=2)
    assert told.err.startswith("clevrhope: --hop: the run holds out")
    (trained / "log.jsonl").write_text("{")
    check_refused(DatasetError, evaluate, trained, reaching=90, device="cpu")
