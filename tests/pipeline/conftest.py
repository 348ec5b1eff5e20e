"""The fixtures of the build's tests."""

from building import make
from suite_folders import paired_suites, plain_suites

__all__ = ["make", "paired_suites", "plain_suites"]
