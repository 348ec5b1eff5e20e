"""The fixtures of the tests of training."""

import pytest

pytest.importorskip("torch")

from building import cli
from short_runs import dataset, folder, models_here, one_thread, paired, run

__all__ = ["cli", "dataset", "folder", "models_here", "one_thread", "paired", "run"]
