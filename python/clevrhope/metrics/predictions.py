"""Reads and writes files of predictions; docs/predictions.md says what a row may hold."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clevrhope.errors import DatasetError, PredictionsError
from clevrhope.metrics.json_lines import read_lines
from clevrhope.metrics.parquet import read_parquet
from clevrhope.metrics.rows import Block
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import MAX_LINE, check_regular, open_text, reading
from clevrhope.splits.covr.kinds import is_covr

ROWS_A_BLOCK = 50_000
"""Rows held in memory at once, however long the file is."""

_PARQUET_MAGIC = b"PAR1"

NOT_TRAINED = "not trained on the splits"
"""The note in predictions of a model that was not trained on a split: its gaps say nothing about one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a file's predictions come from, according to two columns of its first row.

    Attributes:
        model: the model's name, or "".
        note: a note to print beside every number made from the predictions, or "".
    """

    model: str = ""
    note: str = ""


def read_predictions(path: Path) -> Iterator[Block]:
    """The rows of a JSON lines or Parquet file; the first bytes tell the two formats apart.

    Raises:
        PredictionsError: the file or a column is missing, a row is malformed, or pyarrow is not installed
            and the file is Parquet.
    """
    with reading(path, "JSON lines in UTF-8 or Parquet", error=PredictionsError):
        check_regular(path, error=PredictionsError)
        with path.open("rb") as file:
            is_parquet = file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
        if is_parquet:
            yield from read_parquet(path, rows_a_block=ROWS_A_BLOCK)
        else:
            with path.open(encoding="utf-8") as text:
                yield from read_lines(path, text, rows_a_block=ROWS_A_BLOCK)


def write_predictions(
    path: Path, rows: Iterable[Mapping[str, Any]], *, marked_by: str = "answer", inputs: Iterable[Path] = ()
) -> int:
    """Writes one JSON object per line and returns the number of rows; an error leaves no partial file.

    Args:
        path: the file; an existing file is replaced if it is of the same kind.
        rows: its rows.
        marked_by: a key that only rows of this kind of file have.
        inputs: files from which the rows are made.

    Raises:
        DatasetError: the disk is full or not writable, or the file would replace an input or a file of
            another kind.
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
        raise DatasetError(f"{path}: it exists, but this command did not write it; choose another --out")


def is_about_sets(path: Path) -> bool:
    """Whether a file's first prediction is about a set of images; False if it cannot be read.

    Such a file is left to `read_predictions`, whose errors are more specific.
    """
    try:
        return next((is_covr(block.targets[0].split) for block in read_predictions(path)), False)
    except PredictionsError:
        return False


def read_origin(path: Path, *, suite: str | None = None) -> Origin:
    """The origin of a JSON lines file; an empty one for Parquet, or for a file that cannot be read.

    With a suite, it comes from the first row about the suite, which may have notes of its own.
    """
    row = first_row(path, suite=suite)
    return Origin(str(row.get("model") or ""), str(row.get("note") or ""))


def first_row(path: Path, *, suite: str | None = None) -> dict[str, Any]:
    """The first row of a JSON lines file, or the first one about a suite; empty where it cannot be read."""
    mark = "" if suite is None else f'"suite": {json.dumps(suite)}'
    try:
        with path.open(encoding="utf-8") as file:
            first = next((line for line in iter(lambda: file.readline(MAX_LINE), "") if mark in line), "")
        row = parse_json(first, path)
    except (OSError, UnicodeDecodeError, DatasetError):
        return {}
    return row if isinstance(row, dict) else {}
