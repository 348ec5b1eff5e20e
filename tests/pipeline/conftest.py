"""The fixtures of the build's tests."""

from building import cli, make
from suite_folders import paired_copy, paired_suites, plain_copy, plain_suites

__all__ = ["cli", "make", "paired_copy", "paired_suites", "plain_copy", "plain_suites"]
