"""The made-up edition of these tests, frozen and built once."""

import shutil
from pathlib import Path

import pytest
from building import cli
from freeze_edition import freeze
from tiny_edition import NAME, write_definition

from clevrhope.__main__ import run_command
from clevrhope.editions import definition, read_edition

__all__ = ["cli"]


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of editions with the made-up one, frozen."""
    folder = tmp_path_factory.mktemp("editions")
    write_definition(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definition, "FOLDER", folder)
        freeze(read_edition(NAME), tmp_path_factory.mktemp("work") / "text")
    return folder


@pytest.fixture
def editions(frozen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as the editions of this version of the package; a test can change its copy."""
    folder = Path(shutil.copytree(frozen, tmp_path / "editions"))
    monkeypatch.setattr(definition, "FOLDER", folder)
    return folder


@pytest.fixture(scope="session")
def built(frozen: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The edition, built by the command, with images as PNG files and in HDF5."""
    out = tmp_path_factory.mktemp("built") / NAME
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definition, "FOLDER", frozen)
        assert run_command(["build", "--edition", NAME, "--out", str(out), "--quiet"]) == 0
    return out


@pytest.fixture
def copy(built: Path, editions: Path, tmp_path: Path) -> Path:
    """A copy of the built edition for a test to change."""
    return Path(shutil.copytree(built, tmp_path / "copy"))
