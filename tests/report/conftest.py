"""Fixtures that several tests of reports and experiments use."""

from building import make
from experiment_grid import asked, grid

__all__ = ["asked", "grid", "make"]
