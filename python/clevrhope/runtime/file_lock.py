"""Locks on open files, and on open folders if the system supports them."""

import os
import sys

if sys.platform == "win32":
    import msvcrt

    #: The byte that is locked. Others cannot read a locked byte, so it is beyond the content of the file.
    _BYTE = 1 << 30

    def lock(descriptor: int) -> None:
        """Locks without waiting; the lock ends with the process.

        Raises:
            BlockingIOError: another process holds it.
            OSError: the disk does not support such locks.
        """
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error

else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Locks without waiting; the lock ends with the process.

        Raises:
            BlockingIOError: another process holds it.
            OSError: the disk does not support such locks.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
