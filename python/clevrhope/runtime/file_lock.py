"""Locks on open files, and on open folders where the system has those."""

import os
import sys

if sys.platform == "win32":
    import msvcrt

    #: The byte that is locked. Others cannot read a locked one there, so it lies beyond what is in the file.
    _BYTE = 1 << 30

    def lock(descriptor: int) -> None:
        """Locks at once or not at all; the lock ends with the process.

        Raises:
            BlockingIOError: another process holds it.
            OSError: the disk has no such locks.
        """
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error

else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Locks at once or not at all; the lock ends with the process.

        Raises:
            BlockingIOError: another process holds it.
            OSError: the disk has no such locks.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
