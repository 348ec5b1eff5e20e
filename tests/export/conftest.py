"""Small datasets to export, made once: images as PNG, as HDF5, and none; and what their files say."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from building import build_demo, cli
from truth import HOP, Truth

__all__ = ["cli"]


def made(out: Path, **changes: Any) -> Path:
    build_demo(out, **changes)
    return out


@pytest.fixture(scope="session")
def png_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo of two HOPs with PNG files and masks."""
    return made(tmp_path_factory.mktemp("png") / "data", images="png", hops=(HOP, "none"), passes=("mask",))


@pytest.fixture(scope="session")
def h5_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with HDF5 images."""
    return made(tmp_path_factory.mktemp("h5") / "data", images="h5", hops=(HOP, "none"), passes=("mask",))


@pytest.fixture(scope="session")
def bare_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without images."""
    return made(tmp_path_factory.mktemp("bare") / "data", render=False, hops=(HOP, "none"))


@pytest.fixture(scope="session")
def set_dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo with questions over several images, whose images are PNG files and HDF5."""
    return made(tmp_path_factory.mktemp("sets") / "data", images="both", covr=True)


@pytest.fixture
def copy(png_dataset: Path, tmp_path: Path) -> Path:
    """A dataset with PNG files, to be spoilt."""
    return Path(shutil.copytree(png_dataset, tmp_path / "copy"))


@pytest.fixture
def truth(png_dataset: Path) -> Truth:
    return Truth(png_dataset)


@pytest.fixture(params=["png", "h5"])
def dataset(request: pytest.FixtureRequest) -> Path:
    """A dataset with images, whichever way they are stored."""
    found: Path = request.getfixturevalue(f"{request.param}_dataset")
    return found


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be reached: a reader that asks the network fails."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr("socket.socket.connect", refuse)
