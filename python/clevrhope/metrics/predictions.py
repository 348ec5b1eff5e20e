"""Reads and writes files of predictions; docs/predictions.md says what a row may hold."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from clevrhope.errors import DatasetError, PredictionsError
from clevrhope.metrics.json_lines import read_lines
from clevrhope.metrics.rows import OPTIONAL, REQUIRED, Block, Rows
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.json_text import parse_json
from clevrhope.runtime.reading import MAX_LINE, check_regular, open_text, reading, reason
from clevrhope.splits.covr.kinds import is_covr

ROWS_A_BLOCK = 50_000
"""Rows held in memory at once, however long the file is."""

_PARQUET_MAGIC = b"PAR1"

_MAX_GROUP_BYTES = 1 << 28
"""Limit on the unpacked bytes of a row group's columns; pyarrow's own groups have a million rows."""

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
            yield from _read_parquet(path)
        else:
            with path.open(encoding="utf-8") as text:
                yield from read_lines(path, text, rows_a_block=ROWS_A_BLOCK)


def _read_parquet(path: Path) -> Iterator[Block]:
    """The rows of a Parquet file; pyarrow is imported only if there is one."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise PredictionsError(
            f"{path}: reading Parquet needs pyarrow: pip install 'clevrhope[export]', or give JSON lines"
        ) from error
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            missing = [name for name in REQUIRED if name not in schema.names]
            if missing:
                raise PredictionsError(
                    f'{path}: no column "{missing[0]}" (there are: {", ".join(schema.names)}); '
                    f"expected {', '.join(REQUIRED)}"
                )
            columns = [name for name in (*REQUIRED, *OPTIONAL) if name in schema.names]
            for name in columns:
                kind = schema.field(name).type
                if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
                    raise PredictionsError(f'{path} row 0: column "{name}" holds {kind}, not plain values')
            _check_size(path, file.metadata, columns)
            numbers = count()
            for batch in file.iter_batches(batch_size=ROWS_A_BLOCK, columns=columns):
                rows = Rows(path, " row ")
                for row in batch.to_pylist():
                    rows.add(next(numbers), row)
                if len(batch):
                    yield rows.block()
    except pa.ArrowException as error:
        raise PredictionsError(f"{path}: not a complete Parquet file ({reason(error)})") from error


def _check_size(path: Path, metadata: Any, columns: Sequence[str]) -> None:
    """Checks that no row group needs too much memory.

    Raises:
        PredictionsError: a row group does.
    """
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        parts = (group.column(k) for k in range(group.num_columns))
        n_bytes = sum(each.total_uncompressed_size for each in parts if each.path_in_schema in columns)
        # Dictionary and run-length encoding store a value once for many rows, but each row needs an index.
        if n_bytes + 16 * group.num_rows > _MAX_GROUP_BYTES:
            raise PredictionsError(
                f"{path}: row group {number} has {group.num_rows:,} rows of {n_bytes:,} bytes, too many to "
                "read at once; write smaller row groups"
            )


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
