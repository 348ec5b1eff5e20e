"""The official data in Parquet: columns idx, query, answer (string) and image (a struct with bytes).

Programs and scenes are not there. Which rows share an image is said only if `image.path` is filled.
"""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrhope.dataset.source_images import ImageRecord
from clevrhope.errors import DatasetError
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.reading import check_regular, reading
from clevrhope.sources.official.names import POOLS, OfficialFile, places_of
from clevrhope.sources.source import Columns, Numbering, SourceSplit
from clevrhope.splits.hops import paper_hops
from clevrhope.splits.kinds import MINIMAL_OOD

if TYPE_CHECKING:
    import pyarrow.parquet as pq

NEEDED = ("query", "answer")
"""The columns that a file must have."""

EXPECTED = {
    **dict.fromkeys(NEEDED, ("string",)),
    "idx": ("int64", "int32", "int16", "uint8", "uint16", "uint32", "uint64", "int8"),
    "image": (
        "struct<bytes: binary, path: string>",
        "struct<path: string, bytes: binary>",
        "struct<bytes: binary>",
        "binary",
    ),
}
"""Column -> its types, the usual one first."""

ROWS_AT_ONCE = 65_536

GROUP = 4
"""Images of a group of a minimal out-of-distribution set: the match, one value changed, the other, both."""


def parquet_split(files: Sequence[OfficialFile]) -> SourceSplit:
    """The split in these files, which are of one pair and split, in order.

    Raises:
        DatasetError: a file is not Parquet, or has other columns; says what was found and expected.
    """
    shards = _Shards(files)
    first = files[0]
    pool = f"{POOLS.get(first.split, first.split)}_{first.hop}"
    n = sum(shards.rows)
    unit = 0
    if first.split == MINIMAL_OOD and not shards.has_names and n % shards.n_places == 0:
        unit = n // shards.n_places
    notes = [first.note, "" if shards.has_names else "no column says which rows share an image: one each"]
    return SourceSplit(
        first.hop,
        first.split,
        pool,
        n,
        first.path,
        shards.blocks,
        images=shards.images,
        note="; ".join(note for note in notes if note),
        unit=unit,
    )


