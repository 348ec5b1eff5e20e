"""The named properties of questions, among them those of COVR's table 5, and the numbers of COVR's paper.

Both are in `covr.toml`, which says where they come from.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Alias(NamedTuple):
    """What a name stands for, and which questions have the property."""

    expression: str
    words: str


@cache
def _definition() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "covr.toml").read_text("utf-8"))


def aliases() -> Mapping[str, Alias]:
    """The properties by name, without those of templates."""
    return {name: Alias(*row) for name, row in _definition()["properties"].items()}


def covr_paper() -> Mapping[str, Any]:
    """The table `paper` of `covr.toml`: numbers of COVR's questions, and what its splits are called here."""
    table: Mapping[str, Any] = _definition()["paper"]
    return table
