"""The images of a pool in one HDF5 file: packing and reading.

| dataset | shape                    | type  | holds |
|---------|--------------------------|-------|-------|
| images  | (size, height, width, 3) | uint8 | row i: the image of the pool's scene i, RGB |
| indices | (n,)                     | int32 | the rows that hold an image, sorted |

`size` is the last used index plus one. Each row is a chunk, and a chunk that was never written takes no
space, so rows can be scene indices although most scenes of a pool may belong to no split.

The file's bytes depend only on its images, not on the runs that added them: a larger file is written beside
the old one, copying its packed chunks, and replaces it when it is whole.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from operator import call
from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, Schema, damage, open_hdf5, reading_hdf5
from clevrhope.dataset.hdf5_writer import writing_hdf5
from clevrhope.dataset.layout import image_filename
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import whole_file
from clevrhope.runtime.threads import map_in_threads

ImageArray = npt.NDArray[np.uint8]

DEFLATE_LEVEL = 4
"""zlib's compression level for an image."""

IMAGES = Schema(
    "an HDF5 file of images",
    {"images": Array("u", (None, None, 3), sparse=True), "indices": Array("iu", group="indices")},
)


@dataclass(frozen=True)
class PackedImage:
    """An image as a chunk of `images`."""

    size: tuple[int, int]
    """Height and width."""
    chunk: bytes

    @classmethod
    def of(cls, pixels: ImageArray) -> "PackedImage":
        """Packs (height, width, 3) uint8 RGB."""
        height, width, _ = pixels.shape
        return cls((height, width), zlib.compress(pixels.tobytes(), DEFLATE_LEVEL))

    def pixels(self) -> ImageArray:
        """(height, width, 3) uint8 RGB."""
        return np.frombuffer(zlib.decompress(self.chunk), dtype=np.uint8).reshape(*self.size, 3)


def aggregate_images(
    path: Path,
    indices: Sequence[int],
    packed_of: Callable[[int], PackedImage],
    *,
    pool: str,
    on_image: Callable[[], None] = lambda: None,
) -> bool:
    """Makes `path` hold exactly the images of `indices` (sorted); returns False if it already does.

    Images in the old file are copied from it, and others come from `packed_of(index)`, which is called in
    other threads.

    Raises:
        DatasetError: an image differs in size from the rest, or the disk is full or may not be written to.
    """
    wanted, there = np.asarray(indices, dtype=np.int32), images_in(path)
    if not len(wanted) or np.array_equal(wanted, there):
        return False
    with ExitStack() as stack:
        temporary = stack.enter_context(whole_file(path))
        old = stack.enter_context(closing(open_hdf5(path, IMAGES)))["images"] if len(there) else None
        packed_before = frozenset(there.tolist())
        height, width = packed_of(int(wanted[0])).size if old is None else old.shape[1:3]

        def new_chunk(index: int) -> bytes:
            image = packed_of(index)
            if image.size != (height, width):
                raise DatasetError(
                    f"{image_filename(pool, index)}: {image.size[1]} x {image.size[0]} pixels, but the pool "
                    f"has {width} x {height}"
                )
            return image.chunk

        def packing(index: int) -> Callable[[], bytes]:
            """Returns a function that any thread can run; HDF5 is read here, in the caller's thread."""
            if old is None or index not in packed_before:
                return partial(new_chunk, index)
            with damage(path, IMAGES):
                chunk: bytes = old.id.read_direct_chunk((index, 0, 0, 0))[1]
            return lambda: chunk

        with writing_hdf5(temporary) as (file, check):
            images = create_images(file, "images", (int(wanted[-1]) + 1, height, width, 3))
            file.create_dataset("indices", data=wanted, track_times=False)
            file.attrs["pool"] = pool
            chunks = map_in_threads(call, map(packing, wanted.tolist()), threads=None)
            for index, chunk in zip(wanted.tolist(), chunks, strict=True):
                images.id.write_direct_chunk((index, 0, 0, 0), chunk)
                check()
                on_image()
    return True


def create_images(file: h5py.File, name: str, shape: tuple[int, ...]) -> h5py.Dataset:
    """Creates an array of images, (N, ...) uint8, in a file, with a chunk for each image."""
    return file.create_dataset(
        name,
        shape=shape,
        chunks=(1, *shape[1:]),
        dtype=np.uint8,
        compression="gzip",
        compression_opts=DEFLATE_LEVEL,
        track_times=False,
    )


def images_in(path: Path) -> npt.NDArray[np.int32]:
    """(n,) int32 indices of the images in a file, sorted; empty if the file does not exist.

    Raises:
        DatasetError: the file is damaged or not an image file.
    """
    if not path.exists():
        return np.zeros(0, dtype=np.int32)
    with reading_hdf5(path, IMAGES) as file:
        return _indices(file, path)


def read_images(path: Path, indices: Iterable[int]) -> Iterator[tuple[int, ImageArray]]:
    """Yields index and pixels, (height, width, 3) uint8 RGB, of images in a file.

    Raises:
        DatasetError: the file is missing, damaged or not an image file.
    """
    with reading_hdf5(path, IMAGES) as file:
        images = file["images"]
        for index in indices:
            yield index, images[index]


def _indices(file: h5py.File, path: Path) -> npt.NDArray[np.int32]:
    """The rows that hold an image, sorted, each once."""
    indices: npt.NDArray[np.int32] = file["indices"][:]
    if len(indices) and (
        indices[0] < 0 or indices[-1] >= len(file["images"]) or (np.diff(indices.astype(np.int64)) <= 0).any()
    ):
        raise DatasetError(f"{path}: indices are not rows of images in ascending order; {IMAGES.remedy}")
    return indices
