"""An HDF5 file that each process opens for itself.

A handle of the HDF5 library must not cross into another process, neither by pickling nor by fork, where two
processes would share the library's state of the file. So the handle belongs to the process that opened it on
its first read; a copy in another process opens the file again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from clevrhope.dataset.hdf5 import MAX_ROWS, Schema, damage, open_hdf5


class ProcessFile:
    """An HDF5 file that each process opens for reading; it pickles as its path."""

    def __init__(self, path: Path, schema: Schema, *, max_rows: int = MAX_ROWS) -> None:
        """Takes the arguments of `open_hdf5`, but does not open the file yet."""
        self.path = path
        self._schema = schema
        self._max_rows = max_rows
        self._file: h5py.File | None = None
        self._process = -1

    @contextmanager
    def reading(self) -> Iterator[h5py.File]:
        """Yields the open file, which stays open after the block.

        Raises:
            DatasetError: as for `open_hdf5`, or the file is damaged where the block reads it.
        """
        if self._file is None or self._process != os.getpid():
            self._file = open_hdf5(self.path, self._schema, max_rows=self._max_rows)
            self._process = os.getpid()
        with damage(self.path, self._schema):
            yield self._file

    def close(self) -> None:
        """Closes this process's handle; the next read opens it again."""
        if self._file is not None and self._process == os.getpid():
            self._file.close()
        self._file = None

    def __repr__(self) -> str:
        return f"ProcessFile({str(self.path)!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None, "_process": -1}
