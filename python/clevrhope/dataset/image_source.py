"""Reads the images of a pool from PNG files or HDF5, whichever the folder has."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from clevrhope.dataset.hdf5 import ProcessFile
from clevrhope.dataset.images_h5 import IMAGES, ImageArray, images_in
from clevrhope.dataset.layout import Layout, image_filename, images_of
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.source_images import SourceImages, source_images
from clevrhope.errors import DatasetError
from clevrhope.images.png import BEGIN, END, MAX_PNG_BYTES, encode_png, read_png
from clevrhope.runtime.reading import read_bytes


class ImageSource(Protocol):
    """A source of a pool's images: `Images` in files, or a renderer."""

    def pixels(self, index: int) -> ImageArray:
        """(height, width, 3) uint8 RGB of the scene with this index, in an array that the caller owns."""
        ...


class PngImages:
    """The images of a pool as PNG files in a folder, by the scene's index."""

    def __init__(self, folder: Path, named: Callable[[int], str]) -> None:
        """`named` returns the name of a scene's file in the folder."""
        self._folder, self._named = folder, named

    def __repr__(self) -> str:
        return f"<PNG files in {self._folder}>"

    def pixels(self, index: int) -> ImageArray:
        """(height, width, 3) uint8 RGB, in an array that the caller owns.

        Raises:
            DatasetError: the file is missing or cut off.
        """
        return np.array(read_png(self._folder / self._named(index)))  # Pillow's buffer is read-only

    def png(self, index: int) -> Callable[[], bytes]:
        """Returns a function that reads the PNG file; it does the slow part and can run in any thread."""
        path = self._folder / self._named(index)

        def read() -> bytes:
            content = read_bytes(
                path, "a PNG file", remedy="run the dataset's build again", max_bytes=MAX_PNG_BYTES
            )
            if not (content.startswith(BEGIN) and content.endswith(END)):
                raise DatasetError(
                    f"{path}: not a whole PNG file; remove it and run the dataset's build again"
                )
            return content

        return read


class H5Images:
    """The images of a pool in its HDF5 file; methods as in `PngImages`. Pickles without an open file."""

    def __init__(self, layout: Layout, pool: str) -> None:
        self._file = ProcessFile(layout.images_h5(pool), IMAGES)

    def __repr__(self) -> str:
        return f"<images in {self._file.path}>"

    def pixels(self, index: int) -> ImageArray:
        """As `PngImages`."""
        with self._file.reading() as file:
            image: ImageArray = file["images"][index]
        return image

    def png(self, index: int) -> Callable[[], bytes]:
        """As `PngImages`; equal pixels give equal bytes."""
        pixels = self.pixels(index)
        return lambda: encode_png(pixels)


Images: TypeAlias = PngImages | H5Images | SourceImages


def find_images(layout: Layout, pool: str, wanted: Ints, *, prefer: str) -> Images | None:
    """The images of the scenes `wanted` (any order, repeats allowed); None if none of them is rendered.

    `prefer` ("h5" or "png") decides when the folder has both kinds.

    Raises:
        DatasetError: some of the images are missing, or an HDF5 file is cut off.
    """
    wanted = np.unique(wanted)
    if (imported := source_images(layout, pool)) is not None:
        if len(absent := np.setdiff1d(wanted, imported.record.indices)):
            raise DatasetError(
                f"{layout.image_record(pool)}: {len(absent):,} of {len(wanted):,} images are not in the "
                f"imported files, first {absent[0]}"
            )
        return imported
    there = {"h5": images_in(layout.images_h5(pool)), "png": png_indices(layout.images(pool), pool)}
    kinds = ("h5", "png") if prefer == "h5" else ("png", "h5")
    missing = {kind: np.setdiff1d(wanted, there[kind], assume_unique=True) for kind in kinds}
    for kind in kinds:
        if len(there[kind]) and not len(missing[kind]):
            if kind == "h5":
                return H5Images(layout, pool)
            return PngImages(layout.images(pool), partial(image_filename, pool))
    fewest = min(missing.values(), key=len)
    if len(fewest) == len(wanted):
        return None
    raise DatasetError(
        f"{layout.images(pool)}: {len(fewest):,} of {len(wanted):,} images are missing, first "
        f"{image_filename(pool, int(fewest[0]))}; run the dataset's build again to render them"
    )


def png_indices(folder: Path, pool: str) -> Ints:
    """(n,) int32 scene indices of a pool's PNG files in a folder, sorted; empty if there is no folder."""
    return np.asarray(sorted(images_of(folder, pool)), dtype=np.int32)
