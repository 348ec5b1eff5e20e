"""The annotations of a pool's images (masks, depths, normals, boxes) in one HDF5 file.

| dataset    | shape                    | type    | holds |
|------------|--------------------------|---------|-------|
| mask       | (size, height, width)    | uint8   | row i, for scene i: the object at each pixel, or 255 |
| depth      | (size, height, width)    | float32 | Blender units along the camera's axis, with the ground |
| normal     | (size, height, width, 3) | float16 | for objects, in world axes, length 1; 0 elsewhere |
| boxes      | (size, most, 4)          | int32   | x, y, width, height of each object's tight box, or 0 |
| visible_px | (size, most)             | int32   | pixels that show the object |
| alone_px   | (size, most)             | int32   | pixels that the object would have alone on the ground |
| n_objects  | (size,)                  | int32   | number of objects in the scene |
| indices    | (n,)                     | int32   | the rows that hold annotations, sorted |

Of the first three arrays, the file has those that were requested. Each of their rows is a chunk, as for
images (images_h5.py). `size` is one more than the last row that holds annotations; `most` is the largest
number of objects. The file's bytes depend only on its content, not on the runs that added it.

Until a pool's file is written, each image's annotations are in a file of their own, the record: arrays in
numpy's form, one after the other: kinds, height and width, the tables, then each kind's packed chunk. So a
run that is killed loses only the images that it was working on.
"""

import io
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, ProcessFile, Schema
from clevrhope.dataset.hdf5_writer import writing_hdf5
from clevrhope.dataset.images_h5 import DEFLATE_LEVEL
from clevrhope.dataset.layout import Layout, image_filename
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError, DatasetError
from clevrhope.images.passes import BACKGROUND, DEPTH_STEP, Passes, parse_passes
from clevrhope.runtime.atomic import whole_file, write_whole
from clevrhope.runtime.reading import read_bytes, reading

DTYPES: Mapping[str, tuple[type[np.generic], tuple[int, ...]]] = {
    "mask": (np.uint8, ()),
    "depth": (np.float32, ()),
    "normal": (np.float16, (3,)),
}
"""Kind -> its dtype, and the shape of a pixel."""

TABLES = ("boxes", "visible_px", "alone_px")
"""Arrays with one row for each object."""

PASSES = Schema(
    "an HDF5 file of annotations",
    {
        "mask": Array("u", (None, None), needed=False, sparse=True),
        "depth": Array("f", (None, None), needed=False, sparse=True),
        "normal": Array("f", (None, None, 3), needed=False, sparse=True),
        "boxes": Array("i", (None, 4)),
        "visible_px": Array("i", (None,)),
        "alone_px": Array("i", (None,)),
        "n_objects": Array("i"),
        "indices": Array("i", group="indices"),
    },
    remedy="run again what made it",
)

MAX_RECORD_BYTES = 1 << 30
"""The most bytes of a record: 8,192 x 8,192 pixels with all kinds of annotations, unpacked."""

ATTRIBUTES: Mapping[str, Mapping[str, str | int | float]] = {
    "mask": {"units": "place of the object in its scene's list, from 0 on", "background": BACKGROUND},
    "depth": {
        "units": "Blender units",
        "space": "camera: along its axis, not along the ray",
        "background": 0.0,
        "background_is": "nothing at all; the ground has a depth",
        "step": DEPTH_STEP,
    },
    "normal": {
        "units": "none: unit vectors",
        "space": "world: x, y, z as in 3d_coords",
        "background": 0.0,
        "background_is": "every pixel without an object, the ground too",
    },
    "boxes": {"units": "pixels", "columns": "x, y, width, height; x and y of the first pixel from top left"},
    "visible_px": {"units": "pixels"},
    "alone_px": {"units": "pixels"},
}
"""The HDF5 attributes of each array. `visible_px / alone_px` is the visible fraction."""


@dataclass(frozen=True)
class Record:
    """An image's annotations, packed."""

    height: int
    width: int
    chunks: Mapping[str, bytes]
    """Kind -> its chunk as HDF5 stores it."""
    tables: Mapping[str, Ints]


def pack(passes: Passes, kinds: Sequence[str]) -> Record:
    """Packs these kinds of an image's annotations."""
    height, width = passes.mask.shape
    chunks = {kind: _deflated(getattr(passes, kind)) for kind in kinds}
    return Record(height, width, chunks, {name: getattr(passes, name) for name in TABLES})


def write_record(path: Path, record: Record) -> None:
    """Writes an image's record; raises the errors of `write_whole`."""
    tables = [record.tables[name] for name in TABLES]
    chunks = [np.frombuffer(chunk, np.uint8) for chunk in record.chunks.values()]
    content = io.BytesIO()
    for array in (list(record.chunks), (record.height, record.width), *tables, *chunks):
        np.save(content, np.asarray(array))
    write_whole(path, content.getvalue())


