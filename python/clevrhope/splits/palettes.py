"""Palettes, which limit the combinations of values in a pool, and the names of such pools.

A pool with a palette is named after both, as in `train-cyan_cylinder-d8`; it replaces the pool whose name
precedes the first hyphen. A palette has the name of its sub-dataset or, if nothing is held out, of the file
that it was read from.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError

MARK = "-"
"""Separates a pool or a pair from the palette."""

WITH_PAIR = "test_ood"
"""The pool with the held-out pair in addition to the combinations seen in training."""

_FILE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_DIVERSITY = re.compile(r"d(\d+)(-grid)?")


@dataclass(frozen=True)
class Palette:
    """The combinations of some types' values that objects have in training.

    Attributes:
        types: attribute types.
        rows: lists of combinations, each with a value of each type. An object's row is drawn uniformly, and
            then its combination uniformly within the row.
        held_out: the pair's values, in the types' order; only in out-of-distribution pools, never in `rows`.
    """

    types: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], ...], ...]
    held_out: tuple[str, ...] | None = None

    @property
    def combinations(self) -> tuple[tuple[str, ...], ...]:
        """All combinations of all rows."""
        return tuple(each for row in self.rows for each in row)

    @property
    def diversity(self) -> int:
        """Number of combinations, including the held-out pair."""
        return len(self.combinations) + (self.held_out is not None)

    def in_words(self, name: str) -> str:
        """The seen combinations in words: "cyan_cylinder-d4 sees cyan sphere, ...; not cyan cylinder"."""
        seen = ", ".join(" ".join(each) for each in self.combinations)
        return f"{name} sees {seen}" + (f"; not {' '.join(self.held_out)}" if self.held_out else "")

    def data(self, pool: str) -> bytes:
        """The palette of a pool as JSON, as `World.with_palette` reads it."""
        has_held_out = self.held_out and parse_pool_name(pool)[0] == WITH_PAIR
        added = (self.held_out,) if has_held_out else ()
        rows = [row if k else row + added for k, row in enumerate(self.rows)]
        return json.dumps({"types": self.types, "rows": rows}).encode()

    def as_json(self) -> dict[str, Any]:
        """The palette as the manifest records it."""
        found = {"types": list(self.types), "rows": [[list(each) for each in row] for row in self.rows]}
        return found if self.held_out is None else {**found, "held_out": list(self.held_out)}

    def without(self, pair: Sequence[tuple[str, str]]) -> "Palette":
        """A palette with all combinations except a pair in one row, and the pair held out."""
        values = dict(pair)
        held_out = tuple(values[kind] for kind in self.types if kind in values)
        seen = tuple(each for each in self.combinations if each != held_out)
        return Palette(self.types, (seen,), held_out)


def palette_from_json(raw: Mapping[str, Any]) -> Palette:
    """Reads a palette from the manifest, or from the core's JSON.

    Raises:
        KeyError, TypeError: not a palette.
    """
    held_out = raw.get("held_out")
    return Palette(
        tuple(raw["types"]),
        tuple(tuple(tuple(each) for each in row) for row in raw["rows"]),
        None if held_out is None else tuple(held_out),
    )


def pool_name(pool: str, palette: str) -> str:
    """The name of a pool with a palette; the pool's own name if the palette is ""."""
    return f"{pool}{MARK}{palette}" if palette else pool


def parse_pool_name(pool: str) -> tuple[str, str]:
    """The pool that a pool with a palette replaces, and the palette's name; "" for none."""
    base, _, palette = pool.partition(MARK)
    return base, palette


def diversity_name(diversity: int, mode: str) -> str:
    """The part of a name that follows the pair: d8, or d8-grid."""
    return f"d{diversity}" + ("-grid" if mode == "grid" else "")


def parse_diversity(name: str) -> tuple[int, str] | None:
    """Diversity and mode of such a name; None for the name of a file."""
    match = _DIVERSITY.fullmatch(name)
    return (int(match[1]), "grid" if match[2] else "nested") if match else None


def is_palette_name(name: str) -> bool:
    """Whether a name can follow that of a pair, or `none`."""
    return bool(_DIVERSITY.fullmatch(name) or _FILE_NAME.fullmatch(name))


def file_palette_name(path: Path) -> str:
    """The name of a file's palette: the file's name up to the first dot.

    Raises:
        ConfigError: it cannot be part of a folder's name, or it is the name of a diversity.
    """
    name = path.name.partition(".")[0]
    if not _FILE_NAME.fullmatch(name) or parse_diversity(name):
        raise ConfigError(
            f'{path}: "{name}" cannot be the name of a palette, which is a letter, then letters, digits and '
            "underscores, at most 64 characters, and not a diversity such as d8; rename the file"
        )
    return name
