"""The Parquet files of a split, by their footers and in batches; errors name the file and the row."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clevrhope.errors import DatasetError, listed
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.reading import check_regular, reading

if TYPE_CHECKING:
    import pyarrow as pa

_PART = re.compile(r".+-(\d+)-of-(\d+)(?:-[0-9a-f]+)?")
"""The name of a file that is one of several."""

ROWS_AT_ONCE = 65_536
"""Numbers of a column that are read at a time."""


class ParquetFiles:
    """The files of a split, whose rows are read as they stand or, once sorted, by the numbers of a column.

    Attributes:
        paths: the files.
        types: the types of the columns of the first file, by name.
        metadata: what the first file says beside its columns.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Reads the footers, whose parsing takes longest, once.

        Raises:
            DatasetError: a file is not Parquet.
        """
        check_extra("Parquet files need", "pyarrow", "export")
        import pyarrow.parquet as pq

        self.paths = tuple(paths)
        self.metadata: Mapping[bytes, bytes] = {}
        self._columns: list[list[tuple[str, str]]] = []
        sizes = []
        for path in paths:
            with reading(path, "a Parquet file"):
                check_regular(path)
                footer = pq.read_metadata(path)
                # `footer.schema` would refer back to the footer, whose 20 MB then wait for a collection.
                schema = pq.ParquetSchema(footer).to_arrow_schema()
            self._columns.append([(each.name, str(each.type)) for each in schema])
            self.metadata = self.metadata or footer.metadata or {}
            sizes.append(footer.num_rows)
        self.types, self._ends = dict(self._columns[0]), np.cumsum(sizes)
        self._order: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return int(self._ends[-1])

    def check(self, wanted: Mapping[str, Sequence[str]]) -> None:
        """Checks the types of columns; integers may have any width.

        Args:
            wanted: column -> its types, the usual one first; "missing" if it need not be there.

        Raises:
            DatasetError: a column is missing, there twice or of another type; says what was found and
                expected.
        """
        for path, columns in zip(self.paths, self._columns, strict=True):
            types, names = dict(columns), [name for name, _ in columns]
            for name, kinds in wanted.items():
                found = types.get(name, "missing")
                is_wrong = _plain(found) not in map(_plain, kinds)
                if is_wrong or names.count(name) > 1:
                    what = f"is {found}; expected {kinds[0]}" if is_wrong else "is there twice"
                    there = ", ".join(f"{column} {kind}" for column, kind in columns)
                    raise DatasetError(f"{path}: column {name} {what}; it has {there}")

    def batches(self, names: Sequence[str], n_rows: int) -> "Iterator[tuple[int, pa.RecordBatch]]":
        """The number of the first row and the columns of some rows at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._order is not None:
            with reading(self.paths[0].parent, "a folder of Parquet files that can be read to their ends"):
                table = pa.concat_tables([pq.ParquetFile(path).read(columns=[*names]) for path in self.paths])
                batches = table.take(self._order).to_batches(n_rows)
            yield from zip(np.cumsum([0, *map(len, batches)]).tolist(), batches, strict=False)
            return
        first = 0
        for path in self.paths:
            with reading(path, "a Parquet file that can be read to its end"):
                for batch in pq.ParquetFile(path).iter_batches(n_rows, columns=[*names]):
                    yield first, batch
                    first += len(batch)

    def places(self, first: int, n: int) -> npt.NDArray[np.int64]:
        """(n, 3) the number of the file of each row from the first on, the row there, and -1."""
        rows = np.arange(first, first + n) if self._order is None else self._order[first : first + n]
        files = np.searchsorted(self._ends, rows, side="right")
        in_file = rows - np.append(0, self._ends)[files]
        return np.stack([files, in_file, np.full_like(in_file, -1)], axis=-1)

    def where(self, first: int) -> Callable[[int], str]:
        """What names the k-th row from this one on in messages."""

        def where(k: int) -> str:
            ((number, in_file, _),) = self.places(first + k, 1)
            return f"{self.paths[number]}: row {in_file}"

        return where

    def sort(self, name: str) -> npt.NDArray[np.int64]:
        """Sorts the rows by the numbers of a column; returns these, (rows,), in order.

        Raises:
            DatasetError: a number is missing, or there twice, as in files that were joined.
        """
        parts, self._order = [np.zeros(0, dtype=np.int64)], None
        for first, batch in self.batches([name], ROWS_AT_ONCE):
            if batch.column(name).null_count:
                row = batch.column(name).to_pylist().index(None)
                raise DatasetError(f"{self.where(first)(row)}: {name} is empty")
            parts.append(batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64))
        numbers = np.concatenate(parts)
        order = np.argsort(numbers, kind="stable")
        for row in order[1:][np.diff(numbers[order]) == 0].tolist():
            raise DatasetError(f"{self.where(row)(0)}: {name} {numbers[row]} is that of an earlier row, too")
        self._order = order if (np.diff(order) != 1).any() else None
        return numbers[order]


def check_parts(paths: Sequence[Path]) -> None:
    """Checks that all files of a split are there, each once, if their names say how many there are.

    Raises:
        DatasetError: one is missing, there are two of one part, or files of two exports.
    """
    found = [_PART.fullmatch(path.stem) for path in paths]
    parts = [(int(each[1]), int(each[2])) if each else (0, 1) for each in found]
    n = max(n for _, n in parts)
    missing = next((f"file {k} is missing; download it" for k in range(n) if (k, n) not in parts), "")
    if missing or len(parts) != n:
        wanted = f"files 0 to {n - 1} of {n} of the split, each once" if n > 1 else "one file of the split"
        remedy = missing or "remove the others"
        if any(other != n for _, other in parts):
            wanted, remedy = "the files of one export", "remove those of the others"
        raise DatasetError(f"{listed(paths, most=4)}: expected {wanted}; {remedy}")


def _plain(kind: str) -> str:
    return re.sub(r"u?int\d+", "int", kind.replace("large_", "").replace("item:", "element:"))
