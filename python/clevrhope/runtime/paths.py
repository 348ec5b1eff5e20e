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


def check_links(
    root: Path, names: Iterable[str], *, elsewhere: Iterable[str] = (), deep: bool = True
) -> None:
    """Checks that no link leads out of `root`.

    Commands call it before they write to a folder, where they would change what is elsewhere, and before they
    copy one, where a foreign dataset could expose this machine's files. It covers the files and folders
    `names` below `root`, the folders that they are in, and what `root` has at the end of links in them.

    Args:
        root: the folder; it may be a link itself.
        names: paths below it, with forward slashes, which need not exist.
        elsewhere: those of the names that may be links to another disk, but not into another dataset.
        deep: whether the check covers everything in these folders, too.

    Raises:
        DatasetError: a link leads out, back to itself or nowhere, or a folder cannot be read; names it.
    """
    homes = [Path(os.path.realpath(root))]
    may_lead_out = {root / name for name in elsewhere}
    paths = map(PurePosixPath, names)
    todo = [root / part for path in paths for part in (*path.parents[:-1], path)]
    todo.sort(key=may_lead_out.__contains__)  # these come first out, as links lead to what is in them
    seen = set()
    while todo:
        path = todo.pop()
        with reading(path, "a file or folder"):
            if path.is_symlink():
                target, place = _target(path), Path(os.path.realpath(path.parent))
                others = (each / "manifest.json" for each in (target, *target.parents))
                is_in_another = not target.is_relative_to(homes[0]) and any(each.exists() for each in others)
                if path in may_lead_out and not is_in_another:
                    homes.append(target)
                # A link may stay where it is: what is on another disk is no place for what is here.
                here = [home for home in homes if place.is_relative_to(home) or path in may_lead_out]
                if is_in_another or not any(map(target.is_relative_to, here)):
                    raise DatasetError(
                        f"{path}: a link that leads out of {root}; put a copy of what it leads to in its "
                        "place, since clevrhope neither writes nor copies through such links"
                    )
                if not target.exists():
                    raise DatasetError(
                        f"{path}: a link to {target}, which does not exist; remove the link, or make what it "
                        "leads to"
                    )
                path = target
            if path in seen or not deep or not path.is_dir():
                continue
            seen.add(path)
            with os.scandir(path) as entries:
                todo += [Path(each.path) for each in entries if each.is_symlink() or each.is_dir()]


def _target(link: Path) -> Path:
    """The final target of a link, whether or not it exists."""
    with suppress(FileNotFoundError):
        link.stat()  # raises for a link to itself, which `realpath` accepts
    return Path(os.path.realpath(link))
