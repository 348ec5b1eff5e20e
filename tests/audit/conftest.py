"""Small datasets that tests of the audit spoil: each is built once, and copied for each fault."""

from dataclasses import replace
from pathlib import Path

import pytest
from spoiling import Spoilt, build_small
from suite_spoiling import SpoiltSuite, with_suites

from clevrhope.config.presets import PRESETS
from clevrhope.pipeline import Request, build


def two_pairs(out: Path, *, question_json: bool) -> Path:
    config = replace(PRESETS["demo"], question_json=question_json)
    build(Request(out=out, hops=("rubber_cylinder", "metal_cube"), config=config, seed=3, render=False))
    return out


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs on shared pools, without images."""
    return two_pairs(tmp_path_factory.mktemp("audit") / "clean", question_json=True)


@pytest.fixture(scope="session")
def textless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same questions, in HDF5 alone."""
    return two_pairs(tmp_path_factory.mktemp("audit") / "textless", question_json=False)


@pytest.fixture(scope="session")
def train_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One pair's train set."""
    out = tmp_path_factory.mktemp("audit") / "train_alone"
    build_small(out)
    return out


@pytest.fixture
def spoilt(clean: Path, tmp_path: Path) -> Spoilt:
    """A copy of it to be spoilt."""
    return Spoilt.copy(clean, tmp_path / "spoilt")


@pytest.fixture
def spoilt_textless(textless: Path, tmp_path: Path) -> Spoilt:
    """A copy of the one without question files in JSON."""
    return Spoilt.copy(textless, tmp_path / "spoilt_textless")


@pytest.fixture(scope="session")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One pair's test sets with all of the package's suites."""
    return with_suites(tmp_path_factory.mktemp("audit") / "paired")


@pytest.fixture
def spoilt_suites(paired: Path, tmp_path: Path) -> SpoiltSuite:
    """A copy of it to be spoilt."""
    return SpoiltSuite.copy(paired, tmp_path / "spoilt")
