"""A small dataset with everything that pages show, made once, and clients that look at it."""

import json
import shutil
from pathlib import Path

import pytest
from building import build_demo, cli
from site_client import HOP, SiteClient, make_client

from clevrhope.__main__ import run_command

__all__ = ["cli"]

HOSTILE = '<script>alert("a")</script>'


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with images, masks, a single value, questions over several images, episodes and a suite."""
    out = tmp_path_factory.mktemp("browse") / "data"
    build_demo(out, hops=(HOP, "none"), prelim=("cyan",), covr=True, passes=("mask",), images="both", nonce=9)
    assert run_command(["suite", "carets", str(out), "--hop", HOP, "--quiet"]) == 0
    return out


@pytest.fixture(scope="session")
def predictions(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two models: one that always says no, and one whose answers are hostile text, or right."""
    folder = tmp_path_factory.mktemp("predictions")
    always_no = folder / "always_no.jsonl"
    assert run_command(["baseline", str(dataset), "--kind", "always_no", "--out", str(always_no)]) == 0
    oracle = folder / "symbolic.jsonl"
    assert run_command(["baseline", str(dataset), "--kind", "symbolic", "--out", str(oracle)]) == 0
    hostile = folder / "hostile.jsonl"
    with oracle.open() as rows, hostile.open("w") as out:
        for line in rows:
            row = {**json.loads(line), "model": "<b>bold</b>"}
            if row["question_index"] % 3 == 0:
                row["answer"] = HOSTILE
            out.write(json.dumps(row) + "\n")
    return [str(always_no), str(hostile)]


@pytest.fixture
def client(dataset: Path) -> SiteClient:
    """A client of the unchanged dataset, without predictions."""
    return make_client(dataset)


@pytest.fixture
def compared(dataset: Path, predictions: list[str]) -> SiteClient:
    """A client of the unchanged dataset with the two models."""
    return make_client(dataset, predictions)


@pytest.fixture
def copy(dataset: Path, tmp_path: Path) -> Path:
    """A dataset to be spoilt."""
    return Path(shutil.copytree(dataset, tmp_path / "copy"))
