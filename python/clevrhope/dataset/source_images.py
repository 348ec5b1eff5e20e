"""The images of an imported pool, which stay in the published files that they were in.

A record beside the folder of the pool's PNG files, `images/<pool>.npz`, says where they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, ProcessFile, Schema
from clevrhope.dataset.images_h5 import ImageArray
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.images.png import BEGIN, encode_png, open_image, open_png
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.extras import check_extra
from clevrhope.runtime.forms import TEXT, Fields, ListOf, check_form, one_of
from clevrhope.runtime.reading import reading

CHANNELS_FIRST = Schema(
    "an HDF5 file of published images",
    {"features": Array("u", (3, None, None), sparse=True)},
    remedy="import the files again",
)
"""The images of the official CLEVR-HOPE: `features`, (N, 3, height, width) uint8."""

MAX_RECORD_BYTES = 1 << 28
"""The most bytes of an array of a record: the places of ten million images take 240 MB."""

FORMS = ("png", "features", "tar", "parquet", "parquet_support")
"""The forms of files with images; those of episodes' supports are in a column of lists of their own."""

GROUPS_KEPT = 2
"""Row groups of Parquet that are kept: questions about one image stand together."""


@dataclass(frozen=True)
class ImageRecord:
    """Where the images of a pool are.

    Attributes:
        form: one of `FORMS`.
        files: the files, or the folder of PNG files.
        places: (n, 3) int64 for each index a file's number and what the form says of the place in it: a row,
            a row and the place in its list of images, or the offset and size of a member. A row of -1 is no
            image; -1 also fills rows of forms that say less.
        names: for each index the name of the image in the published files; none if they do not name images.
    """

    form: str
    files: tuple[Path, ...]
    places: npt.NDArray[np.int64]
    names: Sequence[str] = ()

    @property
    def indices(self) -> Ints:
        """(images,) int32 indices of the images, sorted."""
        return np.flatnonzero(self.places[:, 0] >= 0).astype(np.int32)

    @classmethod
    def of(
        cls,
        form: str,
        files: Sequence[Path],
        images: Iterable[tuple[Ints, npt.NDArray[np.int64]]],
        names: Mapping[int, str],
    ) -> "ImageRecord | None":
        """The record of images, given by parts; None if there are none.

        Args:
            form: as of the record.
            files: as of the record, also those in which no image is.
            images: (N,) indices and their (N, 3) places; -1 is no image. The first place of an index counts.
            names: index -> the name of the image; empty if they have none.
        """
        indices, places = map(np.concatenate, zip(*images, strict=True))
        is_there = (indices >= 0) & (places[:, 0] >= 0)
        found, first = np.unique(indices[is_there], return_index=True)
        if not len(found):
            return None
        by_index = np.full((found[-1] + 1, 3), -1)
        by_index[found] = places[is_there][first]
        paths, numbers = np.unique([str(path.absolute()) for path in files], return_inverse=True)
        used, by_index[found, 0] = np.unique(numbers[by_index[found, 0]], return_inverse=True)
        named = [names.get(index, "") for index in range(len(by_index))] if names else ()
        return cls(form, tuple(map(Path, paths[used])), by_index, named)

    def __contains__(self, index: int) -> bool:
        return 0 <= index < len(self.places) and bool(self.places[index, 0] >= 0)

    def write(self, path: Path) -> None:
        """Writes the record whole."""
        memory, files = BytesIO(), [*map(str, self.files)]
        np.savez_compressed(memory, form=self.form, files=files, names=self.names, places=self.places)
        write_whole(path, memory.getvalue())

    @classmethod
    def read(cls, path: Path) -> "ImageRecord":
        """Reads a record; raises DatasetError if it is broken."""
        remedy = "import the files again"
        with reading(path, "a record of imported images", remedy=remedy), np.load(path) as raw:
            if any(member.file_size > MAX_RECORD_BYTES for member in raw.zip.infolist()):
                raise DatasetError(f"{path}: over {MAX_RECORD_BYTES >> 20} MiB when unpacked; {remedy}")
            about, places = {name: raw[name].tolist() for name in _ABOUT.needed}, raw["places"]
            if places.dtype.kind != "i" or places.shape[1:] != (3,):
                found = f"{places.dtype} of the shape {places.shape}"
                raise DatasetError(f"{path}: its places are {found}; expected int64, (n, 3); {remedy}")
            check_form(about, _ABOUT, path, remedy=remedy)
            is_nameless = about["form"] == "png" and len(about["names"]) < len(places)
            if places[:, 0].max(initial=-1) >= len(about["files"]) or is_nameless:
                raise DatasetError(f"{path}: its images are in files that it does not name; {remedy}")
        return cls(about["form"], tuple(map(Path, about["files"])), places, about["names"])

    def joined(self, other: "ImageRecord") -> "ImageRecord":
        """The images of both, for splits that share a pool; where both have one, this record's place counts.

        Raises:
            DatasetError: their files are of different forms.
        """
        if self.form != other.form:
            raise DatasetError(f"{other.files[0]}: images of the same pool are in other forms of files, too")
        mine, theirs = self.indices, other.indices
        images = [(mine, self.places[mine]), (theirs, other.places[theirs] + [len(self.files), 0, 0])]
        names = {k: name for each in (other, self) for k, name in enumerate(each.names) if name}
        return ImageRecord.of(self.form, self.files + other.files, images, names) or self

    def place(self, index: int) -> tuple[Path, list[int]]:
        """The file of an image, and what its form says of the place in it."""
        number, *rest = self.places[index].tolist()
        file = self.files[number]
        return file / self.names[index] if self.form == "png" else file, rest


class SourceImages:
    """The images of an imported pool; methods as in `PngImages`. Pickles without an open file."""

    def __init__(self, record: ImageRecord) -> None:
        self.record = record
        self._array = lru_cache(maxsize=None)(partial(ProcessFile, schema=CHANNELS_FIRST))
        self._table = lru_cache(maxsize=None)(_open_table)
        self._group = lru_cache(maxsize=GROUPS_KEPT)(self._read_group)

    def __repr__(self) -> str:
        return f"<{len(self.record.indices):,} images in {len(self.record.files):,} files>"

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
        form, (path, place) = self.record.form, self.record.place(index)
        if form == "png":
            with open_png(path, remedy=DAMAGED if path.is_file() else MOVED) as image:
                return np.array(image.convert("RGB"))
        if form == "features":
            with self._array(path).reading() as opened:
                return np.ascontiguousarray(opened["features"][place[0]].transpose(1, 2, 0))
        if form == "tar":
            offset, size = place
            with reading(path, "an archive of images", remedy=MOVED), path.open("rb") as file:
                file.seek(offset)
                return file.read(size)
        row, of_list = place  # the place in a list of images, or -1
        column = "image" if of_list < 0 else "support_images" if form == "parquet_support" else "images"
        with reading(path, "a Parquet file", remedy=MOVED):
            _, ends = self._table(path)
            group = int(np.searchsorted(ends, row, side="right"))
            images = self._group(path, group, column)
            cell = images[row - (int(ends[group - 1]) if group else 0)].as_py()
            cell = cell if of_list < 0 else cell[of_list]
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

_ABOUT = Fields({"form": one_of(FORMS), "files": ListOf(TEXT), "names": ListOf(TEXT)})
"""The form of what a record says beside its places."""


def source_images(layout: Layout, pool: str) -> SourceImages | None:
    """The images of an imported pool; None if the pool has images of its own, or none."""
    path = layout.image_record(pool)
    return SourceImages(ImageRecord.read(path)) if path.is_file() else None
