"""A hook of mkdocs: every page says which version of the package it describes."""

from typing import Any

from clevrhope.version import software_version


def on_config(config: Any) -> Any:
    """Writes the version below each page."""
    config.copyright = f"Documentation of clevrhope {software_version()}"
    return config
