"""Held-out pairs and their names: the paper's 29, any other pair, wider conjunctions, and none.

A HOP ("held-out pair") is two values of two attribute types that never occur together in an object of the
train set. A wider conjunction, of three or four types, is held out in the same way and also called a pair. A
preliminary sub-dataset, such as `prelim_cyan`, asks about a single value, to test whether a model knows it
before pairs are held out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import prod
from pathlib import Path

from clevrhope.errors import ConfigError, with_article
from clevrhope.runtime.digits import number_order
from clevrhope.runtime.settings import suggestion
from clevrhope.runtime.toml import read_toml
from clevrhope.splits.palettes import MARK, is_palette_name, parse_diversity

NONE = "none"
"""The name of the sub-dataset that holds nothing out."""

PRELIM = "prelim"
"""The first part of a preliminary sub-dataset's name; its value follows."""

ALL = "all"
"""Stands for every value of the vocabulary in a list of values for preliminary sub-datasets."""

NAME_ORDER = ("size", "material", "color", "shape")
"""The order of types in a pair's name, as in the paper: large_rubber, rubber_cyan, cyan_cylinder."""

CLEVR_VALUES: Mapping[str, Sequence[str]] = {
    "size": ("large", "small"),
    "color": ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    "material": ("rubber", "metal"),
    "shape": ("cube", "sphere", "cylinder"),
}
"""The values of CLEVR's attribute types."""


@dataclass(frozen=True)
class Hop:
    """A held-out pair, a single value, or (with neither) a sub-dataset with nothing held out.

    Attributes:
        name: the name of its folder.
        held_out: (type, value) of two types or more, in `NAME_ORDER`.
        diversity: number of combinations of the types' values, including the pair; 0 if nothing is held out.
        palette: the palette of its pools, which follows a hyphen in the name; "" if all combinations occur.
        value: (type, value) of a preliminary sub-dataset, which holds nothing out.
    """

    name: str
    held_out: tuple[tuple[str, str], ...] | None
    diversity: int
    palette: str = ""
    value: tuple[str, str] | None = None

    @property
    def target(self) -> tuple[tuple[str, str], ...]:
        """The values that minimal or preliminary sets ask about: the pair or the value; empty for `none`."""
        return self.held_out or (() if self.value is None else (self.value,))

    @property
    def pools(self) -> str:
        """The palette's name as it occurs in the names of pools; "" for none."""
        return self.name if self.palette and self.held_out else self.palette

    def limited(self, palette: str) -> "Hop":
        """The same pair in pools with a palette; the diversity of a palette from a file is unknown here."""
        found = parse_diversity(palette)
        diversity = 0 if self.held_out is None or found is None else found[0]
        return replace(self, name=f"{self.name}{MARK}{palette}", palette=palette, diversity=diversity)

    @property
    def words(self) -> str:
        """The pair or the value in words: "rubber cylinder"."""
        return " ".join(value for _, value in self.target) or "nothing"

    @property
    def noun(self) -> str:
        """An object with the pair, after an article: "rubber cylinder", "large red thing"."""
        return self.words if any(kind == "shape" for kind, _ in self.target) else f"{self.words} thing"

    @property
    def an_object(self) -> str:
        """The same with its article: "a rubber cylinder", "an orange thing"."""
        return with_article(self.noun)

    @property
    def title(self) -> str:
        """A title: "rubber cylinder held out", "cyan alone"."""
        return f"{self.words} held out" if self.value is None else f"{self.words} alone"

    @property
    def corners(self) -> int:
        """Images per group of a minimal set, with each value kept or changed; 0 without a target."""
        return 2 ** len(self.target) if self.target else 0


