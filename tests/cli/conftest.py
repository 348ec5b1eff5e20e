"""The datasets that tests of several commands look into."""

from folders_made import limited, mixed, only_h5

__all__ = ["limited", "mixed", "only_h5"]
