"""A file of predictions in, blocks of rows as arrays out; what a row may hold is in docs/predictions.md."""

from collections.abc import Iterator
from pathlib import Path

from clevrhope.errors import PredictionsError
from clevrhope.metrics.json_lines import read_lines
from clevrhope.metrics.parquet import read_parquet
from clevrhope.metrics.rows import Block
from clevrhope.runtime.reading import check_regular, reading

ROWS_A_BLOCK = 50_000
"""Rows in memory at once, however long a file is."""

_PARQUET_MAGIC = b"PAR1"


def read_predictions(path: Path) -> Iterator[Block]:
    """The rows of a JSON lines or Parquet file; which of the two it is, its first bytes say.

    Raises:
        PredictionsError: no such file, a row that is none, a column missing, or Parquet without pyarrow.
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
