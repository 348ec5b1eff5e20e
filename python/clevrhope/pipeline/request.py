"""A user's request to `build`, and the palettes of its sub-datasets, from diversities and palette files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from clevrhope._core import World
from clevrhope.config.presets import Config
from clevrhope.editions.definition import Edition
from clevrhope.errors import ConfigError
from clevrhope.images.renderers import rendering_as_json
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import read_utf8
from clevrhope.splits.hops import NONE, Hop
from clevrhope.splits.palettes import (
    Palette,
    diversity_name,
    file_palette_name,
    palette_from_json,
    parse_diversity,
)


@dataclass(frozen=True)
class Limits:
    """How a request limits the combinations of values; by default, all are allowed."""

    diversities: tuple[int, ...] = ()
    """Numbers of combinations of a pair's types, including the pair; each makes a sub-dataset."""
    mode: Literal["nested", "grid"] = "nested"
    palette: Path | None = None
    """A file that lists the combinations; for a pair, those seen in training."""
    test_palette: Path | None = None
    """The file for a second test set, if nothing is held out."""


@dataclass(frozen=True)
class Request:
    """A wanted dataset, or an extension of an existing one."""

    out: Path
    hops: tuple[str, ...]
    config: Config
    seed: int | None
    """None for the seed of the existing folder."""
    splits: tuple[str, ...] | None = None
    """None for all splits of each sub-dataset."""
    render: bool = True
    workers: int | None = None
    """Blender's processes, or images that the native renderer makes at once; None for the default."""
    engine: str = "local"
    """Where renderers run: "local", or "ray" for a Ray cluster."""
    address: str | None = None
    """Address of the Ray cluster; None for one on this machine."""
    limits: Limits = field(default_factory=Limits)
    """Which combinations of values may occur."""
    covr: bool = False
    """Whether questions over several images are wanted too."""
    nonce: int = 0
    """Number of episodes with nonce words."""
    nonce_types: str | None = None
    """Whether the types of their words are "told" or to be "found"; None for the folder's own, or told."""
    prelim: tuple[str, ...] = ()
    """Single values to ask about, or "all"."""
    edition: Edition | None = None
    """The edition that this request makes, whole or in part; private if the seed is not the edition's."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """The request as the command line gave it, for the manifest's `requests`; empty if Python made it."""

    @property
    def rendering(self) -> Mapping[str, Any] | None:
        """The rendering settings as a manifest records them; None if no images are wanted."""
        return rendering_as_json(self.config.rendering) if self.render else None


def limited_hops(hops: Sequence[Hop], limits: Limits) -> tuple[Hop, ...]:
    """The sub-datasets of a request: each pair once for each diversity, or with the palette of the file.

    Raises:
        ConfigError: the choices conflict.
    """
    if limits.diversities and limits.palette:
        raise ConfigError("--diversity and --palette both say what is seen; take one of them")
    if limits.mode != "nested" and not limits.diversities:
        raise ConfigError(
            f"--diversity-mode {limits.mode} says which combinations a --diversity takes; add one"
        )
    if limits.test_palette and not limits.palette:
        raise ConfigError("--test-palette is for tests beside those of a --palette; give that too")
    suffixes = [diversity_name(each, limits.mode) for each in limits.diversities]
    if limits.palette:
        suffixes = [file_palette_name(limits.palette)]
    if not suffixes:
        return tuple(hops)
    for hop in hops:
        if hop.value is not None:
            raise ConfigError(
                f'HOP "{hop.name}": asks for a value alone, which no --diversity or --palette limits; build '
                "it without them, into the same folder"
            )
        if hop.palette:
            raise ConfigError(
                f'HOP "{hop.name}": its name says what is seen; leave --diversity and --palette out'
            )
        if hop.held_out is None and limits.diversities:
            raise ConfigError(f'HOP "{NONE}": --diversity counts combinations with a held-out pair; name one')
        if hop.held_out is not None and limits.test_palette:
            raise ConfigError(
                f'HOP "{hop.name}": --test-palette goes with --hop {NONE}; a pair has tests of its own'
            )
    return tuple(dict.fromkeys(hop.limited(suffix) for hop in hops for suffix in suffixes))


def second_palette(limits: Limits) -> str:
    """The name of the second palette, or ""."""
    return file_palette_name(limits.test_palette) if limits.test_palette else ""


def with_diversity(hop: Hop, palettes: Mapping[str, Palette]) -> Hop:
    """A pair with the diversity of its palette, if it has one."""
    palette = palettes.get(hop.pools) if hop.held_out else None
    return hop if palette is None else replace(hop, diversity=palette.diversity)


def folder_palettes(
    hops: Sequence[Hop], limits: Limits, world: World, *, seed: int, recorded: Mapping[str, Mapping[str, Any]]
) -> dict[str, Palette]:
    """The folder's palettes by name: those in its manifest (`recorded`), and those that a request adds.

    Raises:
        ConfigError: a file cannot be read, or differs from the folder's palette of the same name.
        SceneError: a file is not a palette; names the place in it.
        SplitError: a palette leaves no combination for a pair, or a pair cannot have the diversity.
    """
    palettes = {name: palette_from_json(raw) for name, raw in recorded.items()}
    files = [limits.palette, limits.test_palette]
    read = {file_palette_name(path): _read(path, world) for path in files if path is not None}
    wanted: dict[str, Palette] = {}
    for hop in hops:
        if hop.palette:
            wanted[hop.pools] = _palette(hop, read, palettes, seed, world)
    if limits.test_palette:
        second = read[second_palette(limits)]
        if limits.palette and second == read[file_palette_name(limits.palette)]:
            raise ConfigError(
                f"{limits.test_palette}: the same combinations as --palette; --test-palette is for others"
            )
        wanted[second_palette(limits)] = second
    for name, palette in wanted.items():
        if palettes.get(name, palette) != palette:
            raise ConfigError(f"palette {name}: the folder has another palette of this name; rename the file")
    return palettes | wanted


def _palette(
    hop: Hop, read: Mapping[str, Palette], there: Mapping[str, Palette], seed: int, world: World
) -> Palette:
    diversity = parse_diversity(hop.palette)
    if hop.held_out is None:
        if diversity is None and hop.palette in read:
            return read[hop.palette]
    elif diversity is not None:
        mode = cast(Literal["nested", "grid"], diversity[1])
        seen = world.seen_palette(list(hop.held_out), diversity=diversity[0], mode=mode, seed=seed)
        return palette_from_json(json.loads(seen)).without(hop.held_out)
    elif hop.palette in read:
        return _seen_of_file(hop, read[hop.palette], world)
    if hop.pools in there:
        return there[hop.pools]
    raise ConfigError(
        f'HOP "{hop.name}": the folder has no palette {hop.palette} yet; name its file with --palette'
    )


def _seen_of_file(hop: Hop, palette: Palette, world: World) -> Palette:
    """A pair's combinations in training, from a file's palette: all but the pair, which it may omit."""
    pair = list(hop.held_out or ())
    seen = palette.without(pair)
    if not seen.combinations:
        raise ConfigError(f"palette {hop.palette}: allows {hop.words} alone, so nothing would be seen")
    world.with_palette(seen.data("train"), name=hop.palette, file=hop.palette).check_seen(pair)
    return seen


def _read(path: Path, world: World) -> Palette:
    data = read_utf8(path, "a palette", error=ConfigError, remedy="expected a palette as JSON")
    parse_json(data, path, error=ConfigError, remedy="expected a palette as JSON")
    text = world.with_palette(data, name=file_palette_name(path), file=str(path)).palette_json
    return palette_from_json(json.loads(text or "{}"))
