"""Fixtures that several tests of reports and experiments use."""

from dataclasses import replace
from pathlib import Path

import pytest
from building import cli, make, request
from experiment_grid import asked, grid
from simulated import HOP, LIMITED

from clevrhope.pipeline import Limits, build
from clevrhope.pipeline.suites import make_suite

__all__ = ["asked", "cli", "grid", "make"]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain pair, and another one at diversity 4."""
    out = tmp_path_factory.mktemp("reported") / "data"
    sizes = {"train": 200, "complex_iid": 200, "complex_ood": 100}
    plain = request(out, hops=(HOP,), sizes=sizes, render=False, question_json=False)
    build(plain)
    limited = LIMITED.partition("-")[0]
    build(replace(plain, hops=(limited,), limits=Limits(diversities=(4,), mode="grid")))
    return out


@pytest.fixture(scope="session")
def dataset_with_suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain pair with the package's suites."""
    out = tmp_path_factory.mktemp("paired") / "data"
    sizes = {"train": 200, "complex_iid": 300, "complex_ood": 200}
    build(request(out, hops=(HOP,), sizes=sizes, render=False, question_json=False))
    for suite in ("carets", "rad", "holdout"):
        make_suite(out, suite)
    return out
