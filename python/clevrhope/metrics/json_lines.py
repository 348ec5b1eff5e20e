"""Reads predictions from lines of JSON."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NoReturn, TextIO

from clevrhope.errors import PredictionsError
from clevrhope.metrics.rows import OPTIONAL, REQUIRED, Block, Rows, shortened
from clevrhope.runtime.json_text import decode
from clevrhope.runtime.reading import numbered_lines
from clevrhope.splits.kinds import OOD

_MARK = '"question_index": '
"""The text before the number, which is often the only difference between a file's lines."""

_LONGEST_INDEX = 18
"""Number of digits; longer numbers are parsed as JSON."""

_MOST_SHAPES = 5_000
"""Number of line shapes to cache: a file has one for each test set and answer, or a new one in each line."""


def read_lines(path: Path, file: TextIO, *, rows_a_block: int) -> Iterator[Block]:
    """The rows of an open file; raises as `read_predictions` does."""
    lines = numbered_lines(path, file)
    while block := list(islice(lines, rows_a_block)):
        yield _block_of_lines(path, block)


def _block_of_lines(path: Path, lines: Sequence[tuple[int, str]]) -> Block:
    """Parses lines; of those that differ only in the question's index, it parses just one as JSON.

    The loop takes most of the time, so it is minimal; `_explain` finds out what is wrong with a line.
    """
    rows = Rows(path, ":")
    shapes: dict[tuple[str, str], tuple[int, int]] = {}
    number, line = 0, ""
    try:
        for number, line in lines:
            before, _, rest = line.partition(_MARK)
            index, _, behind = rest.partition(",")
            shape = shapes.get((before, behind))
            if shape is not None and _is_plain_index(index):
                rows.repeat(number, int(index), *shape)
            elif not line.isspace():
                shape = rows.add(number, decode(line))
                if len(shapes) < _MOST_SHAPES and _is_shape(before, index, behind):
                    shapes[before, behind] = shape
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _explain(path, number, line)
    return rows.block()


def _is_plain_index(text: str) -> bool:
    """Whether a text is a non-negative integer in JSON's notation."""
    return (
        text.isdecimal()
        and text.isascii()
        and len(text) <= _LONGEST_INDEX
        and (text[0] != "0" or len(text) == 1)
    )


def _is_shape(before: str, index: str, behind: str) -> bool:
    """Whether the number between these parts of a line is its question index, and affects nothing else.

    It is not if it belongs to a nested object, or if the line repeats the key after it.
    """
    if not _is_plain_index(index):
        return False
    read = [json.loads(f"{before}{_MARK}{number},{behind}")["question_index"] for number in (0, 1)]
    return read == [0, 1] and all(type(each) is int for each in read)


def _explain(path: Path, number: int, line: str) -> NoReturn:
    """Raises an error that says what is wrong with a line that could not be read."""
    where = f"{path}:{number}"
    example = json.dumps({"hop": "rubber_cylinder", "split": OOD, "question_index": 0, "answer": "yes"})
    try:
        row = decode(line)
    except (ValueError, RecursionError) as error:
        if number == 1 and line.lstrip().startswith("["):
            raise PredictionsError(
                f"{where}: a JSON list; write one object per line, such as {example}"
            ) from error
        what = f"column {error.colno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise PredictionsError(
            f"{where}: the line is not one JSON object ({what}); expected {example}"
        ) from error
    if not isinstance(row, dict):
        raise PredictionsError(f"{where}: {shortened(row)} is not a JSON object; expected {example}")
    missing = [name for name in REQUIRED if name not in row]
    if missing:
        raise PredictionsError(f'{where}: no "{missing[0]}"; expected {example}')
    name, value = next(
        (name, row[name]) for name in (*REQUIRED, *OPTIONAL) if isinstance(row.get(name), list | dict)
    )
    raise PredictionsError(f'{where}: "{name}" is {shortened(value)}, not a plain value; expected {example}')
