"""Writes HDF5 files through a Python file that holds back write errors until the library is done.

When a write fails in the middle of the library's own structures, as on a full disk, every later call of the
library fails too and can end the process. So the first error is kept and later writes are discarded; the
writer checks for the error between its own calls.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py


@contextmanager
def writing_hdf5(path: Path) -> Iterator[tuple[h5py.File, Callable[[], None]]]:
    """Yields a new HDF5 file and a function that raises an earlier write's error, as the block's end does.

    Raises:
        OSError: the disk is full, or a write failed for another reason.
    """
    sink = _ErrorKeepingFile(path)
    try:
        with h5py.File(sink, "w", libver=("earliest", "v110")) as file:
            yield file, sink.check
        sink.check()
    finally:
        sink.close()


class _ErrorKeepingFile:
    """The methods of a binary file that h5py's driver for Python files calls."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self._place = 0
        self._size = 0
        self._error: OSError | None = None
        self.close = self._file.close
        self.flush = self._file.flush  # writes are not buffered, so this does nothing

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    @contextmanager
    def _keeping_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._error = error

    def write(self, content: memoryview) -> int:
        n = len(content)
        if self._error is None:
            with self._keeping_errors():
                self._file.seek(self._place)
                rest = memoryview(content).cast("B")
                while rest:
                    rest = rest[self._file.write(rest) :]
        self._place += n
        self._size = max(self._size, self._place)
        return n

    def read(self, n: int) -> bytes:
        content = bytearray(n)
        self.readinto(memoryview(content))
        return bytes(content)

    def readinto(self, content: memoryview) -> int:
        """Reads; bytes that were never written are zero."""
        self._file.seek(self._place)
        n = self._file.readinto(content) or 0
        content[n:] = bytes(len(content) - n)
        self._place += len(content)
        return len(content)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Sets the position in the file as the library sees it."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def truncate(self, size: int) -> int:
        if self._error is None:
            with self._keeping_errors():
                self._file.truncate(size)
        self._size = size
        return size
