"""Trained runs on edited images: features of images answer all, features of scenes what has a scene."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from building import Cli
from short_runs import HOP, Train, rows

from clevrhope.config.presets import PRESETS
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.suite_pools import PIXEL_TESTS, VISUAL_TESTS
from clevrhope.features.extraction import make_features
from clevrhope.images.settings import NativeSettings
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline import Request, build
from clevrhope.pipeline.visual.suite import make_visual_suite

N = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("visual") / "data"
    sizes = replace(PRESETS["demo"].sizes, train=100, complex_iid=36, complex_ood=6)
    rendering = NativeSettings(width=48, height=32, quality="draft")
    config = replace(PRESETS["demo"], sizes=sizes, rendering=rendering, images="h5")
    splits = ("train", "complex_iid", "complex_ood")
    build(Request(out=out, hops=(HOP,), splits=splits, config=config, seed=5))
    make_visual_suite(out, N)
    make_features(out, kind="pixels", size=(24, 16))
    make_features(out, kind="attributes")
    return out


def rows_of_suite(path: Path) -> list[dict[str, Any]]:
    return [row for row in rows(path) if row.get("suite") == "visual"]


def test_features_of_images_answer_every_edit(folder: Path, run: Train, tmp_path: Path, cli: Cli) -> None:
    run(dataset=folder, features="pixels-24x16")
    cli("evaluate", tmp_path / "run", "--suite", "visual", "--device", "cpu")
    path = tmp_path / "run/predictions/last.predict.jsonl"
    pairs = read_table(Layout(folder).suite_h5(HOP, "visual", "complex_iid"), PAIRS)
    answered = [row for row in rows_of_suite(path) if row["split"] == "complex_iid"]
    assert [row["question_index"] for row in answered] == list(range(1, len(pairs), 2))
    (condition,) = score_suite(folder, "visual", path, seed=1, bootstrap=0).conditions
    parts = condition.splits["complex_iid"].by("test")
    assert {name: each.mean.counts["n_missing"] for name, each in parts.items()} == dict.fromkeys(
        VISUAL_TESTS, 0
    )


def test_features_of_scenes_answer_removal_and_edits(
    folder: Path, run: Train, tmp_path: Path, cli: Cli
) -> None:
    small = {"features": "attributes", "hidden": 16, "heads": 2, "layers": 1}
    run(dataset=folder, features="attributes", model="object_transformer", settings=small, updates=2)
    told = cli("evaluate", tmp_path / "run", "--suite", "visual", "--device", "cpu")
    assert "blur, fill and crop were left out" in told.out
    (path,) = (tmp_path / "run/predictions").glob("*.jsonl")
    answered = rows_of_suite(path)
    assert answered
    assert all("blur, fill and crop were left out" in row["note"] for row in answered)
    (condition,) = score_suite(folder, "visual", path, seed=1, bootstrap=0).conditions
    for name, each in condition.splits["complex_iid"].by("test").items():
        counts = each.mean.counts
        assert (counts["n_missing"], counts["n_pairs"]) == ((N, 0) if name in PIXEL_TESTS else (0, N))
