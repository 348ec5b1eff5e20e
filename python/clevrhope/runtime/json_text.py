"""JSON from any source, read within limits on size, depth and digits."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clevrhope.errors import ClevrhopeError, DatasetError, shown
from clevrhope.runtime.reading import encoding_problem, read_bytes

MAX_JSON_BYTES = 1 << 22
"""The most bytes of a file that is read at once. The project's own files have thousands, except manifests."""

MAX_DEPTH = 100
"""The deepest nesting of objects and lists. The project's own files have six or seven levels."""

MAX_DIGITS = 40
"""The most digits of a whole number; the largest in the project's own files, a seed, has twenty."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


class _LimitError(ValueError):
    """JSON beyond the limits, or with a key twice; its message follows "broken JSON"."""


def read_json(
    path: Path,
    what: str = "JSON",
    *,
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
    max_bytes: int = MAX_JSON_BYTES,
) -> Any:
    """Reads the value in a JSON file; arguments as for `read_bytes`.

    Raises:
        ClevrhopeError: of class `error`: as for `read_bytes`, or the JSON is broken; names line and column.
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
    """Reads the object in a JSON file; otherwise as `read_json`."""
    found = read_json(path, what, error=error, remedy=remedy, max_bytes=max_bytes)
    if not isinstance(found, dict):
        ending = f"; {remedy}" if remedy else ""
        raise error(f"{path}: not {what}: expected a JSON object, found {shown(found):.60}{ending}")
    return found


def parse_json(
    content: bytes | str,
    place: Path | str,
    *,
    line: int | None = None,
    error: type[ClevrhopeError] = DatasetError,
    remedy: str = "",
) -> Any:
    """Parses a JSON text.

    Args:
        content: the text; bytes are UTF-8.
        place: names the file in messages.
        line: number of the text's first line in the file; None if the text is the whole file.
        error: the class that is raised.
        remedy: ends the sentence.

    Raises:
        ClevrhopeError: of class `error`: the JSON is broken, has a key twice or exceeds the limits.
    """
    ending = f"; {remedy}" if remedy else ""
    at = str(place) if line is None else f"{place}:{line}"
    try:
        text = content if isinstance(content, str) else str(content, "utf-8-sig")
        return decode(text)
    except UnicodeDecodeError as problem:
        raise error(f"{at}: {encoding_problem(problem)}{ending}") from problem
    except json.JSONDecodeError as problem:
        at = f"{place}:{(line or 1) + problem.lineno - 1}:{problem.colno}"
        raise error(f"{at}: broken JSON ({problem.msg}){ending}") from problem
    except (_LimitError, RecursionError) as problem:
        what = str(problem) if isinstance(problem, _LimitError) else _TOO_DEEP
        raise error(f"{at}: broken JSON ({what}){ending}") from problem


def decode(text: str) -> Any:
    """Parses a JSON text within the limits.

    Raises:
        ValueError: the JSON is broken, has a key twice or exceeds the limits.
        RecursionError: the nesting is far too deep.
    """
    value = _DECODER.decode(text)
    check_limits(value, text)
    return value


def decode_at(text: str, place: int) -> tuple[Any, int]:
    """The value that begins at a position in a text, and the position after it; errors as for `decode`."""
    value, end = _DECODER.raw_decode(text, place)
    check_limits(value, text, place, end)
    return value, end


def check_limits(value: Any, text: str, begin: int = 0, end: int | None = None) -> None:
    """Checks that a value is within the limits that its text could exceed.

    Raises:
        ValueError: it is nested too deeply, or contains half of a surrogate pair, which is not valid Unicode.
    """
    end = len(text) if end is None else end
    if text.count("{", begin, end) + text.count("[", begin, end) > MAX_DEPTH:
        level = [value]
        for _ in range(MAX_DEPTH):
            level = [each for parent in level for each in _children(parent)]
        if level:
            raise _LimitError(_TOO_DEEP)
    if _SURROGATE.search(text, begin, end):
        for each in _texts(value):
            try:
                each.encode()
            except UnicodeEncodeError:
                raise _LimitError(f"half of a surrogate pair in {ascii(each)[:60]}") from None


def as_json_values(value: Any) -> Any:
    """The value after a round trip through JSON: tuples become lists, and keys strings."""
    return json.loads(json.dumps(value))


def json_bytes(content: object, what: str, *, error: type[ClevrhopeError]) -> bytes:
    """Encodes a value from json.load as JSON; for other values raises `error`, with `what` in the message."""
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise error(f"{what}: not what json.load gives ({shown(str(problem))[1:-1]})") from problem


def _children(value: Any) -> Iterator[Any]:
    """The objects and lists directly within a value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (each for each in inside if isinstance(each, dict | list))


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
        raise _LimitError(f"a number of {len(digits):,} digits")
    return int(digits)


def _constant(name: str) -> float:
    raise _LimitError(f"{name} is not a number in JSON")


def _real(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _LimitError("a number too large for 64 bits")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of keys and values, each of which is there once: readers differ in which one they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = Counter(key for key, _ in pairs)
        twice = next(key for key, n in keys.items() if n > 1)
        raise _LimitError(f"{shown(twice)} appears twice in one object")
    return found


_DECODER = json.JSONDecoder(
    parse_int=_integer, parse_float=_real, parse_constant=_constant, object_pairs_hook=_object
)
