"""Reads settings of files and commands into frozen dataclasses; errors are single sentences.

A dataclass defines everything about its settings: their names, types and defaults, and, in its
`__post_init__`, which values are valid. Errors raised there begin with the field's name.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from clevrhope.errors import ConfigError, shown

Settings = TypeVar("Settings")

MOST = 1 << 64
"""The limit that whole numbers stay below, unless another is given: that of seeds."""

_WORD = re.compile(r"[^\W\d_]+|\d+")
_ALIKE = 0.7
"""The least similarity of two words of which one may be a mistake for the other."""

_NAMES: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
    Path: "a path",
    type(None): "none",
}


def read_settings(
    kind: type[Settings],
    given: Mapping[str, Any],
    *,
    where: object,
    path: str = "",
    start: Settings | None = None,
    base: Path | None = None,
    strings: bool = False,
    most: int = MOST,
) -> Settings:
    """Fills a dataclass with the given settings, and otherwise with the existing ones or defaults.

    Fields are numbers, strings, truth values, paths, literals, other dataclasses (tables), tuples of these (a
    list, or a single value), mappings of these, or unions. A field's metadata "key" is its name in files, if
    that differs.

    Args:
        kind: a frozen dataclass.
        given: values by name, as read from TOML or JSON.
        where: the source of the settings, for messages: a file, a model's name.
        path: the path of the table in the file, with a dot at its end; "" for the whole file.
        start: settings that the given ones override; None for the defaults.
        base: the folder to which paths are relative; None to leave them unchanged.
        strings: whether a number may be given as a string, as on a command line.
        most: the limit that whole numbers stay below.

    Raises:
        ConfigError: a name is unknown or missing, a value has another type, or the dataclass rejects one.
    """
    settings: Settings = _Reader(str(where), base, strings, most).table(kind, given, path, start)
    return settings


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Begins the message of a ConfigError in the block with a setting's place."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from error


def check_at_least(least: int, **values: int | None) -> None:
    """Checks that all values are `least` or more, or not set; raises ConfigError about another one."""
    for name, value in values.items():
        if value is not None and value < least:
            raise ConfigError(f"{name} is {value}; expected a whole number from {least}")


class Counts:
    """The base of dataclasses whose whole numbers are all 1 or more; `least` has the limits of the others."""

    least: ClassVar[Mapping[str, int]] = {}

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if type(value) is int:
                check_at_least(self.least.get(each.name, 1), **{each.name: value})


def check_whole(name: str, value: object, *, least: int = 0) -> None:
    """Checks that an argument is a whole number, at least `least` and below `MOST`.

    Raises:
        ConfigError: it is not; names it.
    """
    if type(value) is not int or not least <= value < MOST:
        raise ConfigError(f"{name} is {shown(value)}; expected a whole number from {least} below 2^64")


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, in brackets; empty if none is similar.

    Names are compared word by word: val_ood is no mistake for val_iid, nor d4 for d8.
    """
    words = _WORD.findall(name.casefold())
    likeness = {each: _likeness(words, _WORD.findall(each.casefold())) for each in known if words}
    near = max(likeness, key=lambda each: likeness[each], default="")
    return f' (did you mean "{near}"?)' if likeness.get(near) else ""


def _likeness(words: Sequence[str], others: Sequence[str]) -> float:
    """How similar two names are by their words, at most 1; 0 if one is probably no mistake for the other.

    Gray is no mistake for green, nor 4 for 8; but odd is for ood, and rde for red.
    """
    if "".join(words) == "".join(others):
        return 1.0
    likeness = []
    for a, b in zip(words, others, strict=False):
        ratio = SequenceMatcher(None, a, b).ratio()
        is_slip = len(a) == len(b) > 2 and (sum(map(str.__ne__, a, b)) == 1 or sorted(a) == sorted(b))
        is_near = ratio >= _ALIKE or is_slip
        likeness.append(ratio if a == b or (is_near and not (a + b).isdecimal()) else 0.0)
    return sum(likeness) / len(likeness) if len(words) == len(others) and all(likeness) else 0.0


def unknown(what: str, name: str, known: Collection[str]) -> str:
    """Says that a name is not known, with those that are; `what` is "split", for example."""
    return f"unknown {what} {shown(name)}{suggestion(str(name), known)}; known: {', '.join(known)}"


