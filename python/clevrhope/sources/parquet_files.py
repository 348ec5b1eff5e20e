"""Reading of Parquet files by their footers and in batches, with errors that name the file and the row."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clevrhope.errors import DatasetError
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.reading import check_regular, reading

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def read_footer(path: Path) -> "pq.FileMetaData":
    """The columns of a file, its number of rows, and its metadata.

    Raises:
        DatasetError: the file is not Parquet.
    """
    check_extra("Parquet files need", "pyarrow", "export")
    import pyarrow.parquet as pq

    with reading(path, "a Parquet file"):
        check_regular(path)
        return pq.read_metadata(path)


def check_columns(
    path: Path,
    footer: "pq.FileMetaData",
    wanted: Mapping[str, str | Sequence[str]],
    optional: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, str]:
    """Checks the types of columns; returns the types of all, by name. Integers may have any width.

    Args:
        path: the file.
        footer: its footer.
        wanted: column that must be there -> its type, or several of which it has one.
        optional: column that may be there -> its types.

    Raises:
        DatasetError: a column is missing, there twice or of another type; says what was found and expected.
    """
    fields = list(footer.schema.to_arrow_schema())
    types = {field.name: str(field.type) for field in fields}
    there = ", ".join(f"{field.name} {field.type}" for field in fields)
    known = {name: kinds for name, kinds in (optional or {}).items() if name in types}
    for name, kinds in {**wanted, **known}.items():
        found = types.get(name, "missing")
        of = [kinds] if isinstance(kinds, str) else kinds
        if _plain(found) not in map(_plain, of):
            raise DatasetError(f"{path}: column {name} is {found}; expected {of[0]}; it has {there}")
        if sum(field.name == name for field in fields) > 1:
            raise DatasetError(f"{path}: column {name} is there twice; it has {there}")
    return types


def _plain(kind: str) -> str:
    return re.sub(r"u?int\d+", "int", kind.replace("large_", "").replace("item:", "element:"))


def batches(path: Path, names: Sequence[str], n_rows: int) -> "Iterator[tuple[int, pa.RecordBatch]]":
    """The number of the first row and the columns of `n_rows` rows at a time."""
    import pyarrow.parquet as pq

    first = 0
    with reading(path, "a Parquet file that can be read to its end"):
        for batch in pq.ParquetFile(path).iter_batches(n_rows, columns=[*names]):
            yield first, batch
            first += len(batch)


def row_of(path: Path, first: int) -> Callable[[int], str]:
    """Names the rows from `first` on in messages."""
    return lambda k: f"{path}: row {first + k}"
