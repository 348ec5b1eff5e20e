"""Small datasets that tests of the audit spoil: each is built once, and copied for each fault."""

from pathlib import Path

import pytest
from spoiling import Spoilt, build_small

from clevrhope.build import Request, build
from clevrhope.config import PRESETS


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pairs on shared pools, without pictures."""
    out = tmp_path_factory.mktemp("audit") / "clean"
    build(
        Request(out=out, hops=("rubber_cylinder", "metal_cube"), config=PRESETS["demo"], seed=3, render=False)
    )
    return out


@pytest.fixture(scope="session")
def matched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One pair's train set with --match objects."""
    out = tmp_path_factory.mktemp("audit") / "matched"
    build_small(out, match="objects")
    return out


@pytest.fixture
def spoilt(clean: Path, tmp_path: Path) -> Spoilt:
    """A copy of it to be spoilt."""
    return Spoilt.copy(clean, tmp_path / "spoilt")
