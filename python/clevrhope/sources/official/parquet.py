"""The official data in Parquet: columns idx, query, answer (string) and image (a struct with bytes).

Programs and scenes are not there. Which rows share an image is said only if `image.path` is filled.
"""

import gc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clevrhope.dataset.source_images import ImageRecord
from clevrhope.errors import DatasetError
from clevrhope.sources.official.names import POOLS, OfficialFile, places_of
from clevrhope.sources.parquet_files import batches, check_columns, read_footer, row_of
from clevrhope.sources.source import Columns, Numbering, SourceSplit, check_filled
from clevrhope.splits.hops import paper_hops
from clevrhope.splits.kinds import MINIMAL_OOD

if TYPE_CHECKING:
    import pyarrow.parquet as pq

NEEDED = {"query": ("string",), "answer": ("string",)}
"""Column that a file must have -> its type."""

OPTIONAL = {
    "idx": ("int64",),
    "image": (
        "struct<bytes: binary, path: string>",
        "struct<path: string, bytes: binary>",
        "struct<bytes: binary, path: null>",
        "struct<bytes: binary>",
        "binary",
    ),
}
"""Column that may be there -> its types, the usual one first."""

ROWS_AT_ONCE = 65_536

GROUP = 4
"""Images of a group of a minimal out-of-distribution set: the match, one value changed, the other, both."""


def parquet_split(files: Sequence[OfficialFile]) -> SourceSplit:
    """The split in these files, which are of one pair and split, in order.

    Raises:
        DatasetError: a file is not Parquet, or has other columns; says what was found and expected.
    """
    shards, first = _Shards(files), files[0]
    n = sum(shards.rows)
    by_place = first.split == MINIMAL_OOD and not shards.has_names and n % shards.n_places == 0
    return first.split_source(
        n,
        shards.blocks,
        shards.images,
        pool=f"{POOLS.get(first.split, first.split)}_{first.hop}",
        note="" if shards.has_names else "no column says which rows share an image: one each",
        unit=n // shards.n_places if by_place else 0,
    )


class _Shards:
    """The shards of a split, opened one after another."""

    def __init__(self, files: Sequence[OfficialFile]) -> None:
        self.files, self.has_names = files, False
        self.rows: tuple[int, ...] = ()
        self._first_rows: dict[str, int] = {}
        """Name of an image -> the first row that shows it; names are in the order in which they occur."""
        for file in files:
            footer = read_footer(file.path)
            found = check_columns(file.path, footer, NEEDED, OPTIONAL)
            self.has_images, self.has_numbers = "image" in found, "idx" in found
            self.rows += (footer.num_rows,)
            self.has_names = _has_names(file, footer) if file is files[0] else self.has_names
            # A footer of thousands of row groups takes 20 MB, and its schema refers back to it.
            del footer
            gc.collect(0)

    @property
    def n_places(self) -> int:
        """Number of places of the minimal sets of this pair."""
        return places_of(next(hop.diversity for hop in paper_hops() if hop.name == self.files[0].hop))

    def blocks(self, numbering: Numbering) -> Iterator[Columns]:
        """The columns of some ten thousand questions at a time."""
        numbers: dict[str, int] = {}
        names = ["query", "answer", *(["image.path"] if self.has_names else [])]
        names += ["idx"] if self.has_numbers else []
        at = 0
        of_rows: list[Any] = []
        for file in self.files:
            for in_file, batch in batches(file.path, names, ROWS_AT_ONCE):
                where = row_of(file.path, in_file)
                cells = {name: batch.column(name).to_pylist() for name in NEEDED}
                check_filled(cells, where)
                paths = batch.column("image").field("path").to_pylist() if self.has_names else None
                if self.has_numbers:
                    of_rows.append(batch.column("idx").to_numpy(zero_copy_only=False))
                yield {
                    **numbering.texts(cells["query"], where),
                    "answers": numbering.answers(cells["answer"], where),
                    "image_idxs": self._indices(at, len(batch), paths, numbers),
                }
                at += len(batch)

        if of_rows:
            self._check_numbers(np.concatenate(of_rows))

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

    def _indices(self, first: int, n: int, names: Sequence[str] | None, numbers: dict[str, int]) -> Any:
        """The numbers of the images of n rows; those of images that have names are in `numbers`."""
        rows = np.arange(first, first + n, dtype=np.int32)
        if names is None:
            return rows if self.files[0].split != MINIMAL_OOD else self._by_place(rows)
        for row, name in zip(rows.tolist(), names, strict=True):
            self._first_rows.setdefault(name, row)
            numbers.setdefault(name, len(numbers))
        return np.asarray([numbers[name] for name in names], dtype=np.int32)

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
            first, names = np.asarray([*self._first_rows.values()], dtype=np.int64), [*self._first_rows]
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
    first = next(batches(file.path, ["image.path"], 1), None)
    return first is not None and bool(first[1].column("image").field("path")[0].as_py())
