"""The fixtures of the tests of features."""

from pathlib import Path

import pytest
from building import make
from looked_at import build_demo

__all__ = ["make"]


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo, to be copied."""
    return build_demo(tmp_path_factory.mktemp("looked_at") / "demo", images="h5")
