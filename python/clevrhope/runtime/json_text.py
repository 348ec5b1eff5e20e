"""Reads JSON that anybody may have written, within limits of size, depth and digits."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clevrhope.errors import ClevrhopeError, DatasetError, shown
from clevrhope.runtime.reading import read_bytes

MAX_JSON_BYTES = 1 << 22
"""Bytes of a file that is read at once. Those that are written here have some thousands, manifests apart."""

MAX_DEPTH = 100
"""Objects and lists within each other. What is written here has six or seven."""

MAX_DIGITS = 40
"""Digits of a whole number; the largest that is written here, a seed, has twenty."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Refused(ValueError):
    """What the limits do not allow, in words that follow "broken JSON"."""


def read_json(
    path: Path,
    what: str = "JSON",
    *,
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
    max_bytes: int = MAX_JSON_BYTES,
) -> Any:
    """The value that a JSON file holds; arguments as of `read_bytes`.

    Raises:
        ClevrhopeError: of class `error`: as `read_bytes`, or broken JSON; names line and column.
    """
    content = read_bytes(path, what, error=error, remedy=remedy, max_bytes=max_bytes)
    return parse_json(content, path, error=error, remedy=remedy)


def read_object(
    path: Path,
    what: str,
    *,
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
    max_bytes: int = MAX_JSON_BYTES,
) -> dict[str, Any]:
    """The object that a JSON file holds; otherwise as `read_json`."""
    found = read_json(path, what, error=error, remedy=remedy, max_bytes=max_bytes)
    if not isinstance(found, dict):
        ending = f"; {remedy}" if remedy else ""
        raise error(f"{path}: not {what}: expected a JSON object, found {shown(found):.60}{ending}")
    return found


def parse_json(
    content: bytes | str,
    place: Path | str,
    *,
    line: int = 1,
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
) -> Any:
    """The value of a JSON text.

    Args:
        content: the text, in UTF-8 where it is bytes.
        place: names its file in messages.
        line: number of its first line in the file.
        error: the class that is raised.
        remedy: ends the sentence.

    Raises:
        ClevrhopeError: of class `error`: broken JSON, or more than the limits allow.
    """
    ending = f"; {remedy}" if remedy else ""
    try:
        text = content if isinstance(content, str) else str(content, "utf-8-sig")
        return decode(text)
    except UnicodeDecodeError as problem:
        raise error(f"{place}: not text in UTF-8{ending}") from problem
    except json.JSONDecodeError as problem:
        at = f"{place}:{line + problem.lineno - 1}:{problem.colno}"
        raise error(f"{at}: broken JSON ({problem.msg}){ending}") from problem
    except (_Refused, RecursionError) as problem:
        what = str(problem) if isinstance(problem, _Refused) else _TOO_DEEP
        raise error(f"{place}: broken JSON ({what}){ending}") from problem


def decode(text: str) -> Any:
    """The value of a JSON text, within the limits.

    Raises:
        ValueError: broken JSON, or more than the limits allow.
        RecursionError: nested far too deeply.
    """
    value = _DECODER.decode(text)
    check_limits(value, text)
    return value


def decode_at(text: str, place: int) -> tuple[Any, int]:
    """The value that begins at a place of a text, and the place after it; errors as `decode`."""
    value, end = _DECODER.raw_decode(text, place)
    check_limits(value, text, place, end)
    return value, end


def check_limits(value: Any, text: str, begin: int = 0, end: int | None = None) -> None:
    """Passes for a value that is within the limits which its text could exceed.

    Raises:
        ValueError: it is nested too deeply, or has half of a surrogate pair, which is no Unicode text.
    """
    end = len(text) if end is None else end
    if text.count("{", begin, end) + text.count("[", begin, end) > MAX_DEPTH:
        _check_depth(value)
    if _SURROGATE.search(text, begin, end):
        for each in _texts(value):
            try:
                each.encode()
            except UnicodeEncodeError:
                raise _Refused(f"half of a surrogate pair in {ascii(each)[:60]}") from None


def as_json_values(value: Any) -> Any:
    """What a value becomes when it is written as JSON and read again: tuples become lists, keys text."""
    return json.loads(json.dumps(value))


_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [each for parent in level for each in _children(parent)]
        if not level:
            return
    raise _Refused(_TOO_DEEP)


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        inside = value.values() if isinstance(value, dict) else value
        yield from (each for each in inside if isinstance(each, dict | list))


def _texts(value: Any) -> Iterator[str]:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            todo += [*each.keys(), *each.values()]
        elif isinstance(each, list):
            todo += each


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Refused(f"a number of {len(digits):,} digits")
    return int(digits)


def _no_number(name: str) -> float:
    raise _Refused(f"{name} is not a number in JSON")


def _real(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _Refused("a number too large for 64 bits")
    return value


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_real, parse_constant=_no_number)
