"""Folders of a pair and `none` with suites, which the tests of suites share."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from building import request

from clevrhope.pipeline import build
from clevrhope.pipeline.suites import make_suite

HOP = "rubber_cylinder"
SPLITS = ("complex_iid", "complex_ood", "test")
SIZES = {"train": 60, "complex_iid": 180, "complex_ood": 40, "test": 90}
ASKED: dict[str, Any] = {"hops": (HOP, "none"), "splits": SPLITS, "render": False, "sizes": SIZES}

ENTRY = {
    "test": "order",
    "tier": "in",
    "source": ["comparison 0", "comparison 1", "comparison 2", "comparison 3"],
    "change": {"<*>": "<*2>", "<*2>": "<*>"},
    "relation": "same",
}
"""A test of a suite of one's own."""


@pytest.fixture(scope="session")
def plain_suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without images and suites, not to be changed."""
    out = tmp_path_factory.mktemp("suites") / "plain"
    build(request(out, **ASKED))
    return out


@pytest.fixture(scope="session")
def paired_suites(plain_suites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With both suites of the package, not to be changed."""
    out = Path(shutil.copytree(plain_suites, tmp_path_factory.mktemp("suites") / "paired"))
    for suite in ("carets", "rad"):
        make_suite(out, suite)
    return out


@pytest.fixture
def plain_copy(plain_suites: Path, tmp_path: Path) -> Path:
    """Without suites, to be changed."""
    return Path(shutil.copytree(plain_suites, tmp_path / "out"))


@pytest.fixture
def paired_copy(paired_suites: Path, tmp_path: Path) -> Path:
    """With both suites, to be changed."""
    return Path(shutil.copytree(paired_suites, tmp_path / "out"))


def own_suite(root: Path, *entries: dict[str, Any]) -> Path:
    """Writes a suite of one's own, called mine, below a folder; returns its folder."""
    own = root / "mine"
    own.mkdir(exist_ok=True)
    (own / "mine.json").write_text(json.dumps(entries))
    return own
