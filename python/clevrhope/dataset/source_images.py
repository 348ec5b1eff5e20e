"""The images of an imported pool, which stay in the published files that they were in.

A record beside the folder of the pool's PNG files, `images/<pool>.json`, says where: the form of the files,
their paths, and a place for each image, by its index. A place is a file and a row (or, in an archive, the
offset and size of a member); without places, the images are the rows of all files, in order.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.hdf5 import Array, ProcessFile, Schema
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.images.png import BEGIN, encode_png, open_image, open_png
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.forms import INDEX, TEXT, Fields, ListOf, Nullable, check_form, one_of
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.reading import reading

CHANNELS_FIRST = Schema(
    "an HDF5 file of published images",
    {"features": Array("u", (3, None, None), sparse=True)},
    remedy="import the files again",
)
"""The images of the official CLEVR-HOPE: `features`, (N, 3, height, width) uint8."""

GROUPS_KEPT = 2
"""Row groups of Parquet that are kept: questions about one image stand together."""


@dataclass(frozen=True)
class ImageRecord:
    """Where the images of a pool are.

    Attributes:
        form: a key of `READERS`.
        files: the files; for PNG files, each is an image.
        rows: number of rows of each file; empty for forms that need none.
        places: for each index a file's number and what the form says of the place in it, or nothing if there
            is no image; None if images are the rows of all files in order.
        names: for each index the name of the image in the published files, if they name images.
    """

    form: str
    files: tuple[Path, ...]
    rows: tuple[int, ...] = ()
    places: Sequence[Sequence[int]] | None = None
    names: Sequence[str] | None = None

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.indices)

    @cached_property
    def indices(self) -> Ints:
        """(n,) int32 indices of the images, sorted; a place without a file is no image."""
        if self.places is None:
            return np.arange(sum(self.rows), dtype=np.int32)
        return np.flatnonzero([bool(place) for place in self.places]).astype(np.int32)

    def __contains__(self, index: int) -> bool:
        return bool(np.isin(index, self.indices))

    def write(self, path: Path) -> None:
        """Writes the record whole."""
        raw = {**asdict(self), "files": [str(file) for file in self.files]}
        write_whole(path, (json.dumps(raw) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> "ImageRecord":
        """Reads a record; raises DatasetError if it is broken."""
        raw = read_object(path, "a record of imported images", max_bytes=1 << 28)
        check_form(raw, _FORM, path)
        n_files = len(raw["files"])
        if raw["places"] is None and len(raw["rows"]) != n_files:
            raise DatasetError(f"{path}: rows has {len(raw['rows'])} numbers; expected {n_files}, one a file")
        for place in raw["places"] or ():
            if place and place[0] >= n_files:
                raise DatasetError(f"{path}: places has {place}, but there are {n_files} files")
        files = tuple(map(Path, raw["files"]))
        return cls(raw["form"], files, tuple(raw["rows"]), raw["places"], raw["names"])

    def joined(self, other: "ImageRecord") -> "ImageRecord":
        """The images of both, for splits that share a pool; where both have one, this record's place counts.

        Raises:
            DatasetError: their files are of different forms.
        """
        if replace(self, names=None) == replace(other, names=None):
            return self
        if self.form != other.form:
            raise DatasetError(f"{other.files[0]}: images of the same pool are in other forms of files, too")
        n = len(self.files)
        pairs = zip_longest(self._all_places(), other._all_places(), fillvalue=())
        places = [list(mine) or ([theirs[0] + n, *theirs[1:]] if theirs else []) for mine, theirs in pairs]
        names = None
        if self.names or other.names:
            both = zip_longest(self.names or (), other.names or (), fillvalue="")
            names = [mine or theirs for mine, theirs in both]
        used = sorted({place[0] for place in places if place})
        number = {old: new for new, old in enumerate(used)}
        files, rows = self.files + other.files, self.rows + other.rows
        return ImageRecord(
            self.form,
            tuple(files[k] for k in used),
            tuple(rows[k] for k in used) if rows else (),
            [[number[place[0]], *place[1:]] if place else [] for place in places],
            names,
        )

    def _all_places(self) -> Sequence[Sequence[int]]:
        if self.places is not None:
            return self.places
        return [[number, row] for number, n in enumerate(self.rows) for row in range(n)]

    def place(self, index: int) -> tuple[Path, Sequence[int]]:
        """The file of an image, and what its form says of the place in it."""
        if self.places is not None:
            number, *rest = self.places[index]
            return self.files[number], rest
        number = int(np.searchsorted(self._ends, index, side="right"))
        return self.files[number], [index - int(self._ends[number]) + self.rows[number]]

    @cached_property
    def _ends(self) -> Any:
        return np.cumsum(self.rows)


class SourceImages:
    """The images of an imported pool; methods as in `PngImages`. Pickles without an open file."""

    def __init__(self, record: ImageRecord) -> None:
        self.record = record
        self._array = lru_cache(maxsize=None)(partial(ProcessFile, schema=CHANNELS_FIRST))
        self._table = lru_cache(maxsize=None)(_open_table)
        self._group = lru_cache(maxsize=GROUPS_KEPT)(self._read_group)

    def __repr__(self) -> str:
        return f"<{self.record.n_images:,} images in {len(self.record.files):,} files>"

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceImages, (self.record,)

    def pixels(self, index: int) -> ImageArray:
        """(height, width, 3) uint8 RGB, in an array that the caller owns.

        Raises:
            DatasetError: a file is missing, moved or damaged.
        """
        found = self._read(index)
        return self._decoded(found, index) if isinstance(found, bytes) else found

    def png(self, index: int) -> Callable[[], bytes]:
        """Returns a function that gives the image as a PNG file; it can run in any thread."""
        content = self._read(index)

        def whole() -> bytes:
            if not isinstance(content, bytes):
                return encode_png(content)
            pixels = self._decoded(content, index)
            return content if content.startswith(BEGIN) else encode_png(pixels)

        return whole

    def _decoded(self, content: bytes, index: int) -> ImageArray:
        """The pixels of an image's file, of which the content is given."""
        path, place = self.record.place(index)
        where = f"{path}: {'the image at byte' if self.record.form == 'tar' else 'row'} {place[0]}"
        with (
            reading(where, "a whole image", remedy=DAMAGED),
            open_image(BytesIO(content), where, FORMATS) as image,
        ):
            return np.array(image.convert("RGB"))

    def _read(self, index: int) -> ImageArray | bytes:
        """The bytes of an image's file, or its pixels."""
        path, place = self.record.place(index)
        return READERS[self.record.form](self, path, place)

    def _of_png(self, path: Path, place: Sequence[int]) -> ImageArray:
        with open_png(path, remedy=DAMAGED if path.is_file() else MOVED) as image:
            return np.array(image.convert("RGB"))

    def _of_features(self, path: Path, place: Sequence[int]) -> ImageArray:
        with self._array(path).reading() as opened:
            return np.ascontiguousarray(opened["features"][place[0]].transpose(1, 2, 0))

    def _of_tar(self, path: Path, place: Sequence[int]) -> bytes:
        offset, size = place
        with reading(path, "an archive of images", remedy=MOVED), path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def _of_parquet(self, path: Path, place: Sequence[int], *, several: str = "images") -> bytes:
        row, *of_list = place  # a place in a list of images, which is the column `several`
        with reading(path, "a Parquet file", remedy=MOVED):
            _, ends = self._table(path)
            group = int(np.searchsorted(ends, row, side="right"))
            images = self._group(path, group, several if of_list else "image")
            cell = images[row - (int(ends[group - 1]) if group else 0)].as_py()
            for k in of_list:
                cell = cell[k]
        content = cell if isinstance(cell, bytes) else (cell or {}).get("bytes")
        if not content:
            raise DatasetError(f"{path}: row {row} has no image")
        return bytes(content)

    def _read_group(self, path: Path, group: int, column: str) -> Any:
        return self._table(path)[0].read_row_group(group, columns=[column]).column(column)


