"""New folders, each of which appears complete or not at all.

The folder is written in a hidden one beside its final place and renamed at the end. The next run removes what
a killed run left there.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import FULL_DISK, disk_errors, sync_folder, temporary_path
from clevrhope.runtime.lock import LOCK_FILE, locked

WORK = "export"
"""The folder in the hidden one that gets its name when it is complete."""


def check_new(folder: Path) -> None:
    """Checks that a folder does not exist yet, or is empty.

    Raises:
        DatasetError: there is something, or it cannot be read.
    """
    try:
        stray = next(folder.iterdir(), None)
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise DatasetError(f"{folder}: a file, not a folder; choose another folder") from error
    except PermissionError as error:
        raise DatasetError(f"{folder}: no permission to read it; choose another folder") from error
    if stray is not None:
        raise DatasetError(f"{folder}: not empty ({stray.name}); choose another folder, or remove it first")


@contextmanager
def whole_folder(folder: Path, *, option: str = "--out") -> Iterator[Path]:
    """Yields a folder that gets the name `folder` after the block, or is removed if the block raises.

    Args:
        folder: the final path of the folder.
        option: the option with which the user chose it.

    Raises:
        DatasetError: the disk is full or not writable, or something is in the way of the hidden folder.
    """
    temporary = temporary_path(folder.absolute())
    _check_own(temporary)
    work = temporary / WORK
    with disk_errors(folder, option=option):
        temporary.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.callback(_remove_empty, temporary)
        stack.enter_context(_full_disk(folder, option))
        stack.enter_context(locked(temporary))
        stack.callback(shutil.rmtree, work, ignore_errors=True)  # does nothing once it has its name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        yield work
        _sync(work)
        work.replace(folder)
        sync_folder(folder.absolute().parent)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # another run may be at work in it
        folder.rmdir()


def _check_own(folder: Path) -> None:
    """Checks that nothing but a killed run's folder is in the way.

    Raises:
        DatasetError: something else is in the way.
    """
    if not os.path.lexists(folder):
        return
    is_own = folder.is_dir() and not folder.is_symlink()
    if not is_own or any(path.name not in (LOCK_FILE, WORK) for path in folder.iterdir()):
        raise DatasetError(
            f"{folder}: it is in the way of an export, and no export made it; move it elsewhere"
        )


def _sync(folder: Path) -> None:
    """Flushes a new folder's files to disk before it gets its name, so that they survive a power loss."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("r+b") as file:
                os.fsync(file.fileno())


@contextmanager
def _full_disk(out: Path, option: str) -> Iterator[None]:
    """Turns a full disk into an error that says that nothing was written: an export cannot be resumed."""
    try:
        with disk_errors(out, option=option):
            yield
    except DatasetError as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.errno in FULL_DISK:
            raise DatasetError(
                f"{out}: no space left; nothing was written there; free some space and run the same command "
                "again"
            ) from cause
        raise
