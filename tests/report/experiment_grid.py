"""A small experiment's file, for tests of experiments."""

from pathlib import Path

import pytest

GRID = """
jobs = 2
[[dataset]]
name = "d"
seed = 3
config.sizes = { train = 25000 }
[[dataset.build]]
hops = ["rubber_cylinder"]
[[dataset.build]]
hops = ["cyan_cylinder"]
diversity = [4, 8]
mode = "grid"
[[dataset.features]]
kind = "pixels"
[[model]]
name = "film"
sizes = ["25k", 300]
seeds = [1, 2]
[model.set]
features = "pixels"
channels = 8
"recipe.rate" = 1e-3
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    pytest.importorskip("torch", reason="torch is not installed: pip install clevrhope[train]")
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path / "grid.toml"
