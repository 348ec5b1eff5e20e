"""Atomic writes: a file is written under a temporary name, synced and renamed, so every file is whole.

A run that resumes after a kill therefore needs to look only at names. A file whose content would not change
is left alone, its time of change included. Temporary files and folders have a prefix of their own, and this
program removes nothing that it did not write.
"""

import errno
import filecmp
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clevrhope.errors import DatasetError
from clevrhope.runtime.reading import reading

OWN_PREFIX = ".clevrhope-"
"""Prefix of temporary files and folders."""

TEMPORARY_SUFFIX = ".partial"
"""Suffix of files that are being written."""

FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors of a full disk."""

_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True)
class FileRecord:
    """Size and digest of a file, as in the manifest."""

    bytes: int
    sha256: str


@contextmanager
def whole_file(path: Path, *, option: str = "--out") -> Iterator[Path]:
    """Gives a path to write to, which is renamed to `path` after the block, or removed if the block raises.

    Args:
        path: where the file is to be.
        option: with which the user chose the place.

    Raises:
        DatasetError: no space left, or no permission.
    """
    with disk_errors(path, option=option):
        path.parent.mkdir(parents=True, exist_ok=True)
        with renamed_file(path) as temporary:
            yield temporary


@contextmanager
def renamed_file(path: Path, *, writer: str = "") -> Iterator[Path]:
    """As `whole_file`, but in a folder that exists, and with Python's own errors.

    Args:
        path: of the file.
        writer: a name of its own for each of several writers of the same file, who then don't disturb each
            other.
    """
    temporary = temporary_path(path, writer=writer)
    temporary.unlink(missing_ok=True)  # writing would follow a link
    try:
        yield temporary
        _commit(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_whole(path: Path, content: bytes, *, option: str = "--out") -> None:
    """Writes one file; `option` and errors as of `whole_file`."""
    with whole_file(path, option=option) as temporary:
        temporary.write_bytes(content)


def temporary_path(path: Path, *, writer: str = "") -> Path:
    """The path at which a file is written: hidden, and in the same folder, so that renaming is atomic."""
    return path.with_name(f"{OWN_PREFIX}{path.name}{f'-{writer}' if writer else ''}{TEMPORARY_SUFFIX}")


def is_temporary(name: str) -> bool:
    """Whether a name is that of a file that was being written."""
    return name.startswith(OWN_PREFIX) and name.endswith(TEMPORARY_SUFFIX)


def record(path: Path) -> FileRecord:
    """Size and SHA-256 of a file."""
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such file, or it cannot be read")
    with reading(path, "a file"), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileRecord(bytes=file.tell(), sha256=digest)


def sweep(folders: Iterable[Path]) -> None:
    """Removes half-written files of killed runs from these folders, but not from folders inside them.

    Call it only with the dataset's folder locked.
    """
    for folder in folders:
        for path in sorted(folder.glob(f"{OWN_PREFIX}*{TEMPORARY_SUFFIX}")):
            if path.is_file() and not path.is_symlink():
                with disk_errors(path):
                    path.unlink(missing_ok=True)


@dataclass(frozen=True)
class WorkingFolder:
    """A folder that this program makes and removes.

    Attributes:
        path: the folder.
        names: pattern of the files that this program writes there, beside temporary ones.
    """

    path: Path
    names: re.Pattern[str]

    def check(self) -> None:
        """Checks, before anything is written, that nothing else is in the way.

        Raises:
            DatasetError: a file or link in its place, or something in it that this program did not write.
        """
        if not os.path.lexists(self.path):
            return
        if self.path.is_symlink() or not self.path.is_dir():
            raise DatasetError(f"{self.path}: it is in the way of a working folder; move it elsewhere")
        for each in sorted(self.path.iterdir()):
            if not self._is_own(each):
                raise DatasetError(
                    f"{each}: clevrhope did not make this, but removes its folder when it is done; "
                    "move it elsewhere"
                )

    def remove(self) -> None:
        """Removes the files that this program wrote, and the folder if it is empty then."""
        if self.path.is_symlink() or not self.path.is_dir():
            return
        with disk_errors(self.path):
            for each in sorted(self.path.iterdir()):
                if self._is_own(each):
                    each.unlink(missing_ok=True)
        with suppress(OSError):  # something of a user's is in it, and stays
            self.path.rmdir()

    def _is_own(self, path: Path) -> bool:
        named = self.names.fullmatch(path.name) is not None or is_temporary(path.name)
        return named and path.is_file() and not path.is_symlink()


@contextmanager
def disk_errors(path: Path, *, option: str = "--out") -> Iterator[None]:
    """Turns errors such as a full disk or a missing permission into one sentence that says what helps.

    Args:
        path: what is written.
        option: with which the user chose the place.

    Raises:
        DatasetError: in place of these errors; others pass through.
    """
    try:
        yield
    except OSError as error:
        number = error.errno
        if number in FULL_DISK:
            raise DatasetError(
                f"{path}: no space left; what is finished stays: "
                "free some space and run the same command to resume"
            ) from error
        if number in _FORBIDDEN:
            raise DatasetError(
                f"{path}: no permission to write there; "
                f"choose a folder of your own with {option}, or change its permissions"
            ) from error
        if number in (errno.ENOENT, errno.EINVAL, errno.ENAMETOOLONG, errno.ELOOP):
            raise DatasetError(
                f"{path}: cannot be created there ({os.strerror(number)}); "
                f"choose another folder with {option}"
            ) from error
        if number in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY):
            raise DatasetError(
                f"{path}: a file is in the way of a folder, or the reverse; "
                f"choose another folder with {option}"
            ) from error
        raise


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder durable, even if the power fails; Windows has no way to ask for that."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _commit(temporary: Path, path: Path) -> None:
    with suppress(FileNotFoundError):
        if filecmp.cmp(temporary, path, shallow=False):
            temporary.unlink()
            return
    with temporary.open("r+b") as file:  # Windows syncs only what may be written
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)
