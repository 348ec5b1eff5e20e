"""Tables of plain values in, TOML out; Python reads TOML and does not write it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def toml(table: Mapping[str, Any]) -> str:
    """A table as TOML: texts, numbers, truth values, lists of these, and tables of all of them."""
    return "\n".join(_lines(table, "")) + "\n"


def value(each: Any) -> str:
    """A plain value as TOML has it."""
    if isinstance(each, list | tuple):
        return f"[{', '.join(map(value, each))}]"
    return json.dumps(each, ensure_ascii=False)


def _lines(table: Mapping[str, Any], name: str) -> Iterator[str]:
    if name:
        yield f"[{name}]"
    for key, each in table.items():
        if not isinstance(each, Mapping):
            yield f"{_key(key)} = {value(each)}"
    for key, each in table.items():
        if isinstance(each, Mapping):
            yield from _lines(each, f"{name}.{_key(key)}".lstrip("."))


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "").isalnum() and key.isascii()
    return key if plain else json.dumps(key)
