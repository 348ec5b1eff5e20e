"""Atomic writes: a file is written under a temporary name, synced and renamed, so every file is whole.

So a run that resumes after a kill only needs to look at names. A file whose content would not change is left
untouched, including its modification time. Temporary files and folders have a prefix of their own, and this
program removes nothing that it did not write.
"""

import errno
import filecmp
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import SHA256, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.paths import below, check_links
from clevrhope.runtime.reading import reading

OWN_PREFIX = ".clevrhope-"
"""Prefix of temporary files and folders."""

TEMPORARY_SUFFIX = ".partial"
"""Suffix of files that are being written."""

FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
"""Errors that mean that the disk is full."""

_SENTENCES = (
    (FULL_DISK, "no space left; what is finished stays: free some space and run the same command to resume"),
    (
        {errno.EACCES, errno.EPERM, errno.EROFS},
        "no permission to write there; {choose} a folder of your own{by}, or change its permissions",
    ),
    (
        {errno.ENOENT, errno.EINVAL, errno.ENAMETOOLONG, errno.ELOOP},
        "cannot be created there ({reason}); {choose} another folder{by}",
    ),
    (
        {errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOTEMPTY},
        "a file is in the way of a folder, or the reverse; {choose} another folder{by}",
    ),
)
"""Errors of the system, and what a message says about them."""

WRITTEN = f"{OWN_PREFIX}written"
"""Records what this program wrote beside a user's files: name -> SHA-256; two of them while it is writing."""


class DiskError(DatasetError):
    """A full disk, a missing permission, or something in the way of a file, in a sentence with a remedy."""

    def __init__(self, path: Path, error: OSError, *, option: str | None) -> None:
        """Arguments as for `disk_errors`; `error` is one that `_SENTENCES` lists."""
        sentence = next(each for numbers, each in _SENTENCES if error.errno in numbers)
        if os.path.islink(path) and not os.path.exists(path):  # noqa: PTH114, PTH110 - a name may be too long
            sentence = "a link that leads nowhere; {choose} another folder{by}"
        choose, by = ("copy the dataset to", "") if option is None else ("choose", f" with {option}")
        reason = os.strerror(error.errno or 0)
        super().__init__(f"{path}: {sentence.format(choose=choose, by=by, reason=reason)}")
        self.path, self.error = path, error


@dataclass(frozen=True)
class FileRecord:
    """Size and digest of a file, as in the manifest."""

    bytes: int
    sha256: str


@contextmanager
def whole_file(path: Path, *, option: str = "--out") -> Iterator[Path]:
    """Yields a path to write to, which is renamed to `path` after the block, or removed if the block raises.

    Args:
        path: the final path of the file.
        option: the option with which the user chose the path.

    Raises:
        DatasetError: no space is left, or the file may not be written.
    """
    with disk_errors(path, option=option):
        path.parent.mkdir(parents=True, exist_ok=True)
        with renamed_file(path) as temporary:
            yield temporary