def name_order(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """A sorting key for sub-datasets: by name, but numbers in numerical order."""
    return number_order(name), name


OFFICIAL_NUMBERS: Mapping[str, int] = read_toml(
    Path(__file__).with_name("paper_pairs.toml"), "a table of the package"
)
"""Name of each of the paper's 29 pairs, in its order -> its number in the official data."""


def paper_hops() -> tuple[Hop, ...]:
    """The paper's 29 pairs in its order, with their diversity under CLEVR's vocabulary."""
    return tuple(parse_hop(name, [*CLEVR_VALUES.items()]) for name in OFFICIAL_NUMBERS)


_OFFICIAL_TYPES = ("size", "color", "shape", "material")


def official_values(hop: Hop) -> str:
    """The values of a pair as the names of official files have them: a Python tuple by attribute."""
    values = dict(hop.held_out or ())
    return str(tuple(values.get(kind) for kind in _OFFICIAL_TYPES))


HOP_GROUPS: Mapping[str, tuple[str, ...]] = {
    "first6": tuple(name for name, number in OFFICIAL_NUMBERS.items() if number < 6),
    "all": tuple(OFFICIAL_NUMBERS),
}
"""Groups of pairs by name: the paper's first six, one for each two types, and all 29."""


def parse_hop(name: str, attribute_types: Sequence[tuple[str, Sequence[str]]]) -> Hop:
    """Parses the name of a sub-dataset under a vocabulary.

    Args:
        name: such as "rubber_cylinder", "cylinder_rubber", "none", "metal_red_cube" with more values, or
            "color=red,shape=cube,material=metal" with types. The values may be in any order; the pair's own
            name is always the canonical one. A palette can follow after a hyphen: "cyan_cylinder-d8",
            "none-CoGenT_A". A single value is "prelim_cyan".
        attribute_types: each type with its values, as `World.attribute_types` lists them.

    Raises:
        ConfigError: the name does not give values of two types or more; suggests a similar name.
    """
    base, mark, palette = name.partition(MARK)
    type_of = {value: kind for kind, values in attribute_types for value in values}
    if mark and is_palette_name(palette) and not any(_cuts(name, type_of)):
        try:
            hop = parse_hop(base, attribute_types)
        except ConfigError as error:
            if palette not in type_of:
                raise
            # More likely two values separated by a hyphen than a palette with such a name.
            raise ConfigError(f'HOP "{name}": {_complaint(name, type_of, attribute_types)}') from error
        if hop.value is not None:
            raise ConfigError(f'HOP "{name}": {base} asks for a value alone, which no palette limits')
        return hop.limited(palette)
    if name == NONE:
        return Hop(NONE, None, 0)
    if "=" in name:
        return _pair(name, _typed_values(name, dict(attribute_types)), attribute_types)
    if name.startswith(f"{PRELIM}_") and PRELIM not in type_of:
        return _prelim(name.removeprefix(f"{PRELIM}_"), attribute_types)
    for values in sorted(_cuts(name, type_of), key=len):
        if len(values) > 1:
            return _pair(name, [(type_of[value], value) for value in values], attribute_types)
    raise ConfigError(f'HOP "{name}": {_complaint(name, type_of, attribute_types)}')


def prelim_hops(
    names: Sequence[str], attribute_types: Sequence[tuple[str, Sequence[str]]]
) -> tuple[Hop, ...]:
    """The preliminary sub-datasets of some values, or of all of a vocabulary's for the name "all".

    Raises:
        ConfigError: there is no such value; suggests a similar one.
    """
    values = [value for _, of_kind in attribute_types for value in of_kind]
    wanted = [each for name in names for each in (values if name == ALL and ALL not in values else [name])]
    return tuple(_prelim(name, attribute_types) for name in dict.fromkeys(wanted))


def _prelim(value: str, attribute_types: Sequence[tuple[str, Sequence[str]]]) -> Hop:
    for kind, values in attribute_types:
        if value in values:
            return Hop(f"{PRELIM}_{value}", None, 0, value=(kind, value))
    known = [each for _, values in attribute_types for each in values]
    raise ConfigError(
        f'--prelim: no value "{value}"{suggestion(value, known)}; known: {", ".join(known)}, or {ALL}'
    )


def _typed_values(name: str, values_of: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Parses values with types, such as "color=red,shape=cube"."""
    found = []
    for part in name.split(","):
        kind, _, value = (each.strip() for each in part.partition("="))
        if kind not in values_of:
            raise ConfigError(f'hold-out "{name}": no attribute type "{kind}"{_hint(kind, values_of)}')
        if value not in values_of[kind]:
            hint = _hint(value, values_of[kind])
            raise ConfigError(f'hold-out "{name}": "{value}" is not a {kind}{hint}')
        found.append((kind, value))
    if len(found) < 2:
        raise ConfigError(f'hold-out "{name}": one value; take values of two types or more')
    return found


def _hint(name: str, known: Iterable[str]) -> str:
    return suggestion(name, known) or f"; known: {', '.join(known)}"


def _pair(
    name: str, values: Sequence[tuple[str, str]], attribute_types: Sequence[tuple[str, Sequence[str]]]
) -> Hop:
    for place, first in enumerate(values):
        for second in values[place + 1 :]:
            if first[0] == second[0]:
                what = "one value twice" if first == second else f"two values of one type, {first[0]}"
                raise ConfigError(
                    f'HOP "{name}": {what}, so no object could ever have both; take values of two types, '
                    f'such as "{_example(first, attribute_types)}"'
                )
    pair = tuple(sorted(values, key=lambda value: _name_rank(value[0])))
    n_values = {kind: len(of_kind) for kind, of_kind in attribute_types}
    return Hop("_".join(value for _, value in pair), pair, prod(n_values[kind] for kind, _ in pair))


def _name_rank(kind: str) -> int:
    return NAME_ORDER.index(kind) if kind in NAME_ORDER else len(NAME_ORDER)


def _cuts(name: str, values: Mapping[str, str]) -> Iterator[list[str]]:
    """Every way to cut a name at underscores into values, whose own names may contain underscores."""
    if name in values:
        yield [name]
    for place, letter in enumerate(name):
        if letter == "_" and name[:place] in values:
            yield from ([name[:place], *others] for others in _cuts(name[place + 1 :], values))


def _example(value: tuple[str, str], attribute_types: Sequence[tuple[str, Sequence[str]]]) -> str:
    other = next((kind, values[0]) for kind, values in attribute_types if kind != value[0])
    a, b = sorted((value, other), key=lambda each: _name_rank(each[0]))
    return f"{a[1]}_{b[1]}"


def _complaint(
    name: str, type_of: Mapping[str, str], attribute_types: Sequence[tuple[str, Sequence[str]]]
) -> str:
    if name in HOP_GROUPS:
        return f"not a pair, but a group of pairs (did you mean --hops {name}?)"
    near = _nearest(re.sub("[-_ ]+", "_", name.lower()), type_of)
    if near:
        return f'no such pair (did you mean "{near}"?)'
    known = "; ".join(f"{kind}: {', '.join(values)}" for kind, values in attribute_types)
    unknown = [half for half in name.split("_") if half and half not in type_of]
    which = (
        f'"{unknown[0]}" is not an attribute value' if unknown else "not two values joined by an underscore"
    )
    more = "; docs/own_values.md says how to add a value" if unknown else ""
    return f'{which}; write "<value>_<value>" of two types ({known}), or "{NONE}"{more}'


def _nearest(name: str, type_of: Mapping[str, str]) -> str | None:
    """The pair, or `none`, whose name is most similar; the values may be in any order, or one word."""
    pairs = {f"{a}_{b}": (a, b) for a in type_of for b in type_of if type_of[a] != type_of[b]}
    for match in get_close_matches(name, [*pairs, NONE], n=1, cutoff=0.85) if name not in type_of else ():
        return "_".join(
            sorted(pairs.get(match, (NONE,)), key=lambda value: _name_rank(type_of.get(value, "")))
        )
    return None