def _open_table(path: Path) -> tuple[Any, Ints]:
    """A Parquet file, and the rows at which its row groups end."""
    check_extra("images in Parquet need", "pyarrow", "export")
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    return file, np.cumsum([file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)])


MOVED = "download it, or import the files again from where they are now"

DAMAGED = "download the file again"

FORMATS = ("PNG", "JPEG", "WEBP")
"""Forms of images; Pillow reads others by programs that the files of strangers should not start."""

READERS: Mapping[str, Callable[[SourceImages, Path, Sequence[int]], ImageArray | bytes]] = {
    "png": SourceImages._of_png,
    "features": SourceImages._of_features,
    "tar": SourceImages._of_tar,
    "parquet": SourceImages._of_parquet,
    "parquet_support": partial(SourceImages._of_parquet, several="support_images"),
}
"""Form of files -> reads an image of a file at a place: its pixels, or the bytes of an image file."""

_FORM = Fields(
    {
        "form": one_of(tuple(READERS)),
        "files": ListOf(TEXT),
        "rows": ListOf(INDEX),
        "places": Nullable(ListOf(ListOf(INDEX))),
        "names": Nullable(ListOf(TEXT)),
    }
)


def source_images(layout: Layout, pool: str) -> SourceImages | None:
    """The images of an imported pool; None if the pool has images of its own, or none."""
    path = layout.image_record(pool)
    return SourceImages(ImageRecord.read(path)) if path.is_file() else None
