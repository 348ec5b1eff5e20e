"""Tensor-NMN through its three stages, and LXMERT: stopped, resumed, evaluated in every way."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from building import build_demo
from short_runs import HOP, NMN, Train, check_resumes, log, rows

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import read_table
from clevrhope.errors import ConfigError
from clevrhope.features import kinds
from clevrhope.features.extraction import make_features
from clevrhope.features.extractor import Array, ArraySpec, Extractor, ExtractorOptions, ImageArray, Scene
from clevrhope.training.evaluation import evaluate
from wording import check_refused

TENSOR_NMN: dict[str, Any] = {
    "model": "tensor_nmn",
    "settings": {**NMN, "recipe.rate": 1e-2, "recipe.updates": 6},
}
LXMERT: dict[str, Any] = {
    "model": "lxmert_s",
    "updates": 8,
    "settings": {
        **{"features": "scene-boxes", "hidden": 8, "heads": 2, "intermediate": 8},
        **{"language_layers": 1, "object_layers": 1, "cross_layers": 1},
    },
}
WAYS = ("predicted_programs", "symbolic", "true_programs")


class NoiseBoxes(Extractor):
    """Features of the kind scene-boxes without a backbone: noise that depends on the scene alone."""

    reads = ("scene",)
    weights = "random"
    note = "noise"

    def __init__(self, asked: ExtractorOptions) -> None:
        shapes = {"vectors": ("float16", (36, 2048)), "boxes": ("float32", (36, 4)), "n_boxes": ("int32", ())}
        self.arrays = {name: ArraySpec(*each) for name, each in shapes.items()}

    def rows(self, images: ImageArray, scenes: Sequence[Scene]) -> Mapping[str, Array]:
        made: dict[str, list[Array]] = {name: [] for name in self.arrays}
        for scene in scenes:
            rng = np.random.default_rng(scene["image_index"])
            made["vectors"].append(rng.random((36, 2048)).astype(np.float16))
            made["boxes"].append(rng.random((36, 4), dtype=np.float32))
            made["n_boxes"].append(np.asarray(len(scene["objects"]), dtype=np.int32))
        return {name: np.stack(each) for name, each in made.items()}


@pytest.fixture
def boxes(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    row = replace(kinds.KINDS["scene-boxes"], extractor="test_stages_of_models:NoiseBoxes")
    monkeypatch.setitem(kinds.KINDS, "scene-boxes", row)
    make_features(dataset, kind="scene-boxes", weights="random")
    return dataset


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.slow
def test_tensor_nmn_stopped_in_each_stage_equals_uninterrupted(
    precision: str, run: Train, tmp_path: Path
) -> None:
    # Within the generator's stage, the engine's, and REINFORCE.
    made = check_resumes(run, tmp_path, 3, 6, 5, **TENSOR_NMN, precision=precision)
    assert (made.updates, made.checkpoints) == (18, ("engine", "last"))
    lines = log(tmp_path / "whole")
    assert list(dict.fromkeys(line["stage"] for line in lines)) == ["generator", "engine", "reinforce"]
    # After a few updates hardly a draw is a program; what is logged is a moving average from 0.
    shares = [line["ill_formed"] for line in lines if line["stage"] == "reinforce"]
    assert shares[0] > 0.05
    assert shares[-1] > 0.3


@pytest.mark.slow
def test_both_late_stages_of_tensor_nmn_answer_in_each_way(run: Train, dataset: Path, tmp_path: Path) -> None:
    run("run", **TENSOR_NMN)
    made = evaluate(tmp_path / "run", device="cpu")
    assert sorted((each.checkpoint, each.way) for each in made) == [
        (checkpoint, way) for checkpoint in ("engine", "last") for way in WAYS
    ]
    n = {
        split: len(read_table(Layout(dataset).questions_h5(HOP, split)))
        for split in ("complex_iid", "complex_ood", "minimal_iid", "minimal_ood")
    }
    for each in made:
        splits = [row["split"] for row in rows(each.path)]
        assert {split: splits.count(split) for split in n} == n
        if each.way == "true_programs":
            assert not any(each.unanswered.values())
        else:  # a generator after 18 updates writes hardly a tree
            assert sum(each.unanswered.values()) > 0.5 * len(splits)


def test_programs_that_are_written_right_are_answered_right_by_the_executor(
    run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clevrhope.models.tensor_nmn.model import TensorNmn

    run("run", **TENSOR_NMN)
    monkeypatch.setattr(TensorNmn, "predict_programs", lambda _, batch: batch.programs)
    made = {each.way: each for each in evaluate(tmp_path / "run", checkpoints=["last"], device="cpu")}
    assert set(made["symbolic"].percent.values()) == {100.0}
    assert made["predicted_programs"].percent == made["true_programs"].percent


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_lxmert_resumes_and_is_evaluated(precision: str, boxes: Path, run: Train, tmp_path: Path) -> None:
    check_resumes(run, tmp_path, 3, **LXMERT, precision=precision)
    (made,) = evaluate(tmp_path / "whole", device="cpu")
    assert {row["note"] for row in rows(made.path)} == {"noise"}
    assert "<UNK>" not in {row["answer"] for row in rows(made.path)}


def test_question_only_needs_no_features(run: Train, tmp_path: Path) -> None:
    bare = build_demo(tmp_path / "bare", images="h5").folder
    usual = {"model": "question_only", "dataset": bare, "settings": {"words": 8, "hidden": 8}, "updates": 3}
    assert run(**usual, size=64).updates == 3
    (made,) = evaluate(tmp_path / "run", device="cpu")
    assert set(made.percent) == {"complex_iid", "complex_ood", "minimal_iid", "minimal_ood"}
    assert json.loads((tmp_path / "run/run.json").read_text())["features"]["kind"] == "none"
    check_refused(ConfigError, run, "other", **usual, size=64, features="pixels")
