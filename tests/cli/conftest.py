"""The folders of the commands' tests."""

from building import cli
from folders_made import limited, mixed, only_h5

__all__ = ["cli", "limited", "mixed", "only_h5"]
