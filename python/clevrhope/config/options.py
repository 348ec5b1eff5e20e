"""Settings by name in, a model's frozen configuration out; a wrong one gets one sentence."""

import math
from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from clevrhope.config.presets import suggestion
from clevrhope.errors import ConfigError, shown

Config = TypeVar("Config")

MOST = 1 << 31
"""What a whole number is below: sizes are products of several, in 64 bits."""

_NAMES: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
    type(None): "none",
}


def read_options(kind: type[Config], given: Mapping[str, Any], *, model: str) -> Config:
    """A configuration with what was given and defaults for the rest.

    Args:
        kind: a frozen dataclass; its fields are numbers, texts, truth values, literals, or unions of these.
        given: values by field; a number may be a text, as a command line gives it.
        model: its name, for messages.

    Raises:
        ConfigError: an unknown name, a value of another type, or one that the configuration refuses.
    """
    hints = get_type_hints(kind)
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    values = {}
    for name, value in given.items():
        if name not in known:
            hint = f"{suggestion(name, known)}; known: {', '.join(known)}"
            raise ConfigError(f"{model}: unknown setting {shown(name)}{hint}")
        read, expected = _read(hints[name], value)
        if read is _NOTHING:
            raise ConfigError(f"{model}: {name} is {shown(value)}; expected {expected}")
        values[name] = read
    return kind(**values)


def check_at_least(model: str, least: int, **values: int) -> None:
    """Passes where all values are `least` or more.

    Raises:
        ConfigError: one is not; names it.
    """
    for name, value in values.items():
        if value < least:
            raise ConfigError(f"{model}: {name} is {value}; expected {least} or more")


_NOTHING = object()


def _read(hint: Any, value: Any) -> tuple[Any, str]:
    """The value as the type wants it, or `_NOTHING`, and what was expected."""
    origin = get_origin(hint)
    if origin is Literal:
        choices = get_args(hint)
        return (value if value in choices else _NOTHING), " or ".join(f'"{each}"' for each in choices)
    if origin in (Union, UnionType):
        tried = [_read(each, value) for each in get_args(hint)]
        read = next((read for read, _ in tried if read is not _NOTHING), _NOTHING)
        return read, " or ".join(expected for _, expected in tried)
    expected = _NAMES[hint]
    if isinstance(value, str) and hint is not str:
        value = _from_text(hint, value)
    if hint is float and type(value) is int:
        value = float(value) if abs(value) < MOST else _NOTHING
    if type(value) is not hint:
        return _NOTHING, expected
    if (hint is float and not math.isfinite(value)) or (hint is int and abs(value) >= MOST):
        return _NOTHING, expected
    return value, expected


def _from_text(hint: Any, text: str) -> Any:
    """A number or truth value that a command line gives as text; the text as it is where it is none."""
    try:
        if hint in (int, float) and text.isascii() and "_" not in text:
            return hint(text)
    except ValueError:
        return text
    return {"true": True, "false": False}.get(text.lower(), text) if hint is bool else text
