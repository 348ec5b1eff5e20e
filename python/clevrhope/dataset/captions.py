"""A folder of captions, as `clevrhope captions` writes it: groups of images, each with its own caption.

captions.json             the dataset it was made from, and the tables with their sizes and checksums
<hop>/<split>.parquet     an image and its caption a row, the rows of a group one after another
README.md                 the card, by which `datasets.load_dataset(folder, hop)` finds the tables
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.forms import INDEX, NAME, SHA256, TEXT, Fields, Kind, ListOf, check_form, one_of
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.reading import reading
from clevrhope.splits.kinds import MINIMAL_IID, MINIMAL_OOD

CAPTIONS = "captions.json"
"""The file by which such a folder is known; it is written last."""

MATCHING_IID, MATCHING_OOD = "matching_iid", "matching_ood"
"""The splits of two objects whose values are exchanged: without the held-out pair, and with it."""

GAPS: Mapping[str, tuple[str, str]] = {
    "matching": (MATCHING_OOD, MATCHING_IID),
    "minimal": (MINIMAL_OOD, MINIMAL_IID),
}
"""Name of a gap -> the split whose scores, minus those of the other, it is."""


@dataclass(frozen=True)
class CaptionTable:
    """What captions.json says of a table of `groups` groups with `group_size` images each.

    `held_out` are the held-out values with their types.
    """

    hop: str
    split: str
    held_out: Sequence[Sequence[str]]
    groups: int
    group_size: int
    sha256: str

    @property
    def name(self) -> str:
        """Its name in files of similarities."""
        return f"{self.hop}.{self.split}"

    @property
    def n_rows(self) -> int:
        """Number of images, and of captions."""
        return self.groups * self.group_size

    def path(self, folder: Path) -> Path:
        """Its file."""
        return folder / self.hop / f"{self.split}.parquet"

    def columns(self, folder: Path, *names: str) -> list[list[Any]]:
        """Some columns of its file.

        Raises:
            DatasetError: the file is missing or no such table; or it has other groups.
        """
        check_extra("captions need", "pyarrow", "export")
        import pyarrow.parquet as pq

        path = self.path(folder)
        with reading(path, "a table of captions"), path.open("rb") as file:
            table = pq.read_table(file, columns=["group", *names])
        found = table["group"].to_pylist() if {"group", *names} <= {*table.column_names} else []
        n = self.group_size
        if len(found) != self.n_rows or found != [row // n for row in range(len(found))]:
            raise DatasetError(
                f"{path}: not the {self.groups:,} groups of {n} rows that {CAPTIONS} lists; make the "
                "captions again"
            )
        return [table[name].to_pylist() for name in names]

    def images(self, folder: Path) -> Iterator[bytes]:
        """The PNG files of its images in order, of which few are read at once."""
        import pyarrow.parquet as pq

        with self.path(folder).open("rb") as file:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=64, columns=["image"]):
                yield from batch["image"].field("bytes").to_pylist()


_TABLE = Fields(
    {
        "hop": NAME,
        "split": one_of([split for splits in GAPS.values() for split in splits]),
        "held_out": ListOf(ListOf(TEXT, 2)),
        "groups": INDEX,
        "group_size": Kind("2, 4, 8 or 16", lambda value: value in (2, 4, 8, 16)),
        "sha256": SHA256,
    }
)


def is_captions(folder: Path) -> bool:
    """Whether a folder is one of captions."""
    return (folder / CAPTIONS).is_file()


def write_captions(folder: Path, about: Mapping[str, Any], tables: Sequence[CaptionTable]) -> None:
    """Writes captions.json; `about` is what it says of the dataset."""
    rows = [asdict(table) for table in tables]
    write_whole(folder / CAPTIONS, f"{json.dumps({**about, 'tables': rows}, indent=1)}\n".encode())


def read_captions(folder: Path) -> list[CaptionTable]:
    """The tables of a folder, in order.

    Raises:
        DatasetError: captions.json is missing or broken.
    """
    path = folder / CAPTIONS
    raw = read_object(path, "a list of captions")
    check_form(raw, Fields({"tables": ListOf(_TABLE, least=1)}), path)
    return [CaptionTable(**{name: row[name] for name in _TABLE.needed}) for row in raw["tables"]]


def meaning(caption: str) -> tuple[str, ...]:
    """What a caption says, whatever order it names objects in: equal for captions of the same images."""
    return tuple(sorted(caption.split(" and ")))
