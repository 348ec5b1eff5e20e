"""The named properties of questions, among them those of COVR's table 5: expressions and their meaning."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.runtime.toml import read_rows


@dataclass(frozen=True)
class Alias:
    """What a name stands for, and which questions have the property."""

    name: str
    expression: str
    words: str


ALIASES: Mapping[str, Alias] = read_rows(Alias, Path(__file__).with_suffix(".toml"))
"""The properties by name. `tpl-verify-count` is `template:verify_count`, and so for the other templates."""
