"""The path of an HDF5 file in, a handle that each process opens for itself out.

A handle of the HDF5 library must not cross into another process, neither by pickling nor by fork, where two
processes would share what the library remembers of the file. So the handle belongs to the process that opened
it, when it first read; a copy elsewhere opens the file again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from clevrhope.dataset.hdf5_words import hdf5_words
from clevrhope.errors import DatasetError


class ProcessFile:
    """An HDF5 file, open for reading in whatever process reads it; it pickles as its path."""

    def __init__(self, path: Path, what: str) -> None:
        """Opens nothing yet; `what` names the kind of file in errors ("question file")."""
        self.path = path
        self._what = what
        self._file: h5py.File | None = None
        self._process = -1

    @contextmanager
    def reading(self) -> Iterator[h5py.File]:
        """The open file; stays open after the block.

        Raises:
            DatasetError: no such file, cut off, or broken where it is read.
        """
        try:
            if self._file is None or self._process != os.getpid():
                self._file = h5py.File(self.path, "r")
                self._process = os.getpid()
            yield self._file
        except FileNotFoundError as error:
            raise DatasetError(f"{self.path}: no such file") from error
        except (OSError, KeyError, RuntimeError) as error:
            if isinstance(error, DatasetError):
                raise
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            reason = hdf5_words(error) if isinstance(error, OSError) else said
            raise DatasetError(
                f"{self.path}: no whole {self._what} of clevrhope ({reason}); "
                "remove it and run its build again"
            ) from error

    def close(self) -> None:
        """Closes this process's handle; the next read opens it again."""
        if self._file is not None and self._process == os.getpid():
            self._file.close()
        self._file = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_what": self._what, "_file": None, "_process": -1}
