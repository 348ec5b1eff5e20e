"""TOML from any source, read within limits, and plain values written as TOML."""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from clevrhope.errors import MAX_SHOWN, ConfigError, shown
from clevrhope.runtime.reading import encoding_problem, read_bytes
from clevrhope.runtime.settings import Settings, read_settings

MAX_BYTES = 1 << 20
"""The most bytes of a file; the largest that comes with the package has four thousand."""

MAX_DEPTH = 50
"""The deepest nesting of tables and lists."""

_LONG_KEY = re.compile(
    rf"""(?<![\w.-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}"""
)
"""A key with too many parts; tomllib's time for a key grows with the square of its length."""


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Reads the table in a TOML file.

    Args:
        path: the path of the file.
        what: what it should be, to follow "not": "an experiment".

    Raises:
        ConfigError: the file is missing, unreadable, not a regular file, too large, not UTF-8, or broken
            TOML; or a value in it is nested too deeply or too large.
    """
    content = read_bytes(path, what, error=ConfigError, max_bytes=MAX_BYTES)
    try:
        return parse_toml(str(content, "utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise ConfigError(f"{path}: {encoding_problem(problem)}") from problem
    except ValueError as problem:
        raise ConfigError(f"{path}: broken TOML: {str(problem)[:MAX_SHOWN]}") from problem


def read_rows(kind: type[Settings], path: Path) -> dict[str, Settings]:
    """The rows of a table that comes with the package, by name, as frozen dataclasses with a `name`."""
    rows = read_toml(path, "a table of the package")
    return {name: read_settings(kind, {"name": name, **row}, where=path) for name, row in rows.items()}


def parse_toml(text: str) -> dict[str, Any]:
    """Parses a TOML text; raises ValueError if it is broken or exceeds the limits."""
    if _LONG_KEY.search(text):
        raise ValueError(f"a key of more than {MAX_DEPTH} parts")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise ValueError("a number of thousands of digits") from None
    _check_limits(table)
    return table


def toml_text(table: Mapping[str, Any]) -> str:
    """Writes a table of strings, numbers, booleans, dates, lists of these, and such tables as TOML."""
    return "\n".join(_lines(table, "")) + "\n"


def toml_value(each: Any) -> str:
    """A value as TOML, on one line."""
    if isinstance(each, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {toml_value(inside)}' for key, inside in each.items())}}}"
    if isinstance(each, list | tuple):
        return f"[{', '.join(map(toml_value, each))}]"
    if isinstance(each, datetime | date | time):
        return each.isoformat()
    if isinstance(each, float) and not math.isfinite(each):
        return str(each)
    return _text(each) if isinstance(each, str) else json.dumps(each)


def _check_limits(table: Mapping[str, Any]) -> None:
    level: list[tuple[str, Any]] = [("", table)]
    for _ in range(MAX_DEPTH + 1):
        level = [each for place, parent in level for each in _inside(place, parent)]
        if not level:
            return
    raise ValueError(f"nested more than {MAX_DEPTH} deep")


def _inside(place: str, parent: Any) -> Iterator[tuple[str, Any]]:
    """The values in a table or list, each checked, and with its place."""
    if isinstance(parent, Mapping):
        inside = [(f"{place}.{key}".lstrip("."), value) for key, value in parent.items()]
    elif isinstance(parent, list):
        inside = [(f"{place}[{k}]", value) for k, value in enumerate(parent)]
    else:
        return
    for where, value in inside:
        if "\0" in where or (isinstance(value, str) and "\0" in value):
            raise ValueError(f"{shown(where)} has a NUL character")
        if isinstance(value, int) and value.bit_length() > 64:
            raise ValueError(f"{shown(where)} is {shown(value)}; expected a number of 64 bits")
        yield where, value


def _lines(table: Mapping[str, Any], name: str) -> Iterator[str]:
    if name:
        yield f"[{name}]"
    for key, each in table.items():
        if not isinstance(each, Mapping):
            yield f"{_key(key)} = {toml_value(each)}"
    for key, each in table.items():
        if isinstance(each, Mapping):
            yield from _lines(each, f"{name}.{_key(key)}".lstrip("."))


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if plain else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