def read_record(path: Path) -> Record:
    """Reads a record.

    Raises:
        DatasetError: the file is missing or not a record.
    """
    what, remedy = "annotations of an image", "remove it and run again"
    content = io.BytesIO(read_bytes(path, what, remedy=remedy, max_bytes=MAX_RECORD_BYTES))
    with reading(path, what, remedy=remedy):
        kinds, size, *tables = (np.load(content) for _ in range(2 + len(TABLES)))
        chunks = {kind: np.load(content).tobytes() for kind in kinds.tolist()}
        boxes, *counts = (table.astype(np.int32, casting="safe") for table in tables)
        is_fit = boxes.shape[1:] == (4,) and all(each.shape == boxes.shape[:1] for each in counts)
        if content.read(1) or not is_fit:
            raise ValueError("its arrays do not fit each other")
        height, width = size.tolist()
        return Record(height, width, chunks, dict(zip(TABLES, (boxes, *counts), strict=True)))


def kinds_in_record(path: Path) -> frozenset[str]:
    """The kinds that a record holds, from its first array; empty if there is no record."""
    try:
        with path.open("rb") as file:
            return frozenset(np.load(file).tolist())
    except (OSError, EOFError, ValueError, AttributeError):
        return frozenset()


def annotated_in(path: Path, kinds: Iterable[str]) -> Ints:
    """The rows of a file that hold all of these kinds, sorted; empty if there is no file.

    Raises:
        DatasetError: the file is damaged or not an annotation file.
    """
    if not path.exists():
        return np.zeros(0, dtype=np.int32)
    there = PassesFile(path)
    return there.indices if set(kinds) <= set(there.kinds) else np.zeros(0, dtype=np.int32)


def aggregate_passes(
    path: Path,
    indices: Sequence[int],
    record_of: Callable[[int], Path],
    *,
    kinds: Sequence[str],
    about: Mapping[str, str],
    on_image: Callable[[], None] = lambda: None,
) -> bool:
    """Makes `path` hold exactly these kinds of exactly these rows (sorted); returns False if it already does.

    Rows in the old file are copied from it, and others come from the record at `record_of(row)`. `about` goes
    into the file's attributes.

    Raises:
        DatasetError: a record is missing or of another size, or the disk is full or may not be written to.
    """
    wanted = np.asarray(indices, dtype=np.int32)
    if not len(wanted):
        return False
    with ExitStack() as stack:
        old = stack.enter_context(closing(PassesFile(path))) if path.exists() else None
        if old and list(old.kinds) == list(kinds) and np.array_equal(old.indices, wanted):
            return False
        rows_before = frozenset(old.indices.tolist() if old and set(kinds) <= set(old.kinds) else ())

        def record(row: int) -> Record:
            return old.record(row, kinds) if old and row in rows_before else read_record(record_of(row))

        temporary = stack.enter_context(whole_file(path))
        first = record(int(wanted[0]))
        size = (first.height, first.width)
        with writing_hdf5(temporary) as (file, check):
            arrays = {kind: _create(file, kind, int(wanted[-1]) + 1, size) for kind in kinds}
            tables = []
            for row in wanted.tolist():
                packed = record(row)
                if (packed.height, packed.width) != size:
                    raise DatasetError(
                        f"{record_of(row)}: {packed.width} x {packed.height} pixels, but {path} has "
                        f"{size[1]} x {size[0]}"
                    )
                for kind, array in arrays.items():
                    start = (row,) + (0,) * (array.ndim - 1)
                    array.id.write_direct_chunk(start, packed.chunks[kind])
                    check()
                tables.append(packed.tables)
                on_image()
            _write_tables(file, wanted, tables)
            file.attrs.update(about)
    return True


