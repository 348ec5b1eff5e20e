"""The fixtures of the build's tests."""

from building import make

__all__ = ["make"]
