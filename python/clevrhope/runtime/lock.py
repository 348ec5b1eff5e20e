"""Locks on the folders of datasets, so that only one run writes to each."""

import errno
import os
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import disk_errors
from clevrhope.runtime.paths import check_links

if sys.platform == "win32":
    import msvcrt

    #: The byte that is locked. Others cannot read a locked byte, so it is beyond the content of the file.
    _BYTE = 1 << 30
else:
    import fcntl

LOCK_FILE = ".clevrhope.lock"
"""Present in the folder during a run, and named in it the process that holds it."""

OWNER = ".clevrhope-dataset"
"""In a folder to which a dataset's link leads: names the dataset."""

OR_ELSEWHERE = ", or choose another --out"
"""The end of what a message advises where another run is writing."""

MAX_HOLDER = 200
"""The most characters that a message shows of the process that holds a lock."""

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}

_POLL_S = 0.1
"""Seconds between two checks whether a folder is free."""


class FolderInUseError(DatasetError):
    """Another run is using the folder."""


def lock(descriptor: int) -> None:
    """Locks an open file without waiting; the lock ends with the process, however it ends.

    Raises:
        BlockingIOError: another process holds it.
        OSError: the disk does not support such locks.
    """
    if sys.platform == "win32":
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(root: Path, names: Iterable[str] = (), *, elsewhere: Iterable[str] = ()) -> Iterator[None]:
    """Makes the folder if necessary and locks a file in it, for all machines that share the disk.

    The file is there only during the block; one that a killed run left does no harm. Folders that were made
    for it are removed again if they are empty at the end.

    Args:
        root: the folder.
        names: what the block writes below it, and `elsewhere` what of that may be on another disk; both as
            for `check_links`.
        elsewhere: see `names`.

    Raises:
        FolderInUseError: another run is using the folder; names it.
        DatasetError: the folder cannot be made, its disk does not support locks, or a link leads out of it
            or to files that may belong to another dataset.
    """
    path = root / LOCK_FILE
    held = False
    while not held:
        with ExitStack() as stack:
            with disk_errors(root):
                made = [each for each in (root, *root.parents) if not each.exists()]
                root.mkdir(parents=True, exist_ok=True)
                stack.callback(_remove_empty, made)
                file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            if sys.platform == "win32":  # where an open file cannot be removed
                stack.callback(_remove_file, path)
            stack.callback(os.close, file)
            _lock_in(root, file)
            # Its last holder may have removed it since it was opened; locking such a file has no effect.
            held = _is_at(file, path)
            if held:
                if sys.platform != "win32":
                    stack.callback(_remove_file, path)
                command = f"process {os.getpid()} on {socket.gethostname()}: {' '.join(sys.argv)}"
                os.truncate(file, 0)
                with suppress(OSError):  # a full disk, on which a run may still remove files
                    os.write(file, command.encode(errors="replace"))
                check_links(root, names, elsewhere=elsewhere)
                for name in elsewhere:
                    _claim(root, name)
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


def _claim(root: Path, name: str) -> None:
    """Notes on another disk which dataset has its files there, as a copy of a link leads to the same files.

    Raises:
        DatasetError: another dataset has its files there, or may have, since there are files without a note.
    """
    link, home = root / name, os.path.realpath(root)
    if not link.is_symlink() or Path(os.path.realpath(link)).is_relative_to(home):
        return
    note = link / OWNER
    with disk_errors(note):
        is_noted = note.exists()
        owner = note.read_text("utf-8", errors="replace").strip() if is_noted else ""
        if owner and owner != home and os.path.realpath(Path(owner, name)) == os.path.realpath(link):
            raise DatasetError(f"{link}: a link to files of {owner}; put a copy of them in its place")
        if not is_noted and any(link.iterdir()):
            raise DatasetError(
                f"{link}: a link to files that may be those of another dataset, too, as after a copy; put a "
                f"copy of them in its place, or, if they are not, make an empty file {note}"
            )
        if owner != home:
            note.write_text(home, "utf-8")


def _lock_in(root: Path, file: int) -> None:
    """Locks an open file in a folder; errors as for `locked`."""
    try:
        lock(file)
    except BlockingIOError as error:
        holder = os.read(file, MAX_HOLDER).decode(errors="replace")
        raise FolderInUseError(
            f"{root}: another run is writing here ({holder}); wait for it{OR_ELSEWHERE}"
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise DatasetError(
            f"{root}: its disk does not support locks, without which two runs could mix their files there; "
            "use a folder on another disk"
        ) from error


def _remove_empty(folders: list[Path]) -> None:
    """Removes empty folders, the innermost first, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _remove_file(path: Path) -> None:
    # On Windows, other processes may have it open.
    with suppress(OSError if sys.platform == "win32" else FileNotFoundError):
        path.unlink()


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