@dataclass
class _Shards:
    """The shards of a split, opened one after another."""

    files: Sequence[OfficialFile]
    rows: tuple[int, ...] = ()
    has_names: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)
    """Name of an image -> its number, in the order in which they occur."""
    _first_rows: list[int] = field(default_factory=list)
    """The first row that shows each of these."""

    def __post_init__(self) -> None:
        rows = []
        for file in self.files:
            about = _metadata(file)
            schema = about.schema.to_arrow_schema()
            found = _checked_columns(file, schema)
            self.has_images = "image" in found
            self.has_numbers = "idx" in found
            rows.append(about.num_rows)
            if file is self.files[0]:
                self.has_names = _has_names(file, about)
            # A footer of thousands of row groups takes 20 MB, and its schema refers back to it.
            del about, schema
            gc.collect(0)
        self.rows = tuple(rows)

    @property
    def n_places(self) -> int:
        """Number of places of the minimal sets of this pair."""
        return places_of(next(hop.diversity for hop in paper_hops() if hop.name == self.files[0].hop))

    def blocks(self, numbering: Numbering) -> Iterator[Columns]:
        """The columns of some ten thousand questions at a time."""
        self._numbers, self._first_rows = {}, []
        names = ["query", "answer", *(["image.path"] if self.has_names else [])]
        names += ["idx"] if self.has_numbers else []
        at = 0
        numbers: list[Any] = []
        for file in self.files:
            opened, in_file = _opened(file), 0
            with reading(file.path, "a Parquet file that can be read to its end"):
                for batch in opened.iter_batches(ROWS_AT_ONCE, columns=names):
                    texts, answers = (_strings(file, name, batch.column(name), in_file) for name in NEEDED)
                    place = _place(file, in_file)
                    paths = batch.column("image").field("path").to_pylist() if self.has_names else None
                    if self.has_numbers:
                        numbers.append(batch.column("idx").to_numpy(zero_copy_only=False))
                    yield {
                        **numbering.texts(texts, place),
                        "answers": numbering.answers(answers, place),
                        "image_idxs": self._indices(at, len(texts), paths),
                    }
                    at, in_file = at + len(texts), in_file + len(texts)

        if numbers:
            self._check_numbers(np.concatenate(numbers))

    def _check_numbers(self, numbers: Any) -> None:
        """Checks that no number of `idx` occurs twice, as in files that were joined."""
        order = np.argsort(numbers, kind="stable")
        again = np.flatnonzero(numbers[order][1:] == numbers[order][:-1])
        if len(again):
            row = int(order[again[0] + 1])
            number = int(np.searchsorted(np.cumsum(self.rows), row, side="right"))
            path, first = self.files[number].path, sum(self.rows[:number])
            raise DatasetError(
                f"{path}: row {row - first}: idx {numbers[row]} is that of an earlier row, too"
            )

    def _indices(self, first: int, n: int, names: Sequence[str] | None) -> Any:
        rows = np.arange(first, first + n, dtype=np.int32)
        if names is None:
            return rows if self.files[0].split != MINIMAL_OOD else self._by_place(rows)
        found = []
        for row, name in zip(rows.tolist(), names, strict=True):
            if name not in self._numbers:
                self._numbers[name] = len(self._first_rows)
                self._first_rows.append(row)
            found.append(self._numbers[name])
        return np.asarray(found, dtype=np.int32)

    def _by_place(self, rows: Any) -> Any:
        """The numbers of images: those of a place follow each other. Rows are by target, then by place."""
        n = sum(self.rows)
        if n % (self.n_places * GROUP):
            return rows
        targets, places, of_group = np.unravel_index(
            rows, (n // self.n_places // GROUP, self.n_places, GROUP)
        )
        return ((places * (n // self.n_places // GROUP) + targets) * GROUP + of_group).astype(np.int32)

    def images(self) -> ImageRecord | None:
        """Where the images are."""
        if not self.has_images:
            return None
        paths, rows = tuple(file.path.absolute() for file in self.files), self.rows
        if self.has_names:
            first, names = np.asarray(self._first_rows, dtype=np.int64), list(self._numbers)
        else:
            first, names = np.arange(sum(rows)), None
            if self.files[0].split == MINIMAL_OOD:
                first = np.argsort(self._by_place(first))
            if (np.diff(first) == 1).all():
                return ImageRecord("parquet", paths, rows)
        ends = np.cumsum(rows)
        number = np.searchsorted(ends, first, side="right")
        in_file = first - (ends - np.asarray(rows))[number]
        return ImageRecord("parquet", paths, rows, np.stack([number, in_file], axis=1).tolist(), names)


def _checked_columns(file: OfficialFile, schema: Any) -> dict[str, str]:
    """The columns of a file and their types; raises DatasetError if they are not those expected."""
    found = {field.name: str(field.type) for field in schema}
    there = ", ".join(f"{field.name} {field.type}" for field in schema)
    for name, expected in EXPECTED.items():
        kind = found.get(name, "missing").replace("large_", "")
        optional = name not in NEEDED and name not in found
        if not (optional or kind in expected):
            raise DatasetError(
                f"{file.path}: column {name} is {found.get(name, 'missing')}; expected {expected[0]}; it has "
                f"{there}"
            )
        if schema.names.count(name) > 1:
            raise DatasetError(f"{file.path}: column {name} is there twice; it has {there}")
    return found


def check_shards(files: Sequence[OfficialFile]) -> None:
    """Checks that all files of a split are there, if their names say how many there are.

    Raises:
        DatasetError: one is missing, or there are two of one part.
    """
    numbers = [file.shard[0] for file in files]
    n = max(file.shard[1] for file in files)
    if missing := sorted(set(range(n)) - set(numbers)):
        first = files[0].path
        raise DatasetError(
            f"{first.parent}: file {missing[0]} of {files[0].name} is missing; {first.name} says that there "
            f"are {n}"
        )
    if len(set(numbers)) < len(numbers):
        twice = next(k for k in range(len(numbers)) if numbers[k] in numbers[:k])
        raise DatasetError(f"{files[twice].path}: another file is of the same part of the split; remove one")


def _opened(file: OfficialFile) -> "pq.ParquetFile":
    check_extra("Parquet files need", "pyarrow", "export")
    import pyarrow.parquet as pq

    with reading(file.path, "a Parquet file"):
        check_regular(file.path)
        return pq.ParquetFile(file.path)


def _metadata(file: OfficialFile) -> "pq.FileMetaData":
    check_extra("Parquet files need", "pyarrow", "export")
    import pyarrow.parquet as pq

    with reading(file.path, "a Parquet file"):
        check_regular(file.path)
        return pq.read_metadata(file.path)


def _has_names(file: OfficialFile, about: "pq.FileMetaData") -> bool:
    """Whether the first rows name their images."""
    if not about.num_row_groups:
        return False
    group = about.row_group(0)
    columns = [group.column(k) for k in range(group.num_columns)]
    path = next((column for column in columns if column.path_in_schema == "image.path"), None)
    if path is None:
        return False
    if path.is_stats_set and path.statistics.has_null_count:
        return bool(path.statistics.null_count == 0)
    batch = next(_opened(file).iter_batches(1, columns=["image.path"]), None)
    return batch is not None and bool(batch.column("image").field("path")[0].as_py())


def _strings(file: OfficialFile, name: str, column: Any, first: int) -> list[str]:
    if column.null_count:
        row = first + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DatasetError(f"{file.path}: row {row}: {name} is empty")
    found: list[str] = column.to_pylist()
    return found


def _place(file: OfficialFile, first: int) -> Any:
    return lambda k: f"{file.path}: row {first + k}"
