"""The versions of datasets and of the software."""

from importlib.metadata import PackageNotFoundError, version

DATASET_VERSION = "2"
"""Changes whenever a random stream changes: folders of one version and seed agree byte for byte."""


def software_version() -> str:
    """The version of this package; "unknown" if it is not installed."""
    try:
        return version("clevrhope")
    except PackageNotFoundError:
        return "unknown"
