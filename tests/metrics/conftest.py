"""Fixtures that several tests of scores use."""

from building import cli

__all__ = ["cli"]
