"""The named properties of questions, among them those of COVR's table 5, and the numbers of COVR's paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clevrhope.runtime.toml import read_rows, read_toml


@dataclass(frozen=True)
class Alias:
    """What a name stands for, and which questions have the property."""

    name: str
    expression: str
    words: str


ALIASES: Mapping[str, Alias] = read_rows(Alias, Path(__file__).with_suffix(".toml"))
"""The properties by name. `tpl-verify-count` is `template:verify_count`, and so for the other templates."""


@cache
def covr_paper() -> Mapping[str, Any]:
    """The paper's numbers of questions, and the predicates that hold out the same as its splits."""
    return read_toml(Path(__file__).with_name("covr.toml"), "a table of the package")
