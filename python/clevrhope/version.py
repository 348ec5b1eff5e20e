"""The versions of datasets and of the software."""

from importlib.metadata import PackageNotFoundError, version

DATASET_VERSION = "1"
"""Moves when any stream moves, so that two folders of one version and seed agree byte for byte."""


def software_version() -> str:
    """The version of this package; "unknown" when it was not installed."""
    try:
        return version("clevrhope")
    except PackageNotFoundError:
        return "unknown"
