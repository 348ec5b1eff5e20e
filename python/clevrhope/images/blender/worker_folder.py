"""Folders for workers, in memory if the system allows it, with nothing left behind.

An image passes through a file on its way out of Blender. If a worker and its run are killed together, as a
cluster's scheduler does, the folder stays; the next worker that starts on the machine removes it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from clevrhope.runtime.lock import lock

MEMORY_FOLDER = Path("/dev/shm")
PREFIX = "clevrhope-worker-"
#: Locked by the run while the folder is in use, whichever machine or container shares it.
LOCK = "in_use"
#: A younger folder is left alone, because it may not be locked yet.
LEAST_AGE_S = 60.0


class WorkerFolder:
    """A folder that is in use until `remove`, or until this process ends.

    Attributes:
        path: the folder.
    """

    def __init__(self) -> None:
        place = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else Path(tempfile.gettempdir())
        remove_abandoned(place)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT)
        with suppress(OSError):  # a disk without locks, on which no other worker ever removes the folder
            lock(self._lock)

    def remove(self) -> None:
        """Removes the folder and everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_abandoned(place: Path) -> None:
    """Removes this user's worker folders whose run ended without removing them."""
    for path in place.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it has just vanished, or belongs to another user
            if path.stat().st_uid != _user() or time.time() - path.stat().st_mtime < LEAST_AGE_S:
                continue
            descriptor = os.open(path / LOCK, os.O_RDWR)
            try:
                lock(descriptor)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _user() -> int:
    """This user's number as `stat` reports it; 0 for everyone on Windows."""
    return 0 if sys.platform == "win32" else os.getuid()
