"""What limits the combinations of values in a pool in; the pool's name and its palette as JSON out.

A pool with a palette is called after it, `train-cyan_cylinder-d8`: what stands before the first hyphen is the
pool that it takes the place of. Names of palettes are those of the sub-datasets that they serve, or, where
nothing is held out, of the files that they were read from.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError

MARK = "-"
"""Between a pool or a pair and the palette."""

WITH_PAIR = "test_ood"
"""The pool that has the held-out pair besides what is seen."""

_FILE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_DIVERSITY = re.compile(r"d(\d+)(-grid)?")


@dataclass(frozen=True)
class Palette:
    """Which combinations of values of some types objects have: those that are seen in training."""

    types: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], ...], ...]
    """Lists of combinations, a value of each type. An object is one of a row, row and combination uniform."""
    held_out: tuple[str, ...] | None = None
    """The pair's values, in the types' order; it is in out-of-distribution pools, and never in `rows`."""

    @property
    def combinations(self) -> tuple[tuple[str, ...], ...]:
        """All that are seen."""
        return tuple(each for row in self.rows for each in row)

    @property
    def diversity(self) -> int:
        """Combinations in all, the pair among them."""
        return len(self.combinations) + (self.held_out is not None)

    def allowed(self, pool: str) -> tuple[tuple[str, ...], ...]:
        """The combinations of a pool's objects."""
        with_pair = self.held_out is not None and split_name(pool)[0] == WITH_PAIR
        return (*self.combinations, self.held_out) if with_pair and self.held_out else self.combinations

    def data(self, pool: str) -> bytes:
        """The palette of a pool as JSON, as `World.with_palette` reads it."""
        rows = [list(row) for row in self.rows]
        if self.held_out is not None and split_name(pool)[0] == WITH_PAIR:
            rows[0].append(self.held_out)
        return json.dumps({"types": self.types, "rows": rows}).encode()

    def as_json(self) -> dict[str, Any]:
        """As the manifest has it."""
        held_out = {} if self.held_out is None else {"held_out": list(self.held_out)}
        return {
            "types": list(self.types),
            "rows": [[list(each) for each in row] for row in self.rows],
        } | held_out

    def without(self, pair: Sequence[tuple[str, str]]) -> "Palette":
        """One list of all combinations but a pair, which is held out."""
        values = dict(pair)
        held_out = tuple(values[kind] for kind in self.types if kind in values)
        seen = tuple(each for each in self.combinations if each != held_out)
        return Palette(self.types, (seen,), held_out)


def palette_of(raw: Mapping[str, Any]) -> Palette:
    """A palette from the manifest, or from what the core gives.

    Raises:
        KeyError, TypeError: it is none.
    """
    held_out = raw.get("held_out")
    return Palette(
        tuple(raw["types"]),
        tuple(tuple(tuple(each) for each in row) for row in raw["rows"]),
        None if held_out is None else tuple(held_out),
    )


def pool_name(pool: str, palette: str) -> str:
    """The name of a pool with a palette; with none, that of the pool as it is."""
    return f"{pool}{MARK}{palette}" if palette else pool


def split_name(pool: str) -> tuple[str, str]:
    """The pool that one with a palette takes the place of, and the palette's name; "" for none."""
    base, _, palette = pool.partition(MARK)
    return base, palette


def diversity_name(diversity: int, mode: str) -> str:
    """What follows a pair's name: d8, or d8-grid."""
    return f"d{diversity}" + ("-grid" if mode == "grid" else "")


def read_diversity(name: str) -> tuple[int, str] | None:
    """Diversity and mode of such a name; None for the name of a file."""
    match = _DIVERSITY.fullmatch(name)
    return (int(match[1]), "grid" if match[2] else "nested") if match else None


def is_palette_name(name: str) -> bool:
    """Whether a name can follow a pair's, or `none`."""
    return bool(_DIVERSITY.fullmatch(name) or _FILE_NAME.fullmatch(name))


def file_palette_name(path: Path) -> str:
    """What the palette of a file is called: the file's name without its end.

    Raises:
        ConfigError: it cannot be part of a folder's name, or stands for a diversity.
    """
    name = path.name.partition(".")[0]
    if not _FILE_NAME.fullmatch(name) or read_diversity(name):
        raise ConfigError(
            f'{path}: "{name}" cannot be the name of a palette, which is a letter, then letters, digits and '
            "underscores, 64 in all at most, and not d8 or the like; rename the file"
        )
    return name