def check_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Checks that all names are known; raises ConfigError about an unknown one, which `what` begins."""
    for name in names:
        if name not in known:
            there = ", ".join(known) or "none"
            raise ConfigError(f"{what} {shown(name)}{suggestion(name, known)}; there are: {there}")


def join_or(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


_NOTHING = object()


@dataclass(frozen=True)
class _Reader:
    where: str
    base: Path | None
    strings: bool
    most: int

    def table(self, kind: Any, given: Mapping[str, Any], path: str, start: Any = None) -> Any:
        hints = get_type_hints(kind)
        known: dict[str, Field[Any]] = {each.metadata.get("key", each.name): each for each in fields(kind)}
        values = {}
        for key, value in given.items():
            if key not in known:
                hint = f"{suggestion(key, known)}; known: {', '.join(known)}"
                raise ConfigError(f"{self.where}: unknown setting {shown(path + key)}{hint}")
            name = known[key].name
            there = getattr(start, name, None)
            values[name] = self.value(hints[name], value, f"{path}{key}", there)
        if start is not None:
            return self._made(path, lambda: replace(start, **values))
        for key, each in known.items():
            if each.name not in values and each.default is MISSING and each.default_factory is MISSING:
                raise ConfigError(f'{self._place(path)}: no "{key}"')
        return self._made(path, lambda: kind(**values))

    def value(self, hint: Any, value: Any, place: str, there: Any = None) -> Any:
        """Converts a value to the type of its field; raises ConfigError if it has another type."""
        read, expected = self._read(hint, value, place, there)
        if read is _NOTHING:
            near = (
                suggestion(value, get_args(hint))
                if get_origin(hint) is Literal and isinstance(value, str)
                else ""
            )
            raise ConfigError(f"{self.where}: {place} is {shown(value)}{near}; expected {expected}")
        return read

    def _read(self, hint: Any, value: Any, place: str, there: Any) -> tuple[Any, str]:
        """The value as the type requires it, or `_NOTHING`, and what was expected."""
        origin = get_origin(hint)
        if origin is Literal:
            choices = get_args(hint)
            is_one = any(value == each and type(value) is type(each) for each in choices)
            return (value if is_one else _NOTHING), join_or([f'"{each}"' for each in choices])
        if origin in (Union, UnionType):
            tried = [self._read(each, value, place, there) for each in get_args(hint)]
            read = next((read for read, _ in tried if read is not _NOTHING), _NOTHING)
            # Files have no value for "none": to say it, one leaves the setting out.
            words = [
                each
                for (_, each), member in zip(tried, get_args(hint), strict=True)
                if self.strings or member is not type(None)
            ]
            return read, join_or(words)
        if origin is tuple:
            return self._members(get_args(hint)[0], value, place)
        if is_dataclass(hint):
            if not isinstance(value, dict):
                return _NOTHING, f"a table [{place}]"
            return self.table(hint, value, f"{place}.", there), ""
        if origin is not None:
            if not isinstance(value, dict):
                return _NOTHING, f"a table [{place}]"
            member = get_args(hint)[1]
            if member is Any:
                return value, ""
            return {key: self.value(member, each, f"{place}.{key}") for key, each in value.items()}, ""
        return self._scalar(hint, value)

    def _members(self, hint: Any, value: Any, place: str) -> tuple[Any, str]:
        """The members of a list; a single value counts as a list of one."""
        many = value if isinstance(value, list | tuple) else [value]
        if is_dataclass(hint):
            if not all(isinstance(each, dict) for each in many):
                return _NOTHING, f"a table, or [[{place}]] for several"
            return tuple(self.table(hint, each, f"{place}[{k}].") for k, each in enumerate(many)), ""
        read = [self._read(hint, each, place, None) for each in many]
        if any(each is _NOTHING for each, _ in read):
            expected = self._read(hint, _NOTHING, place, None)[1]
            return _NOTHING, f"{expected} or a list of such"
        return tuple(each for each, _ in read), ""

    def _scalar(self, hint: Any, value: Any) -> tuple[Any, str]:
        expected = _NAMES[hint]
        if self.strings and isinstance(value, str) and hint is not str:
            value = _from_string(hint, value)
        if hint is float and type(value) is int:
            value = float(value) if abs(value) < self.most else _NOTHING
        if hint is Path and isinstance(value, str) and value:
            value = Path(value) if self.base is None else self.base / value
        if not (isinstance(value, Path) if hint is Path else type(value) is hint):
            return _NOTHING, expected
        if hint is float and not math.isfinite(value):
            return _NOTHING, expected
        if hint is int and abs(value) >= self.most:
            return _NOTHING, f"{expected} below 2^{self.most.bit_length() - 1}"
        return value, expected

    def _place(self, path: str) -> str:
        return f"{self.where}: {path.removesuffix('.')}" if path else self.where

    def _made(self, path: str, make: Any) -> Any:
        try:
            return make()
        except ConfigError as error:
            raise ConfigError(f"{self.where}: {path}{error}") from error


def _from_string(hint: Any, text: str) -> Any:
    """A number or truth value given as a string on a command line; the string unchanged if it is neither."""
    try:
        if hint in (int, float) and text.isascii() and "_" not in text:
            return hint(text)
    except ValueError:
        return text
    return {"true": True, "false": False}.get(text.lower(), text) if hint is bool else text
