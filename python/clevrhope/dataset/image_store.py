"""Images of a pool that wait to be packed into HDF5: one file, to which each new image is appended.

The file begins with `BEGIN`. A record consists of a header (checksum of everything that follows, index,
height, width, number of bytes in the chunk) and the chunk for HDF5. Writing does not wait for the disk, so a
killed run may leave a truncated record, and a power failure damaged ones. Only the records before the first
such record count; the other images are rendered again. Only a run that has locked the dataset writes; others
may read meanwhile.
"""

import os
import struct
import zlib
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Self

import numpy as np

from clevrhope.dataset.images_h5 import ImageArray, PackedImage
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import disk_errors, write_whole
from clevrhope.runtime.reading import reading

BEGIN = b"clevrhope: images that wait to be packed\n"
WHAT = "images that wait to be packed"

_HEADER = struct.Struct("<5I")


class ImageStore:
    """Appends images to a store, which is created with the first one, and reads them, from any thread."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._file: FileIO | None = None
        self._begins: dict[int, int] = {}
        self._end = 0

    def __enter__(self) -> Self:
        """Opens the file, if it exists, and cuts off what does not count; errors as for `check_store`."""
        check_store(self._path)
        if self._path.exists():
            self._open()
        return self

    def _open(self) -> FileIO:
        self._begins, self._end = _records(self._path)
        with disk_errors(self._path):
            self._file = FileIO(self._path, "r+")
            self._file.truncate(self._end)
        return self._file

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            with disk_errors(self._path):  # a network disk may report some errors only here
                self._file.close()

    def __contains__(self, index: int) -> bool:
        return index in self._begins

    def add(self, index: int, pixels: ImageArray) -> None:
        """Appends the image of a scene, (height, width, 3) uint8 RGB.

        Raises:
            DatasetError: no space is left, or the file may not be written to.
        """
        image = PackedImage.of(pixels)
        header = _HEADER.pack(0, index, *image.size, len(image.chunk))
        record = _checksum(header, image.chunk).to_bytes(4, "little") + header[4:] + image.chunk
        with self._lock, disk_errors(self._path):
            if self._file is None:
                write_whole(self._path, BEGIN)
            file = self._file or self._open()
            file.seek(self._end)  # the end of the last whole record, even if a later write failed
            left = memoryview(record)
            while left:
                left = left[file.write(left) :]
            self._begins[index] = self._end
            self._end += len(record)

    def packed(self, index: int) -> PackedImage:
        """The image of a scene that the store holds."""
        assert self._file is not None
        with self._lock, reading(self._path, WHAT):
            self._file.seek(self._begins[index])
            checksum, _, height, width, n_bytes = _HEADER.unpack(header := self._file.read(_HEADER.size))
            chunk = self._file.read(n_bytes)
        if checksum != _checksum(header, chunk):
            raise DatasetError(f"{self._path}: damaged while it was in use; run the command again")
        return PackedImage((height, width), chunk)


def stored_images(path: Path, *, checks: bool = True) -> Ints:
    """(n,) int32 indices of the images in a store, sorted; empty if it does not exist.

    Without `checks`, only the headers are read, so damaged images count.
    """
    return np.asarray(sorted(_records(path, checks=checks)[0]) if _is_store(path) else [], dtype=np.int32)


def check_store(path: Path) -> None:
    """Checks, before anything is written, that nothing else is at a store's path.

    Raises:
        DatasetError: there is a folder, a link, or a file that this program did not write.
    """
    if os.path.lexists(path) and not _is_store(path):
        raise DatasetError(f"{path}: it is in the way of a working file; move it elsewhere")


def remove_store(path: Path) -> None:
    """Removes a store, but nothing else that may be at its path."""
    if _is_store(path):
        with disk_errors(path):
            path.unlink()


def _is_store(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with reading(path, WHAT), path.open("rb") as file:
        return file.read(len(BEGIN)) == BEGIN


def _records(path: Path, *, checks: bool = True) -> tuple[dict[int, int], int]:
    """Where each image's record begins, by the scene's index, and where the last record ends."""
    begins, end = {}, len(BEGIN)
    with reading(path, WHAT), path.open("rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        file.seek(end)
        while len(header := file.read(_HEADER.size)) == _HEADER.size:
            checksum, index, _, _, n_chunk = _HEADER.unpack(header)
            after = end + len(header) + n_chunk
            if after > n_bytes or (checks and checksum != _checksum(header, file.read(n_chunk))):
                break
            begins[index], end = end, after
            file.seek(end)
    return begins, end


def _checksum(header: bytes, chunk: bytes) -> int:
    return zlib.crc32(chunk, zlib.crc32(header[4:]))
