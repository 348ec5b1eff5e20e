"""The fixtures of the tests of features."""

import shutil
from pathlib import Path

import pytest
from building import build_demo, cli, make

__all__ = ["cli", "make"]


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with images, which no test changes."""
    return build_demo(tmp_path_factory.mktemp("pristine") / "demo", images="h5").folder


@pytest.fixture
def folder(pristine: Path, tmp_path: Path) -> Path:
    """A copy of the demo."""
    return Path(shutil.copytree(pristine, tmp_path / "demo"))
