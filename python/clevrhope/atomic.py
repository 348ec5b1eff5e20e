"""Bytes in, whole files out: written under a temporary name, synced, renamed; or not there at all.

A file that is there is whole, so a run that was killed needs to look only at names. A file whose new content
is its old content is left alone, its time of change included.
"""

import errno
import filecmp
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clevrhope.errors import DatasetError

TEMPORARY_SUFFIX = ".partial"
"""Ends the names of files that are being written; a dot begins them."""

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True)
class FileRecord:
    """What the manifest says of a file."""

    bytes: int
    sha256: str


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives a path to write to, which becomes `path` when the block ends well and vanishes when it does not.

    Raises:
        DatasetError: no space left, or no permission.
    """
    temporary = temporary_path(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            _commit(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def write_whole(path: Path, content: bytes) -> None:
    """Writes one file; errors as `whole_file`."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def temporary_path(path: Path) -> Path:
    """The name under which a file is written: hidden, in the same folder, so that renaming is atomic."""
    return path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")


def record(path: Path) -> FileRecord:
    """Size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileRecord(bytes=file.tell(), sha256=digest)


def sweep(root: Path, *, on_removed: Callable[[Path], None] | None = None) -> None:
    """Removes what killed runs left half-written below `root`. Call it under the folder's lock only."""
    for folder, _, names in os.walk(root):
        for name in names:
            if name.startswith(".") and name.endswith(TEMPORARY_SUFFIX):
                path = Path(folder, name)
                with disk_errors(path):
                    path.unlink(missing_ok=True)
                if on_removed:
                    on_removed(path)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turns a full disk and a missing permission into one sentence that says what helps.

    Raises:
        DatasetError: in place of these errors; others pass.
    """
    try:
        yield
    except OSError as error:
        number = error.errno
        if number in _FULL:
            raise DatasetError(
                f"{path}: no space left; what is finished stays: "
                "free some space and run the same command to resume"
            ) from error
        if number in _FORBIDDEN:
            raise DatasetError(
                f"{path}: no permission to write there; "
                "choose a folder of your own with --out, or change its rights"
            ) from error
        if number in (errno.ENOENT, errno.EINVAL, errno.ENAMETOOLONG):
            raise DatasetError(
                f"{path}: cannot be made there ({os.strerror(number)}); choose another folder with --out"
            ) from error
        if number in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
            raise DatasetError(
                f"{path}: a file is in the way of a folder, or the reverse; choose another folder with --out"
            ) from error
        raise


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder last through a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _commit(temporary: Path, path: Path) -> None:
    if _same(temporary, path):
        temporary.unlink()
        return
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def _same(temporary: Path, path: Path) -> bool:
    try:
        return filecmp.cmp(temporary, path, shallow=False)
    except FileNotFoundError:
        return False
