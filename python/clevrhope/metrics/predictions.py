"""Reads and writes files of predictions; docs/predictions.md says what a row may hold."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from clevrhope.errors import DatasetError, PredictionsError
from clevrhope.metrics.official_predictions import is_official, read_official
from clevrhope.metrics.rows import OPTIONAL, REQUIRED, Block, Indices, Rows, shortened
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.json_text import decode, parse_json
from clevrhope.runtime.reading import MAX_LINE, check_regular, numbered_lines, open_text, reading, reason
from clevrhope.splits.covr.kinds import is_covr
from clevrhope.splits.kinds import OOD

ROWS_A_BLOCK = 50_000
"""Rows held in memory at once, however long the file is."""

_PARQUET_MAGIC = b"PAR1"

_MAX_GROUP_BYTES = 1 << 28
"""Limit on the unpacked bytes of a row group's columns; pyarrow's own groups have a million rows."""

_MARK = '"question_index": '
"""The text before the number, which is often the only difference between a file's lines."""

_PLAIN_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
"""A number that needs no parser; longer ones are parsed as JSON."""

_MOST_SHAPES = 5_000
"""Number of line shapes to cache: a file has one for each test set and answer, or a new one in each line."""


def read_predictions(path: Path) -> Iterator[Block]:
    """The rows of a JSON lines or Parquet file, which the first bytes tell apart, or of official predictions.

    Raises:
        PredictionsError: the file or a column is missing, a row is malformed, or pyarrow is not installed
            and the file is Parquet.
    """
    with reading(path, "JSON lines in UTF-8 or Parquet", error=PredictionsError):
        check_regular(path, error=PredictionsError)
        with path.open("rb") as file:
            is_parquet = file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
        if is_official(path):
            yield read_official(path)
        elif is_parquet:
            yield from _read_parquet(path)
        else:
            with open_text(path, error=PredictionsError) as text:
                lines = numbered_lines(path, text)
                while block := list(islice(lines, ROWS_A_BLOCK)):
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
            is_plain = _PLAIN_INDEX.fullmatch(index)
            if shape is not None and is_plain:
                rows.repeat(number, int(index), *shape)
            elif not line.isspace():
                shape = rows.add(number, decode(line))
                if len(shapes) < _MOST_SHAPES and is_plain and _is_shape(before, behind):
                    shapes[before, behind] = shape
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        _explain(path, number, line)
    return rows.block()


def _is_shape(before: str, behind: str) -> bool:
    """Whether a number between these parts of a line is its question index, and affects nothing else.

    It is not if it belongs to a nested object, or if the line repeats the key after it.
    """
    return [json.loads(f"{before}{_MARK}{number},{behind}")["question_index"] for number in (0, 1)] == [0, 1]


def _explain(path: Path, number: int, line: str) -> NoReturn:
    """Raises an error that says what is wrong with a line that could not be read."""
    where = f"{path}:{number}"
    example = json.dumps({"hop": "rubber_cylinder", "split": OOD, "question_index": 0, "answer": "yes"})
    try:
        row = decode(line)
    except (ValueError, RecursionError) as error:
        what = "nested too deep" if isinstance(error, RecursionError) else str(error)
        if isinstance(error, json.JSONDecodeError):
            what = f"column {error.colno}: {error.msg}"
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
            is_whole = pa.types.is_integer(schema.field("question_index").type)
            first = 0
            for batch in file.iter_batches(batch_size=ROWS_A_BLOCK, columns=columns):
                if len(batch):
                    rows, index = Rows(path, " row "), batch.column("question_index")
                    distinct = {
                        name: _distinct(batch.column(name)) for name in columns if name != "question_index"
                    }
                    is_plain = is_whole and not index.null_count
                    rows.set_columns(
                        first, distinct, index.to_numpy().tolist() if is_plain else index.to_pylist()
                    )
                    yield rows.block()
                first += len(batch)
    except pa.ArrowException as error:
        raise PredictionsError(f"{path}: not a complete Parquet file ({reason(error)})") from error


def _distinct(column: Any) -> tuple[list[Any], Indices]:
    """The distinct values of an Arrow column and None, and (n,) the index of each row's value."""
    if str(column.type) == "halffloat":  # which Arrow cannot encode
        column = column.cast("float32")
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    values = [*encoded.dictionary.to_pylist(), None]
    index: Indices = encoded.indices.cast("int64").fill_null(len(values) - 1).to_numpy()
    return values, index


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


def said_of_all(path: Path, name: str) -> str:
    """What a column of the first row says of all predictions, such as `model` or `note`; "" for nothing."""
    return str(first_row(path).get(name) or "")


def first_row(path: Path, *, suite: str | None = None) -> dict[str, Any]:
    """The first row of a JSON lines file, or the first one about a suite; empty where it cannot be read."""
    mark = "" if suite is None else f'"suite": {json.dumps(suite)}'
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = next((line for line in iter(lambda: file.readline(MAX_LINE), "") if mark in line), "")
        row = parse_json(first, path)
    except (OSError, UnicodeDecodeError, DatasetError):
        return {}
    return row if isinstance(row, dict) else {}


_SUPPORTS = {
    "message": "in one message with the question",
    "turns": "in turns before the question",
    "list": "as a list of images",
}
"""How the support of an episode was given, by what requests call it."""


def notes_of(files: Iterable[Path], *, suite: str | None = None) -> tuple[str, ...]:
    """The distinct notes of files, or of their rows about a suite, with what the model was asked."""
    notes: dict[str, None] = {}
    for file in files:
        row = first_row(file, suite=suite)
        if row.get("note"):
            notes[str(row["note"])] = None
        if row.get("instruction"):
            notes[f"asked with the instruction {row['instruction']}"] = None
        if row.get("support"):
            notes[f"asked with the support {_SUPPORTS.get(row['support'], row['support'])}"] = None
        if row.get("jpeg"):
            notes[f"about images as JPEG of quality {row['jpeg']}"] = None
    return tuple(notes)
