"""A path in, a file for the HDF5 library that never fails while the library uses it; its error comes after.

When a write fails in the middle of the library's own structures, as on a full disk, it complains on every
later call and can end the process. So the first error is kept, later writes go nowhere, and whoever wrote
asks for the error when it suits.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py


@contextmanager
def writing_hdf5(path: Path) -> Iterator[tuple[h5py.File, Callable[[], None]]]:
    """A new HDF5 file, and what raises the error of an earlier write; the block's end raises it too.

    Raises:
        OSError: the disk is full, or whatever else a write met.
    """
    sink = HeldErrors(path)
    try:
        with h5py.File(sink, "w", libver=("earliest", "v110")) as file:
            yield file, sink.check
        sink.check()
    finally:
        sink.close()


class HeldErrors:
    """The part of a binary file that h5py's driver for Python files uses."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self._place = 0
        self._size = 0
        self._error: OSError | None = None

    def check(self) -> None:
        """Raises the first error there was, if any."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def write(self, content: memoryview) -> int:
        """Writes all of it, or keeps the error."""
        n = len(content)
        try:
            if self._error is None:
                self._file.seek(self._place)
                rest = memoryview(content).cast("B")
                while rest:
                    rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._error = error
        self._place += n
        self._size = max(self._size, self._place)
        return n

    def read(self, n: int) -> bytes:
        """The next n bytes."""
        content = bytearray(n)
        self.readinto(memoryview(content))
        return bytes(content)

    def readinto(self, content: memoryview) -> int:
        """Reads; what never got into the file is zeros."""
        self._file.seek(self._place)
        n = self._file.readinto(content) or 0
        content[n:] = bytes(len(content) - n)
        self._place += len(content)
        return len(content)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves in the file as the library believes it to be."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        """The place of the next write."""
        return self._place

    def truncate(self, size: int) -> int:
        """Sets the size, or keeps the error."""
        try:
            if self._error is None:
                self._file.truncate(size)
        except OSError as error:
            self._error = error
        self._size = size
        return size

    def flush(self) -> None:
        """Nothing waits: writes are not buffered."""
