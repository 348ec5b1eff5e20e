"""The style, the script and the icon of all pages."""

from collections.abc import Mapping
from importlib.resources import files

ASSETS: Mapping[str, str] = {
    "style.css": "text/css",
    "script.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Name -> media type."""


def asset(name: str) -> bytes:
    """The content of one of `ASSETS`."""
    return files("clevrhope.browse").joinpath("files", name).read_bytes()