@contextmanager
def renamed_file(path: Path, *, writer: str = "") -> Iterator[Path]:
    """As `whole_file`, but in an existing folder, and with Python's own errors.

    Args:
        path: the path of the file.
        writer: a name that distinguishes several writers of the same file, so that they do not disturb each
            other.
    """
    temporary = temporary_path(path, writer=writer)
    temporary.unlink(missing_ok=True)  # otherwise, writing would follow a link
    try:
        yield temporary
        _commit(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_whole(path: Path, content: bytes, *, option: str = "--out") -> None:
    """Writes one file; `option` and errors as for `whole_file`."""
    with whole_file(path, option=option) as temporary:
        temporary.write_bytes(content)


def temporary_path(path: Path, *, writer: str = "") -> Path:
    """The path at which a file is written: hidden, and in the same folder, so that renaming is atomic."""
    return path.with_name(f"{OWN_PREFIX}{path.name}{f'-{writer}' if writer else ''}{TEMPORARY_SUFFIX}")


def record(path: Path) -> FileRecord:
    """Size and SHA-256 of a file."""
    if not path.is_file():
        raise DatasetError(f"{path}: there is no such file, or it cannot be read")
    with reading(path, "a file"), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileRecord(bytes=file.tell(), sha256=digest)


def sweep(folders: Iterable[Path]) -> None:
    """Removes half-written files of killed runs from these folders, but not from their subfolders.

    Call it only while the dataset's folder is locked.
    """
    for folder in folders:
        for path in sorted(folder.glob(f"{OWN_PREFIX}*{TEMPORARY_SUFFIX}")):
            if path.is_file() and not path.is_symlink():
                with disk_errors(path):
                    path.unlink(missing_ok=True)


@dataclass(frozen=True)
class WorkingFolder:
    """A folder that this program creates and removes.

    Attributes:
        path: the folder.
        names: pattern of the files that this program writes there, besides temporary ones.
    """

    path: Path
    names: re.Pattern[str]

    def check(self) -> None:
        """Checks, before anything is written, that nothing else is in the folder's place.

        Raises:
            DatasetError: there is a file or link in its place, or it contains something that this program did
                not write.
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
        """Removes the files that this program wrote, and the folder if it is then empty."""
        if self.path.is_symlink() or not self.path.is_dir():
            return
        with disk_errors(self.path):
            for each in sorted(self.path.iterdir()):
                if self._is_own(each):
                    each.unlink(missing_ok=True)
        with suppress(OSError):  # a user's files are in it, and stay
            self.path.rmdir()

    def _is_own(self, path: Path) -> bool:
        is_temporary = path.name.startswith(OWN_PREFIX) and path.name.endswith(TEMPORARY_SUFFIX)
        has_name = is_temporary or self.names.fullmatch(path.name) is not None
        return has_name and path.is_file() and not path.is_symlink()


def check_own(folder: Path, names: Iterable[str]) -> None:
    """Checks that files are missing or as this program wrote them; raises DatasetError if a user did."""
    written = _read_written(folder)
    for name in names:
        _check(folder / name, written.get(name, ()))


def write_own(folder: Path, files: Mapping[str, bytes], *, alone: str | None = None) -> None:
    """Writes files atomically into a folder that may hold a user's files, which it never replaces or removes.

    Args:
        folder: the folder of the files.
        files: path below the folder -> content. A user's file with the same content is left unchanged.
        alone: a pattern of names that only these files may have. Other files of such names are removed if
            this program wrote them, and are an error if a user did.

    Raises:
        DatasetError: a user wrote or edited a file that would be replaced or whose name matches `alone`; or
            no space is left, the folder may not be written to, or a link leads out of it.
    """
    check_links(folder, files)
    written = _read_written(folder)
    there = {path.name for path in folder.glob(alone)} if alone else set()
    old = sorted(there - files.keys())
    for name in old:
        _check(folder / name, written.get(name, ()))
    now = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    for name, digest in now.items():
        _check(folder / name, (*written.get(name, ()), digest))
    kept = {name: each for name, each in written.items() if name not in old}
    both = {name: sorted({*kept.get(name, ()), digest}) for name, digest in now.items()}
    _write_written(folder, {**written, **both})
    for name, content in files.items():
        write_whole(below(folder, name), content)
    with disk_errors(folder):
        for name in old:
            (folder / name).unlink(missing_ok=True)
    _write_written(folder, {**kept, **{name: [digest] for name, digest in now.items()}})


@contextmanager
def disk_errors(path: Path, *, option: str | None = "--out") -> Iterator[None]:
    """Turns errors such as a full disk or a missing permission into one sentence that suggests a remedy.

    Args:
        path: the path being written.
        option: the option with which the user chose the path; None if it is in a dataset that a command
            changes in place.

    Raises:
        DiskError: replaces these errors; others pass through.
    """
    try:
        yield
    except OSError as error:
        if any(error.errno in numbers for numbers, _ in _SENTENCES):
            raise DiskError(path, error, option=option) from error
        raise


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder durable, even if the power fails; Windows offers no way to do this."""
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
    with temporary.open("r+b") as file:  # Windows syncs only files that are open for writing
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def _check(path: Path, digests: Iterable[str]) -> None:
    if not os.path.lexists(path):
        return
    if record(path).sha256 not in digests:
        raise DatasetError(f"{path}: it was not written by clevrhope, or was edited since; move it elsewhere")


def _read_written(folder: Path) -> dict[str, list[str]]:
    path = folder / WRITTEN
    if not os.path.lexists(path):
        return {}
    digests = read_object(path, "a list of what clevrhope wrote")
    check_form(digests, MapOf(ListOf(SHA256)), path)
    return digests


def _write_written(folder: Path, written: Mapping[str, Iterable[str]]) -> None:
    content = {name: list(digests) for name, digests in sorted(written.items())}
    write_whole(folder / WRITTEN, (json.dumps(content, indent=1) + "\n").encode())
