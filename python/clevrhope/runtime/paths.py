"""Checks names that become parts of paths, and where such paths lead.

Names of held-out pairs, splits, pools and files come from manifests, HDF5 attributes and JSON, which anybody
may have written. They are checked here as soon as they are read.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from clevrhope.errors import DatasetError, shown
from clevrhope.runtime.reading import reading

MAX_NAME = 200
"""The most characters of a name: file systems allow 255 bytes, and temporary names are longer."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+=-]*")

NO_NAME = (
    "cannot name a file; expected a letter or digit, then letters, digits and _ . + = -, at most "
    f"{MAX_NAME} characters in all"
)
NO_PATH = "is not a path below the folder, such as hops/none/train.h5"
"""Follows a value that is not a name, or not a path, in a message."""


def is_name(value: Any) -> bool:
    """Whether a value can name a file or folder: a letter or digit, then letters, digits and _ . + = -."""
    return isinstance(value, str) and len(value) <= MAX_NAME and _NAME.fullmatch(value) is not None


def is_path(value: Any) -> bool:
    """Whether a value is a path below a folder: names separated by forward slashes."""
    return isinstance(value, str) and all(map(is_name, value.split("/")))


def below(root: Path, name: str) -> Path:
    """The path of a name, accepted by `is_path`, below a folder; raises DatasetError if it leads out."""
    path = root / PurePosixPath(name)
    if ".." in path.parts[len(root.parts) :] or not path.is_relative_to(root):
        raise DatasetError(f"{root}: {shown(name)} leads out of the folder")
    return path


def check_links(root: Path, names: Iterable[str]) -> None:
    """Checks that no link leads out of `root`: a foreign dataset could expose this machine's files.

    The check covers the files and folders `names` below `root`, everything in them, and the folders of `root`
    to which links in them lead.

    Raises:
        DatasetError: a link leads out or back to itself, or a folder cannot be read; names it.
    """
    home = Path(os.path.realpath(root))
    todo = [root / name for name in names]
    seen = set()
    while todo:
        path = todo.pop()
        with reading(path, "a file or folder", remedy="merge and export read all of a dataset"):
            if path.is_symlink():
                target = _target(path)
                if not target.is_relative_to(home):
                    raise DatasetError(
                        f"{path}: a link that leads out of {root}; put a copy in its place: links are "
                        "not followed out of a dataset that is merged or exported"
                    )
                path = target
            if path in seen or not path.is_dir():
                continue
            seen.add(path)
            with os.scandir(path) as entries:
                todo += [Path(each.path) for each in entries if each.is_symlink() or each.is_dir()]


def _target(link: Path) -> Path:
    """The final target of a link, whether or not it exists."""
    with suppress(FileNotFoundError):
        link.stat()  # raises for a link to itself, which `realpath` accepts
    return Path(os.path.realpath(link))
