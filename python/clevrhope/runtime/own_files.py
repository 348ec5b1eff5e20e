"""Writes files into a folder that may contain a user's files, without replacing or removing those."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from clevrhope.errors import DatasetError
from clevrhope.runtime.atomic import OWN_PREFIX, disk_errors, record, write_whole
from clevrhope.runtime.forms import SHA256, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.runtime.paths import below

WRITTEN = f"{OWN_PREFIX}written"
"""A file in such a folder: name -> list of SHA-256 of what this program wrote; two while it is writing."""


def check_own(folder: Path, names: Iterable[str]) -> None:
    """Checks that files are missing or as this program wrote them; raises DatasetError if a user did."""
    written = _read_written(folder)
    for name in names:
        _check(folder / name, written.get(name, ()))


def write_own(folder: Path, files: Mapping[str, bytes], *, alone: str | None = None) -> None:
    """Writes files atomically.

    Args:
        folder: the folder of the files.
        files: path below the folder -> content. A user's file with the same content is left unchanged.
        alone: a pattern of names that only these files may have. Other files of such names are removed if
            this program wrote them, and are an error if a user did.

    Raises:
        DatasetError: a user wrote or edited a file that would be replaced or whose name matches `alone`; or
            no space is left, or the folder may not be written to.
    """
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
