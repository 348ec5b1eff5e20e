"""The form that a JSON value must have: its keys, and what kind of value each of them holds."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from clevrhope.errors import ClevrhopeError, DatasetError, shown
from clevrhope.runtime.paths import checked_name, checked_path, is_name


@dataclass(frozen=True)
class Kind:
    """A value without others inside."""

    words: str
    """What is expected: "a string"."""
    test: Callable[[Any], bool]
    plural: str = ""
    """What a list of them holds: "strings"."""
    rule: Callable[[Any], bool] | None = None
    """What it must be besides, where a message says more than the words do: `NAME` and `PATH`."""

    def fits(self, value: Any) -> bool:
        """Whether a value is of this form."""
        return self.test(value) and (self.rule is None or self.rule(value))


@dataclass(frozen=True)
class ListOf:
    """A list whose members all have one form."""

    member: "Form"
    size: int | None = None
    """How many members it has; None for any number."""
    least: int = 0
    """How many it has at least."""

    def fits(self, value: Any) -> bool:
        """As of `Kind`."""
        if not isinstance(value, list) or self.size not in (None, len(value)) or len(value) < self.least:
            return False
        return all(map(self.member.fits, value))


@dataclass(frozen=True)
class MapOf:
    """An object with any keys, whose values all have one form."""

    value: "Form"
    keys: "Kind | None" = None
    """`NAME` or `PATH`, where keys become parts of paths."""

    def fits(self, value: Any) -> bool:
        """As of `Kind`."""
        if not isinstance(value, dict) or not all(map(self.value.fits, value.values())):
            return False
        return self.keys is None or all(map(self.keys.fits, value))


@dataclass(frozen=True)
class Fields:
    """An object with certain keys; it may have others, which are not looked at."""

    needed: Mapping[str, "Form"]
    optional: Mapping[str, "Form"] = field(default_factory=dict)

    def fits(self, value: Any) -> bool:
        """As of `Kind`."""
        if not isinstance(value, dict):
            return False
        for name, form in self.needed.items():
            if name not in value or not form.fits(value[name]):
                return False
        return all(form.fits(value[name]) for name, form in self.optional.items() if name in value)


@dataclass(frozen=True)
class Nullable:
    """A value of a form, or null."""

    form: "Form"

    def fits(self, value: Any) -> bool:
        """As of `Kind`."""
        return value is None or self.form.fits(value)


Form: TypeAlias = Kind | ListOf | MapOf | Fields | Nullable


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    # An integer can be too large for `math.isfinite`.
    limit = sys.float_info.max
    return isinstance(value, int | float) and not isinstance(value, bool) and -limit <= value <= limit


ANY = Kind("a value", lambda _: True)
TEXT = Kind("a string", lambda value: isinstance(value, str), "strings")
BOOLEAN = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a whole number from 0 to 2^53 - 1", lambda value: _is_whole(value) and 0 <= value < 1 << 53)
INDEX = Kind("a whole number from 0 to 2147483647", lambda value: _is_whole(value) and 0 <= value < 1 << 31)
SEED = Kind("a whole number from 0 to 2^64 - 1", lambda value: _is_whole(value) and 0 <= value < 1 << 64)
NUMBER = Kind("a number", _is_number)
SHARE = Kind("a number above 0, up to 1", lambda value: _is_number(value) and 1e-6 <= value <= 1)
OBJECT = Kind("a JSON object", lambda value: isinstance(value, dict))
NAME = Kind("a name that a file can have", lambda value: isinstance(value, str), rule=is_name)
FILE_NAME = Kind(
    "the name of a file, without folders",
    lambda value: isinstance(value, str) and value.isprintable() and Path(value).name == value,
)
PATH = Kind(
    "a path below the folder",
    lambda value: isinstance(value, str),
    rule=lambda value: all(map(is_name, value.split("/"))),
)
SHA256 = Kind(
    "64 hexadecimal digits",
    lambda value: isinstance(value, str) and len(value) == 64 and not value.strip("0123456789abcdef"),
)


def check_form(
    value: Any,
    form: Form,
    file: object,
    *,
    place: str = "",
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
) -> None:
    """Passes for a value of a form.

    Args:
        value: as a JSON reader gives it.
        form: that it must have.
        file: names it in messages.
        place: of the value in the file, such as "splits.none.train"; "" for all of it.
        error: the class that is raised.
        remedy: ends the sentence.

    Raises:
        ClevrhopeError: of class `error`: something is missing or of another kind; names the first such place.
    """
    if form.fits(value):
        return
    try:
        _check(value, form, file, place, error)
    except error as problem:
        if not remedy:
            raise
        raise error(f"{problem}; {remedy}") from problem


def _check(value: Any, form: Form, file: object, place: str, error: type[ClevrhopeError]) -> None:
    match form:
        case Nullable():
            if value is not None:
                _check(value, form.form, file, place, error)
        case Fields():
            _check_kind(value, OBJECT, file, place, error)
            for key, each in form.needed.items():
                if key not in value:
                    raise error(f"{file}: {_inside(place, key)} is missing; expected {_words(each)}")
            for key, each in {**form.needed, **form.optional}.items():
                if key in value:
                    _check(value[key], each, file, _inside(place, key), error)
        case MapOf():
            _check_kind(value, OBJECT, file, place, error)
            for key, each in value.items():
                if form.keys is not None:
                    _check_kind(key, form.keys, file, place, error)
                _check(each, form.value, file, _inside(place, key), error)
        case ListOf():
            if not isinstance(value, list):
                raise _unlike(value, _words(form), file, place, error)
            if form.size not in (None, len(value)):
                raise _unlike(value, f"a list of {form.size}", file, place, error)
            if len(value) < form.least:
                raise _unlike(value, f"a list of {form.least} or more", file, place, error)
            for k, each in enumerate(value):
                _check(each, form.member, file, f"{place}[{k}]", error)
        case Kind():
            _check_kind(value, form, file, place, error)


def _check_kind(value: Any, kind: Kind, file: object, place: str, error: type[ClevrhopeError]) -> None:
    if not kind.test(value):
        raise _unlike(value, kind.words, file, place, error)
    where = f"{file}: {place}" if place else str(file)
    if kind is NAME:
        checked_name(value, where, error=error)
    elif kind is PATH:
        checked_path(value, where, error=error)


def _unlike(value: Any, words: str, file: object, place: str, error: type[ClevrhopeError]) -> ClevrhopeError:
    found = f"{shown(value):.60}" if isinstance(value, dict | list) else shown(value)
    return error(f"{file}: {place} is {found}; expected {words}" if place else f"{file}: expected {words}")


def _inside(place: str, key: str) -> str:
    key = key if key.isprintable() and len(key) <= 80 else shown(key)[:80]
    return f"{place}.{key}" if place else key


def _words(form: Form) -> str:
    match form:
        case Kind():
            return form.words
        case ListOf(member=Kind(plural=plural)) if plural:
            return f"a list of {plural}"
        case ListOf():
            return "a list"
        case Nullable():
            return _words(form.form)
        case _:
            return OBJECT.words