class PassesFile:
    """The annotations in a pool's file, by row; pickles without an open file."""

    def __init__(self, path: Path) -> None:
        """Checks the file.

        Raises:
            DatasetError: the file is missing, damaged or not an annotation file.
        """
        self._file = ProcessFile(path, PASSES)
        with closing(self._file), self._file.reading() as file:
            self.kinds = tuple(kind for kind in DTYPES if kind in file)
            """Those of mask, depth and normal that the file has."""
            if not self.kinds:
                raise DatasetError(f"{path}: not {PASSES.what} (no mask, depth or normal)")
            self.indices: Ints = file["indices"][:]
            """(n,) int32: rows that hold something, sorted."""
            sizes = {file[kind].shape[1:3] for kind in self.kinds}
            height, width = sizes.pop()
            if sizes or ((self.indices < 0) | (self.indices >= len(file["n_objects"]))).any():
                raise DatasetError(f"{path}: not {PASSES.what} (its arrays do not fit each other)")
            self.size = (int(height), int(width))
            """Height and width in pixels."""
            self.most = int(file["boxes"].shape[1])
            """The most objects of any image in the file."""

    def __repr__(self) -> str:
        return f"<{', '.join(self.kinds)} of {len(self.indices):,} images in {self._file.path}>"

    def row(self, index: int, kinds: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """These kinds of a row, with `boxes`, (objects, 4), `visible_px` and `alone_px`, (objects,), int32.

        Raises:
            DatasetError: the file is damaged.
        """
        with self._file.reading() as file:
            n = int(file["n_objects"][index])
            return {
                **{kind: file[kind][index] for kind in kinds},
                **{name: file[name][index, :n] for name in TABLES},
            }

    def record(self, row: int, kinds: Sequence[str]) -> Record:
        """These kinds of a row, packed as in the file; raises the errors of `row`."""
        chunks = {}
        with self._file.reading() as file:
            for kind in kinds:
                array = file[kind]
                chunks[kind] = array.id.read_direct_chunk((row,) + (0,) * (array.ndim - 1))[1]
        n = self._tables["n_objects"][row]
        return Record(*self.size, chunks, {name: self._tables[name][row, :n] for name in TABLES})

    @cached_property
    def _tables(self) -> Mapping[str, Ints]:
        with self._file.reading() as file:
            return {name: file[name][:] for name in ("n_objects", *TABLES)}

    def close(self) -> None:
        """Closes the file; the next read opens it again."""
        self._file.close()


def find_passes(layout: Layout, pool: str, wanted: Ints, kinds: Sequence[str]) -> PassesFile:
    """Opens the annotations of a pool's images, which must include those of the scenes `wanted`.

    Raises:
        ConfigError: a kind does not exist, or the folder was made without it.
        DatasetError: some of the images are not annotated, or a file is cut off.
    """
    parse_passes(kinds, "passes")
    path = layout.passes_h5(pool)
    if not path.exists():
        raise ConfigError(
            f"{layout.root}: no masks, depths and normals of pool {pool}; "
            f"run the dataset's build again with --passes {','.join(kinds)}"
        )
    found = PassesFile(path)
    for kind in kinds:
        if kind not in found.kinds:
            raise ConfigError(
                f'{path}: no "{kind}", only {", ".join(found.kinds)}; '
                f"run the dataset's build again with --passes {kind}"
            )
    missing = np.setdiff1d(wanted, found.indices)
    if len(missing):
        raise DatasetError(
            f"{path}: {len(missing):,} images are not annotated, first "
            f"{image_filename(pool, int(missing[0]))}; run the dataset's build again"
        )
    return found


def _create(file: h5py.File, kind: str, n_rows: int, size: tuple[int, int]) -> Any:
    dtype, pixel = DTYPES[kind]
    array = file.create_dataset(
        kind,
        shape=(n_rows, *size, *pixel),
        chunks=(1, *size, *pixel),
        dtype=dtype,
        fillvalue=BACKGROUND if kind == "mask" else 0,
        shuffle=np.dtype(dtype).itemsize > 1,
        compression="gzip",
        compression_opts=DEFLATE_LEVEL,
        track_times=False,
    )
    array.attrs.update(ATTRIBUTES[kind])
    return array


def _write_tables(file: h5py.File, rows: Ints, tables: Sequence[Mapping[str, Ints]]) -> None:
    n_objects = np.zeros(int(rows[-1]) + 1, dtype=np.int32)
    n_objects[rows] = [len(each["boxes"]) for each in tables]
    most = max(1, int(n_objects.max()))
    for name in TABLES:
        table = np.zeros((len(n_objects), most, *((4,) if name == "boxes" else ())), dtype=np.int32)
        for row, each in zip(rows.tolist(), tables, strict=True):
            table[row, : n_objects[row]] = each[name]
        array = file.create_dataset(
            name, data=table, compression="gzip", compression_opts=DEFLATE_LEVEL, track_times=False
        )
        array.attrs.update(ATTRIBUTES[name])
    file.create_dataset("n_objects", data=n_objects, compression="gzip", track_times=False)
    file.create_dataset("indices", data=rows, track_times=False)


def _deflated(array: npt.NDArray[Any]) -> bytes:
    """Packs an array as HDF5's filters do: all first bytes, all second bytes and so on, then zlib."""
    if array.itemsize > 1:
        array = np.ascontiguousarray(array).view(np.uint8).reshape(-1, array.itemsize).T
    return zlib.compress(np.ascontiguousarray(array).tobytes(), DEFLATE_LEVEL)
