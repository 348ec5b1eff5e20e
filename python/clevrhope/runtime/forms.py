"""Checks of JSON values: which keys they have, and what each key holds."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from clevrhope.errors import ClevrhopeError, DatasetError, shown
from clevrhope.runtime.paths import NO_NAME, NO_PATH, is_name, is_path
from clevrhope.runtime.settings import suggestion

_MISSING = object()


class Misfit(NamedTuple):
    """The first place at which a value does not match its form."""

    value: Any
    """The value found there, or `_MISSING`."""
    expected: str
    unfit: str = ""
    """Replaces what is expected in a message, for example for a string that is not a `NAME`."""
    place: str = ""
    """The place within the checked value: ".splits[3].name"."""

    def below(self, place: str) -> "Misfit":
        """The same misfit, as seen from the value that contains this one at a place."""
        return self._replace(place=place + self.place)


@dataclass(frozen=True)
class Kind:
    """The form of a value without nested values."""

    words: str
    """What is expected: "a string"."""
    test: Callable[[Any], bool]
    plural: str = ""
    """What a list of such values contains: "strings"."""
    unfit: str = ""
    """Replaces what is expected in a message about any other string."""

    def misfit(self, value: Any) -> Misfit | None:
        """The first place at which a value does not match this form; None if it matches."""
        if self.test(value):
            return None
        return Misfit(value, self.words, self.unfit if isinstance(value, str) else "")


def one_of(names: Sequence[str]) -> Kind:
    """The form of a value that is one of a few names."""
    return Kind(" or ".join(names), lambda value: value in names)


@dataclass(frozen=True)
class ListOf:
    """A list whose members all have one form."""

    member: "Form"
    size: int | None = None
    """Number of members; None for any number."""
    least: int = 0
    """Smallest number of members."""

    @property
    def words(self) -> str:
        """As in `Kind`."""
        plural = self.member.plural if isinstance(self.member, Kind) else ""
        return f"a list of {plural}" if plural else "a list"

    def misfit(self, value: Any) -> Misfit | None:
        """As in `Kind`."""
        if not isinstance(value, list):
            return Misfit(value, self.words)
        if self.size not in (None, len(value)):
            return Misfit(value, f"a list of {self.size}")
        if len(value) < self.least:
            return Misfit(value, f"a list of {self.least} or more")
        if isinstance(self.member, Kind) and all(map(self.member.test, value)):
            return None  # the loop below finds the same, in twice the time
        for k, each in enumerate(value):
            if found := self.member.misfit(each):
                return found.below(f"[{k}]")
        return None


@dataclass(frozen=True)
class MapOf:
    """An object with any keys, whose values all have one form."""

    value: "Form"
    keys: "Kind | None" = None
    """`NAME` or `PATH`, if keys become parts of paths."""
    words = "a JSON object"

    def misfit(self, value: Any) -> Misfit | None:
        """As in `Kind`."""
        if not isinstance(value, dict):
            return Misfit(value, self.words)
        for key, each in value.items():
            if self.keys is not None and (found := self.keys.misfit(key)):
                return found
            if found := self.value.misfit(each):
                return found.below(_below(key))
        return None


@dataclass(frozen=True)
class Fields:
    """An object with certain keys."""

    needed: Mapping[str, "Form"]
    optional: Mapping[str, "Form"] = field(default_factory=dict)
    is_closed: bool = False
    """Whether other keys are refused; they are ignored otherwise."""
    words = "a JSON object"

    def misfit(self, value: Any) -> Misfit | None:
        """As in `Kind`."""
        if not isinstance(value, dict):
            return Misfit(value, self.words)
        for key, form in self.needed.items():
            if key not in value:
                return Misfit(_MISSING, form.words).below(_below(key))
        for forms in (self.needed, self.optional):
            for key, form in forms.items():
                if key in value and (found := form.misfit(value[key])):
                    return found.below(_below(key))
        return self.unknown(value) if self.is_closed else None

    def unknown(self, names: Iterable[str]) -> Misfit | None:
        """The first of the names that is no key of such an object; None if all are."""
        known = [*self.needed, *self.optional]
        for name in names:
            if name not in known:
                near = suggestion(name, known)
                return Misfit(name, "", f"is an unknown key{near}; known: {', '.join(known)}")
        return None


@dataclass(frozen=True)
class Nullable:
    """A value that matches a form, or null."""

    form: "Form"

    @property
    def words(self) -> str:
        """As in `Kind`."""
        return self.form.words

    def misfit(self, value: Any) -> Misfit | None:
        """As in `Kind`."""
        return None if value is None else self.form.misfit(value)


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
SHARE = Kind("a number above 0 and at most 1", lambda value: _is_number(value) and 1e-6 <= value <= 1)
OBJECT = Kind("a JSON object", lambda value: isinstance(value, dict))
NAME = Kind("a name that a file can have", is_name, unfit=NO_NAME)
FILE_NAME = Kind(
    "the name of a file, without folders",
    lambda value: isinstance(value, str) and value.isprintable() and Path(value).name == value,
)
PATH = Kind("a path below the folder", is_path, unfit=NO_PATH)
SHA256 = Kind(
    "64 hexadecimal digits",
    lambda value: isinstance(value, str) and len(value) == 64 and not value.strip("0123456789abcdef"),
)

KINDS = {name.lower(): kind for name, kind in [*globals().items()] if isinstance(kind, Kind)}
"""The forms without nested values, by their names in files of forms."""


def read_form(path: Path, **named: Form) -> Fields:
    """Reads a file that has the form of a document, written as the document is.

    An object has the keys that are needed, and those that are not with "?" at their ends; {"<name>": form} is
    an object whose keys are names of files. [form] is a list, [form, 3] one of three, [form, null, 1] one of
    one or more; {"null or": form} can be null; "a | b" is one of two words. Everything else is a name in
    `KINDS`, or in `named`.
    """
    forms = {**KINDS, **named}

    def form_of(written: Any) -> Form:
        if isinstance(written, str):
            return forms[written] if written in forms else one_of(written.split(" | "))
        if isinstance(written, list):
            return ListOf(form_of(written[0]), *written[1:])
        if "null or" in written:
            return Nullable(form_of(written["null or"]))
        first = next(iter(written))
        if first[0] == "<":
            keys = None if first == "<any>" else forms[first[1:-1]]
            return MapOf(form_of(written[first]), keys)  # type: ignore[arg-type]
        return fields_of(written)

    def fields_of(written: Mapping[str, Any]) -> Fields:
        found = {key: form_of(inside) for key, inside in written.items()}
        needed = {key: form for key, form in found.items() if key[-1] != "?"}
        return Fields(needed, {key[:-1]: form for key, form in found.items() if key[-1] == "?"})

    return fields_of(json.loads(path.read_text("utf-8")))


def check_form(
    value: Any,
    form: Form,
    file: object,
    *,
    place: str = "",
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
) -> None:
    """Checks that a value matches a form.

    Args:
        value: the value as a JSON reader returns it.
        form: the form that it must match.
        file: names the file in messages.
        place: the place of the value in the file, such as "splits.none.train"; "" for the whole file.
        error: the class that is raised.
        remedy: ends the sentence.

    Raises:
        ClevrhopeError: of class `error`: something is missing or does not match; names its place.
    """
    found = form.misfit(value)
    if found is None:
        return
    inside = (place + found.place).removeprefix(".")
    try:
        if found.unfit:
            where = f"{file}: {inside}" if inside else str(file)
            raise error(f"{where}: {shown(found.value)} {found.unfit}")
        if found.value is _MISSING:
            raise error(f"{file}: {inside} is missing; expected {found.expected}")
        what = f"{shown(found.value):.60}" if isinstance(found.value, dict | list) else shown(found.value)
        subject = f"{file}: {inside} is {what};" if inside else f"{file}:"
        raise error(f"{subject} expected {found.expected}")
    except error as problem:
        if not remedy:
            raise
        raise error(f"{problem}; {remedy}") from problem


def _below(key: str) -> str:
    """The place of a key, as part of a longer place."""
    return f".{key}" if key.isprintable() and len(key) <= 80 else f".{shown(key)[:80]}"
