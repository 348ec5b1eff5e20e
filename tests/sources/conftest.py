"""A small dataset with two of the paper's pairs, one of each run of the official generator."""

from pathlib import Path

import pytest
from building import build_demo, cli
from official_files import HOPS

__all__ = ["cli"]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dataset") / "data"
    build_demo(out, images="png", hops=HOPS)
    return out
