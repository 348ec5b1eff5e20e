"""A dataset's folder in, the sole right to write to it out."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clevrhope.atomic import disk_errors
from clevrhope.errors import DatasetError


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Makes the folder if need be and holds it; the lock goes with the process, however it ends.

    The folder itself is locked, so no lock file is left in the dataset.

    Raises:
        DatasetError: another run is at work in the folder, or it cannot be made.
    """
    with disk_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DatasetError(
                f"{root}: another run is writing here; wait for it, or choose another --out"
            ) from error
        yield
    finally:
        os.close(descriptor)
