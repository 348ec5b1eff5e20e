"""Locks on the folders of datasets, so that only one run writes to each."""

import errno
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import disk_errors
from clevrhope.runtime.file_lock import lock

LOCK_FILE = ".clevrhope.lock"
"""Present in the folder during a run, on disks that can lock only files, such as NFS, and on Windows."""

LOCKS_OF_LINUX = Path("/proc/locks")
MAX_COMMAND = 100
"""The most characters of a command line that a message shows."""

_ONLY_FILES = {errno.EBADF, errno.EINVAL, errno.EISDIR}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}

_POLL_S = 0.1
"""Seconds between two checks whether a folder is free."""


class FolderInUseError(DatasetError):
    """Another run is using the folder."""


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Makes the folder if necessary and locks it; the lock ends with the process, however it ends.

    Folders that were made for it are removed again if they are empty at the end. The folder itself is locked,
    so no lock file is left in the dataset. On a disk that can lock only files, a file in the folder is
    locked, for all machines that share the disk. A file left by a killed run does no harm.

    Raises:
        FolderInUseError: another run is using the folder; names it if the system can.
        DatasetError: the folder cannot be made, or its disk does not support locks.
    """
    held = False
    while not held:
        with ExitStack() as stack:
            with disk_errors(root):
                made = [path for path in (root, *root.parents) if not path.exists()]
                root.mkdir(parents=True, exist_ok=True)
            if sys.platform == "win32":
                stack.callback(_remove_empty, made)
                stack.enter_context(_locked_file(root / LOCK_FILE))
                yield
                return
            with disk_errors(root):
                folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, folder)
            try:
                _lock(folder, root)
            except OSError as error:
                if error.errno not in _ONLY_FILES:
                    raise
                stack.enter_context(_locked_file(root / LOCK_FILE))
            # The run that held it may have removed it since it was opened, because it was empty.
            held = _is_at(folder, root)
            if held:
                stack.callback(_remove_empty, made)
                yield


def wait_until_free(root: Path, *, seconds: float, stop: Event | None = None) -> None:
    """Returns when no run is using the folder, after `seconds` seconds, or when `stop` is set.

    A run that replaces a killed one waits here, because processes of the killed run may still be writing.

    Raises:
        DatasetError: as for `locked`, except if another run is using the folder.
    """
    deadline = time.monotonic() + seconds
    while root.is_dir():
        try:
            with locked(root):
                return
        except FolderInUseError:
            if time.monotonic() >= deadline or (stop is not None and stop.is_set()):
                return
        time.sleep(_POLL_S)


@contextmanager
def _locked_file(path: Path) -> Iterator[None]:
    """Locks a file, which exists only during the block and names the process that holds it."""
    held = False
    while not held:
        with ExitStack() as stack:
            with disk_errors(path):
                file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            if sys.platform == "win32":  # where an open file cannot be removed
                stack.callback(_remove_file, path)
            stack.callback(os.close, file)
            _lock(file, path.parent, holder=os.read(file, MAX_COMMAND).decode(errors="replace"))
            # Its last holder may have removed it since it was opened; locking such a file has no effect.
            held = _is_at(file, path)
            if held:
                if sys.platform != "win32":
                    stack.callback(_remove_file, path)
                os.truncate(file, 0)
                os.lseek(file, 0, os.SEEK_SET)
                os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
                yield


def _remove_empty(folders: Sequence[Path]) -> None:
    """Removes empty folders, the innermost first, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _remove_file(path: Path) -> None:
    with suppress(
        FileNotFoundError if sys.platform != "win32" else OSError
    ):  # on Windows, other processes may have it open
        path.unlink()


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _lock(descriptor: int, root: Path, *, holder: str = "") -> None:
    """Locks the dataset's folder `root`, or an open file in it, without waiting.

    Raises:
        FolderInUseError: another run holds it.
        DatasetError: the disk does not support locks.
        OSError: the disk cannot lock folders, or files.
    """
    try:
        lock(descriptor)
    except BlockingIOError as error:
        holder = holder or _holder(descriptor)
        who = f" ({holder})" if holder else ""
        raise FolderInUseError(
            f"{root}: another run is writing here{who}; wait for it, or choose another --out"
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise DatasetError(
            f"{root}: its disk does not support locks, without which two runs could mix their files there; "
            "choose a folder on another disk with --out"
        ) from error


def _holder(descriptor: int) -> str:
    """The process that holds a lock on an open folder, and its command line; "" if unknown."""
    inode = str(os.fstat(descriptor).st_ino)
    try:
        for line in LOCKS_OF_LINUX.read_text().splitlines():
            # "1: FLOCK  ADVISORY  WRITE 3180 fe:01:1835008 0 EOF": number, kind, process, device and inode
            _, kind, _, _, pid, place, *_ = line.split()
            if kind == "FLOCK" and place.rpartition(":")[2] == inode and int(pid) > 0:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                command = b" ".join(words).decode(errors="replace")
                if len(command) > MAX_COMMAND:
                    command = f"{command[:MAX_COMMAND]} ..."
                return f"process {pid}: {command}"
    except (OSError, ValueError):
        pass
    return ""
