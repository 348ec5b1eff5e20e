"""Predictions in, a file of them in `score`'s columns out; and what such a file says of itself."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import MAX_LINE, open_text, reading

NOT_TRAINED = "not trained on the splits"
"""The note in predictions of a model that only answered: its gaps are none of a train set's."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What the first row of a file of predictions says besides what `score` reads.

    Attributes:
        model: the model's name, in the column `model`; "" where there is none.
        note: what has to be said with every number made from it, in the column `note`; "" for nothing.
    """

    model: str = ""
    note: str = ""


def write_predictions(
    path: Path, rows: Iterable[Mapping[str, Any]], *, marked_by: str = "answer", inputs: Iterable[Path] = ()
) -> int:
    """Writes a JSON object a line, whole or not at all; gives how many.

    Args:
        path: of the file; one that is there is replaced if it is of the same kind.
        rows: of the file.
        marked_by: a key that rows of this kind of file have, and no others.
        inputs: files that the rows are made of.

    Raises:
        DatasetError: no place or no permission; an input, or a file of another kind, would be replaced.
    """
    _check_replaceable(path, marked_by, inputs)
    n = 0
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
            n += 1
    return n


def _check_replaceable(path: Path, marked_by: str, inputs: Iterable[Path]) -> None:
    if not os.path.lexists(path):
        return
    if any(each.exists() and each.samefile(path) for each in inputs):
        raise DatasetError(f"{path}: this command reads it; choose another --out")
    row: Any = None
    with suppress(DatasetError), reading(path, "JSON lines"), open_text(path) as file:
        first = file.readline(MAX_LINE)
        if not first:
            return
        row = parse_json(first, path)
    if not isinstance(row, dict) or not {"hop", "split", "question_index", marked_by} <= row.keys():
        raise DatasetError(f"{path}: there already, and not written by this command; choose another --out")


def read_origin(path: Path) -> Origin:
    """What a file of JSON lines says of itself; of Parquet, and of what cannot be read, nothing."""
    try:
        with path.open(encoding="utf-8") as file:
            row = parse_json(file.readline(MAX_LINE), path)
        return Origin(str(row.get("model") or ""), str(row.get("note") or ""))
    except (OSError, UnicodeDecodeError, DatasetError, AttributeError):
        return Origin()
