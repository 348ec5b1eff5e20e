"""The Parquet files of a split, by their footers and in batches; errors name the file and the row."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clevrhope.errors import DatasetError
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.reading import check_regular, reading

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_PART = re.compile(r".+-(\d+)-of-(\d+)(?:-[0-9a-f]+)?")
"""The name of a file that is one of several."""

Order = npt.NDArray[np.int64]


class ParquetFiles:
    """The files of a split, whose rows are numbered through.

    Attributes:
        paths: the files.
        n_rows: number of rows of each.
        types: the types of the columns of the first file, by name.
        metadata: what the first file says beside its columns.
        range: the least and the largest number in the column `numbered`; empty if footers do not say them.
        first: the first row, of which only the column `shown` is read.
    """

    def __init__(self, paths: Sequence[Path], numbered: str = "", shown: str = "") -> None:
        """Reads the footers, whose parsing takes longest, once.

        Raises:
            DatasetError: a file is not Parquet.
        """
        check_extra("Parquet files need", "pyarrow", "export")
        import pyarrow.parquet as pq

        self.paths = tuple(paths)
        self.metadata: Mapping[bytes, bytes] = {}
        self._columns: list[list[tuple[str, str]]] = []
        self.range: list[int] = []
        self.first: dict[str, Any] = {}
        sizes = []
        for path in paths:
            with reading(path, "a Parquet file"):
                check_regular(path)
                file = pq.ParquetFile(path)
                footer = file.metadata
                # `footer.schema` would refer back to the footer, whose 20 MB then wait for a collection.
                schema = pq.ParquetSchema(footer).to_arrow_schema()
                self._columns.append([(each.name, str(each.type)) for each in schema])
                if shown and path is paths[0] and footer.num_rows:
                    self.first = (file.read_row_group(0, columns=[shown]).to_pylist() or [{}])[0]
            self.metadata = self.metadata or footer.metadata or {}
            sizes.append(footer.num_rows)
            numbers = [*self.range, *_numbers_said(footer, numbered)]
            self.range = [min(numbers), max(numbers)] if numbers else []
            file.close()
        self.n_rows, self.types = tuple(sizes), dict(self._columns[0])
        self._ends = np.cumsum(sizes)

    def __len__(self) -> int:
        return sum(self.n_rows)

    def check(
        self, wanted: Mapping[str, Sequence[str]], optional: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Checks the types of columns; integers may have any width.

        Args:
            wanted: column that must be there -> its types, the usual one first.
            optional: column that may be there -> its types.

        Raises:
            DatasetError: a column is missing, there twice or of another type; says what was found and
                expected.
        """
        for path, columns in zip(self.paths, self._columns, strict=True):
            types = dict(columns)
            known = {name: kinds for name, kinds in (optional or {}).items() if name in types}
            for name, kinds in {**wanted, **known}.items():
                what = ""
                if _plain(types.get(name, "missing")) not in map(_plain, kinds):
                    what = f"is {types.get(name, 'missing')}; expected {kinds[0]}"
                elif [column for column, _ in columns].count(name) > 1:
                    what = "is there twice"
                if what:
                    there = ", ".join(f"{column} {kind}" for column, kind in columns)
                    raise DatasetError(f"{path}: column {name} {what}; it has {there}")

    def batches(
        self, names: Sequence[str], n_rows: int, order: Order | None = None
    ) -> "Iterator[tuple[int, pa.RecordBatch]]":
        """The number of the first row and the columns of some rows at a time, in this order of all rows."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if order is not None:
            with reading(self.paths[0].parent, "a folder of Parquet files that can be read to their ends"):
                table = pa.concat_tables([pq.ParquetFile(path).read(columns=[*names]) for path in self.paths])
                batches = table.take(order).to_batches(n_rows)
            yield from zip(np.cumsum([0, *map(len, batches)]).tolist(), batches, strict=False)
            return
        first = 0
        for path in self.paths:
            with reading(path, "a Parquet file that can be read to its end"):
                for batch in pq.ParquetFile(path).iter_batches(n_rows, columns=[*names]):
                    yield first, batch
                    first += len(batch)

    def places(self, rows: Any) -> npt.NDArray[np.int64]:
        """(N, 2) the number of the file of each row (N,), and the row there."""
        files = np.searchsorted(self._ends, rows, side="right")
        return np.stack([files, rows - (self._ends - self.n_rows)[files]], axis=-1)

    def where(self, row: int) -> str:
        """Names a row in messages."""
        number, in_file = self.places(row).tolist()
        return f"{self.paths[number]}: row {in_file}"

    def where_from(self, first: int, order: Order | None = None) -> Callable[[int], str]:
        """Names the rows from `first` on, in this order."""
        return lambda k: self.where(first + k if order is None else order[first + k])

    def numbers(self, name: str, n_rows: int) -> npt.NDArray[np.int64]:
        """(rows,) the numbers of a column, which is read `n_rows` rows at a time.

        Raises:
            DatasetError: a number is missing, or there twice, as in files that were joined.
        """
        parts = []
        for first, batch in self.batches([name], n_rows):
            if batch.column(name).null_count:
                row = batch.column(name).to_pylist().index(None)
                raise DatasetError(f"{self.where(first + row)}: {name} is empty")
            parts.append(batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64))
        numbers: npt.NDArray[np.int64] = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        order = np.argsort(numbers, kind="stable")
        for row in order[1:][np.diff(numbers[order]) == 0].tolist():
            raise DatasetError(f"{self.where(row)}: {name} {numbers[row]} is that of an earlier row, too")
        return numbers


def order_of(numbers: npt.NDArray[np.int64]) -> Order | None:
    """The places of different numbers (N,), the least first; None if that is their order."""
    return None if (np.diff(numbers) > 0).all() else np.argsort(numbers)


def check_parts(paths: Sequence[Path]) -> None:
    """Checks that all files of a split are there, if their names say how many there are.

    Raises:
        DatasetError: one is missing, or there are two of one part.
    """
    parts: dict[int, Path] = {}
    most = 0
    for path in paths:
        found = _PART.fullmatch(path.stem)
        number, n_parts = (int(found[1]), int(found[2])) if found else (0, 1)
        if parts.setdefault(number, path) != path:
            raise DatasetError(f"{path}: another file is of the same part of the split; remove one")
        most = most or n_parts
        if n_parts != most:
            raise DatasetError(
                f"{path}: one of {n_parts} files, but {paths[0].name} is one of {most}; remove those of "
                "another export"
            )
    for number in range(most):
        if number not in parts:
            raise DatasetError(
                f"{paths[0].parent}: file {number} of {most} is missing beside {paths[0].name}"
            )


def _numbers_said(footer: "pq.FileMetaData", name: str) -> list[int]:
    """The least and largest numbers of a column, as far as a footer says them.

    Of thousands of row groups, the first and the last are enough if they have the numbers of all rows.
    """
    if not name or not footer.num_row_groups:
        return []
    group = footer.row_group(0)
    paths = [group.column(k).path_in_schema for k in range(group.num_columns)]
    if name not in paths:
        return []

    def said(groups: Iterable[int]) -> list[int]:
        columns = (footer.row_group(k).column(paths.index(name)) for k in groups)
        found = [each.statistics for each in columns if each.is_stats_set and each.statistics.has_min_max]
        return [number for each in found for number in (each.min, each.max) if isinstance(number, int)]

    ends = said((0, footer.num_row_groups - 1))
    is_all = ends and [min(ends), max(ends)] == [0, footer.num_rows - 1]
    return ends if is_all else said(range(footer.num_row_groups))


def _plain(kind: str) -> str:
    return re.sub(r"u?int\d+", "int", kind.replace("large_", "").replace("item:", "element:"))
