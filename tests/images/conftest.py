"""A command line in this process."""

from building import cli

__all__ = ["cli"]
