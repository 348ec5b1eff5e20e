"""A pool in, its images out as pixels, as PNG or packed for HDF5, from whichever files are there."""

import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from os import cpu_count
from pathlib import Path
from typing import Protocol

import numpy as np

from clevrhope.dataset.clevr_folder import image_name, images_folder
from clevrhope.dataset.images_h5 import DEFLATE_LEVEL, IMAGES, ImageArray, images_in
from clevrhope.dataset.layout import Layout, image_filename, images_of
from clevrhope.dataset.process_file import ProcessFile
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.images.png import MAX_PNG_BYTES, encode_png, read_png
from clevrhope.runtime.reading import read_bytes

_PNG_HEAD, _PNG_TAIL = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"


class Images(Protocol):
    """The images of one pool, by the scene's index. Pickles without an open file."""

    def pixels(self, index: int) -> ImageArray:
        """(height, width, 3) uint8 RGB, an array of the caller's own."""
        ...

    def png(self, index: int) -> Callable[[], bytes]:
        """What gives the PNG file; to be called in any thread, with the slow part of the work in it."""
        ...

    def deflated(self, index: int) -> Callable[[], bytes]:
        """What gives the pixels as zlib packs them, the form of a chunk in HDF5; as `png`."""
        ...


class PngImages:
    """PNG files of a folder."""

    def __init__(self, folder: Path, named: Callable[[int], str]) -> None:
        """The folder, and what gives a scene's file in it its name."""
        self._folder, self._named = folder, named

    def _path(self, index: int) -> Path:
        return self._folder / self._named(index)

    def pixels(self, index: int) -> ImageArray:
        """As `Images`; a DatasetError names a file that is missing or cut off."""
        return np.array(read_png(self._path(index)))  # a copy: Pillow's own buffer cannot be written to

    def png(self, index: int) -> Callable[[], bytes]:
        """The file as it is."""
        path = self._path(index)

        def read() -> bytes:
            content = read_bytes(path, "a PNG file", remedy="run its build again", max_bytes=MAX_PNG_BYTES)
            if not (content.startswith(_PNG_HEAD) and content.endswith(_PNG_TAIL)):
                raise DatasetError(f"{path}: not a whole PNG file; remove it and run its build again")
            return content

        return read

    def deflated(self, index: int) -> Callable[[], bytes]:
        """As `Images`."""
        path = self._path(index)
        return lambda: zlib.compress(read_png(path).tobytes(), DEFLATE_LEVEL)


class H5Images:
    """The rows of a pool's HDF5 file."""

    def __init__(self, layout: Layout, pool: str) -> None:
        self._file = ProcessFile(layout.images_h5(pool), IMAGES)

    def pixels(self, index: int) -> ImageArray:
        """As `Images`; a DatasetError tells of a file that is cut off."""
        with self._file.reading() as file:
            image: ImageArray = file["images"][index]
        return image

    def png(self, index: int) -> Callable[[], bytes]:
        """As `Images`; the same pixels give the same bytes."""
        pixels = self.pixels(index)
        return lambda: encode_png(pixels)

    def deflated(self, index: int) -> Callable[[], bytes]:
        """The chunk as it is."""
        with self._file.reading() as file:
            chunk: bytes = file["images"].id.read_direct_chunk((index, 0, 0, 0))[1]
        return lambda: chunk


def find_images(layout: Layout, pool: str, wanted: Ints, *, prefer: str) -> Images | None:
    """Where the images of the scenes `wanted` (any order, repeated or not) are; None where there are none.

    `prefer` ("h5" or "png") is taken when the folder has both kinds.

    Raises:
        DatasetError: some of the images are there and others are not, or an HDF5 file is cut off.
    """
    wanted = np.unique(wanted)
    there = {"h5": images_in(layout.images_h5(pool)), "png": png_indices(layout, pool)}
    kinds = ("h5", "png") if prefer == "h5" else ("png", "h5")
    missing = {kind: np.setdiff1d(wanted, there[kind], assume_unique=True) for kind in kinds}
    for kind in kinds:
        if len(there[kind]) and not len(missing[kind]):
            return H5Images(layout, pool) if kind == "h5" else _png_images(layout, pool)
    fewest = min(missing.values(), key=len)
    if len(fewest) == len(wanted):
        return None
    raise DatasetError(
        f"{layout.images(pool)}: {len(fewest):,} of {len(wanted):,} images are missing, first "
        f"{image_filename(pool, int(fewest[0]))}; run its build again to render them"
    )


def clevr_images(folder: Path, split: str) -> Images:
    """The images of a split in a CLEVR folder."""
    return PngImages(images_folder(folder, split), partial(image_name, split=split))


def _png_images(layout: Layout, pool: str) -> Images:
    return PngImages(layout.images(pool), partial(image_filename, pool))


def png_indices(layout: Layout, pool: str) -> Ints:
    """The scene indices of a pool's PNG files, sorted; none where there is no folder."""
    return np.asarray(sorted(images_of(layout.images(pool), pool)), dtype=np.int32)


def prefetch(work: Iterator[Callable[[], bytes]]) -> Iterator[bytes]:
    """The results of calls, in order; threads are a few calls ahead of the reader, so memory stays flat."""
    with ThreadPoolExecutor(cpu_count() or 1) as threads:
        queue: list[Future[bytes]] = [threads.submit(call) for call in islice(work, 4 * (cpu_count() or 1))]
        try:
            while queue:
                yield queue.pop(0).result()
                queue.extend(threads.submit(call) for call in islice(work, 1))
        finally:
            for future in queue:
                future.cancel()
