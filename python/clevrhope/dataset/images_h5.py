"""PNG files of a pool in, one HDF5 file with the same pixels out, and back.

| dataset | shape                    | type  | holds |
|---------|--------------------------|-------|-------|
| images  | (size, height, width, 3) | uint8 | row i: the image of the pool's scene i, RGB |
| indices | (n,)                     | int32 | the rows that hold an image, sorted |

`size` is the last used index plus one. A row is a chunk, and a chunk that was never written takes no bytes,
so rows can be scene indices although most scenes of a pool may be in no split.

The file's bytes depend on its images alone, not on the runs that brought them: a larger file is written
beside the old one, which gives its packed chunks as they are, and takes its place when it is whole.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, Schema, damage, open_hdf5, reading_hdf5
from clevrhope.dataset.held_errors import writing_hdf5
from clevrhope.errors import DatasetError
from clevrhope.images.png import read_png
from clevrhope.runtime.atomic import whole_file

ImageArray = npt.NDArray[np.uint8]

DEFLATE_LEVEL = 4
"""zlib's effort on an image."""

IMAGES = Schema(
    "an HDF5 file of images",
    {"images": Array("u", (None, None, 3), sparse=True), "indices": Array("iu", group="indices")},
)


def aggregate_images(
    path: Path,
    indices: Sequence[int],
    png_of: Callable[[int], Path],
    *,
    pool: str,
    on_image: Callable[[], None] = lambda: None,
) -> bool:
    """Makes `path` hold exactly the images of `indices` (sorted); False when it already does.

    Images that are in the old file are taken from there, others from `png_of(index)`.

    Raises:
        DatasetError: a PNG is missing or of another size, no space left, no permission.
    """
    wanted = np.asarray(indices, dtype=np.int32)
    if not len(wanted) or np.array_equal(wanted, images_in(path)):
        return False
    with whole_file(path) as temporary, _old_file(path) as old:
        height, width = old.size or _png_size(png_of(int(wanted[0])))
        with writing_hdf5(temporary) as (file, check):
            images = file.create_dataset(
                "images",
                shape=(int(wanted[-1]) + 1, height, width, 3),
                chunks=(1, height, width, 3),
                dtype=np.uint8,
                compression="gzip",
                compression_opts=DEFLATE_LEVEL,
                track_times=False,
            )
            file.create_dataset("indices", data=wanted, track_times=False)
            file.attrs["pool"] = pool
            for index, chunk in _packed(wanted, old, png_of, (height, width)):
                images.id.write_direct_chunk((index, 0, 0, 0), chunk)
                check()
                on_image()
    return True


def images_in(path: Path) -> npt.NDArray[np.int32]:
    """The indices of the images in a file, sorted; none where there is no file.

    Raises:
        DatasetError: not such a file.
    """
    if not path.exists():
        return np.zeros(0, dtype=np.int32)
    with reading_hdf5(path, IMAGES) as file:
        return _indices(file, path)


def read_images(path: Path, indices: Iterable[int]) -> Iterator[tuple[int, ImageArray]]:
    """Index and pixels (height, width, 3) uint8 RGB of images in a file.

    Raises:
        DatasetError: not such a file.
    """
    with reading_hdf5(path, IMAGES) as file:
        images = file["images"]
        for index in indices:
            yield index, images[index]


class _OldFile:
    """The images that an earlier run packed; none where there was none."""

    def __init__(self, images: h5py.Dataset | None, indices: Iterable[int], path: Path) -> None:
        self._images, self._path = images, path
        self._indices = frozenset(int(index) for index in indices)

    @property
    def size(self) -> tuple[int, int] | None:
        return None if self._images is None else self._images.shape[1:3]

    def __contains__(self, index: int) -> bool:
        return index in self._indices

    def chunk(self, index: int) -> bytes:
        assert self._images is not None
        with damage(self._path, IMAGES):
            chunk: bytes = self._images.id.read_direct_chunk((index, 0, 0, 0))[1]
        return chunk


@contextmanager
def _old_file(path: Path) -> Iterator[_OldFile]:
    if not path.exists():
        yield _OldFile(None, (), path)
        return
    with closing(open_hdf5(path, IMAGES)) as file:
        with damage(path, IMAGES):
            old = _OldFile(file["images"], _indices(file, path), path)
        yield old  # not within the boundary: writing the next file has errors of its own


def _packed(
    wanted: npt.NDArray[np.int32], old: _OldFile, png_of: Callable[[int], Path], size: tuple[int, int]
) -> Iterator[tuple[int, bytes]]:
    """Packed chunks in order; a few threads unpack PNG files and pack pixels ahead of the writer."""
    n_prefetched = 4 * (os.cpu_count() or 1)
    with ThreadPoolExecutor() as pool:

        def start(index: int) -> tuple[int, Future[bytes] | None]:
            return index, None if index in old else pool.submit(_pack, png_of(index), size)

        coming = (start(int(index)) for index in wanted)
        queue = list(islice(coming, n_prefetched))
        try:
            while queue:
                index, future = queue.pop(0)
                yield index, old.chunk(index) if future is None else future.result()
                queue.extend(islice(coming, 1))
        finally:
            for _, future in queue:
                if future is not None:
                    future.cancel()


def _pack(png: Path, size: tuple[int, int]) -> bytes:
    pixels = read_png(png)
    if pixels.shape[:2] != size:
        raise DatasetError(
            f"{png}: {pixels.shape[1]} x {pixels.shape[0]} pixels, but the pool has {size[1]} x {size[0]}"
        )
    return zlib.compress(pixels.tobytes(), DEFLATE_LEVEL)


def _png_size(path: Path) -> tuple[int, int]:
    height, width = read_png(path).shape[:2]
    return height, width


def _indices(file: h5py.File, path: Path) -> npt.NDArray[np.int32]:
    """The rows that hold an image, sorted, each once."""
    indices: npt.NDArray[np.int32] = file["indices"][:]
    if len(indices) and (
        indices[0] < 0 or indices[-1] >= len(file["images"]) or (np.diff(indices.astype(np.int64)) <= 0).any()
    ):
        raise DatasetError(f"{path}: indices are not rows of images in ascending order; {IMAGES.remedy}")
    return indices
