"""The sole right to write to a folder."""

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import disk_errors

LOCK_FILE = ".clevrhope.lock"
"""In the folder while a run is at work, on disks that lock files alone, as those of NFS."""

LOCKS_OF_LINUX = Path("/proc/locks")
LETTERS_OF_A_COMMAND = 100

_FILES_ALONE = {errno.EBADF, errno.EINVAL, errno.EISDIR}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}

_LOOK_S = 0.1
"""Between two looks whether a folder is free."""


class FolderInUseError(DatasetError):
    """Another run is at work in the folder."""


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Makes the folder if need be and holds it; the lock goes with the process, however it ends.

    Folders that were made for it are removed again where nothing is in them at the end.
    The folder itself is locked, so no lock file is left in the dataset. Where a disk locks files alone, a
    file in it is, on all machines that share it; one that a killed run left there holds nobody up.

    Raises:
        FolderInUseError: another run is at work in the folder, named if the system tells which.
        DatasetError: the folder cannot be made, or its disk has no locks at all.
    """
    held = False
    while not held:
        with ExitStack() as stack:
            with disk_errors(root):
                made = [path for path in (root, *root.parents) if not path.exists()]
                root.mkdir(parents=True, exist_ok=True)
                folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, folder)
            try:
                _lock(folder, root)
            except OSError as error:
                if error.errno not in _FILES_ALONE:
                    raise
                stack.enter_context(_locked_file(root / LOCK_FILE))
            # Whoever had it may have removed it since it was opened, for being empty.
            held = _is_at(folder, root)
            if held:
                stack.callback(_remove_empty, made)
                yield


def wait_until_free(root: Path, *, seconds: float, stop: Event | None = None) -> None:
    """Returns when no run is at work in the folder, after so many seconds, or when `stop` is set.

    For whoever begins where another was killed, whose processes may still be saving what they have.

    Raises:
        DatasetError: as `locked`, but for a run at work.
    """
    deadline = time.monotonic() + seconds
    while root.is_dir():
        try:
            with locked(root):
                return
        except FolderInUseError:
            if time.monotonic() >= deadline or (stop is not None and stop.is_set()):
                return
        time.sleep(_LOOK_S)


@contextmanager
def _locked_file(path: Path) -> Iterator[None]:
    """Holds a file, which is there for that long and says who does."""
    held = False
    while not held:
        with ExitStack() as stack:
            with disk_errors(path):
                file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
            stack.callback(os.close, file)
            _lock(file, path.parent, words=os.pread(file, LETTERS_OF_A_COMMAND, 0).decode(errors="replace"))
            # Whoever had it may have removed it since it was opened: such a file keeps nobody out.
            held = _is_at(file, path)
            if held:
                stack.callback(path.unlink, missing_ok=True)
                os.truncate(file, 0)
                os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
                yield


def _remove_empty(folders: Sequence[Path]) -> None:
    """Removes folders, the innermost first, up to one with something in it."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _lock(descriptor: int, root: Path, *, words: str = "") -> None:
    """Locks an open folder or file, which is of the dataset's folder `root`, at once or not at all.

    Raises:
        FolderInUseError: another run holds it.
        DatasetError: the disk has no locks.
        OSError: this kind of thing cannot be locked.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = words or _holder(descriptor)
        who = f" ({holder})" if holder else ""
        raise FolderInUseError(
            f"{root}: another run is writing here{who}; wait for it, or choose another --out"
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise DatasetError(
            f"{root}: its disk has no locks, without which two runs could mix their files there; "
            "choose a folder of another disk with --out"
        ) from error


def _holder(descriptor: int) -> str:
    """The process that holds a lock on what is open, and its command line; nothing where nobody tells."""
    inode = str(os.fstat(descriptor).st_ino)
    try:
        for line in LOCKS_OF_LINUX.read_text().splitlines():
            # "1: FLOCK  ADVISORY  WRITE 3180 fe:01:1835008 0 EOF": number, kind, process, device and inode
            _, kind, _, _, pid, place, *_ = line.split()
            if kind == "FLOCK" and place.rpartition(":")[2] == inode and int(pid) > 0:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                command = b" ".join(words).decode(errors="replace")
                if len(command) > LETTERS_OF_A_COMMAND:
                    command = f"{command[:LETTERS_OF_A_COMMAND]} ..."
                return f"process {pid}: {command}"
    except (OSError, ValueError):
        pass
    return ""
