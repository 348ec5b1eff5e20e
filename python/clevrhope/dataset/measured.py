"""The measurements that pages show, measured.json: one file beside each datasheet.

Every number in it was counted in the dataset's files when a build or a suite was finished. Datasheets,
statistics and the audit read it, so that nobody has to read numbers in prose.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import DatasetError, shown
from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import check_form, read_form
from clevrhope.runtime.json_text import read_object

FORMAT = 1
"""Version of the files' keys."""

MAX_BYTES = 1 << 26
"""The most bytes of such a file; a pair with suites and sets in CLEVR's world has 300 KB."""

REMEDY = "run the dataset's build again to measure its files"

FORMS = read_form(Path(__file__).with_name("measured_form.json"))
"""The form of a sub-dataset's measurements, and of a folder's, which have the questions of each split."""


def read_measured(path: Path) -> dict[str, Any]:
    """Reads the measurements of a sub-dataset; `docs/files.md` lists their keys.

    Raises:
        DatasetError: the file is missing, broken, of another form, or not that of this sub-dataset.
    """
    found = _read(path, "hop")
    if found["hop"] != path.parent.name:
        raise DatasetError(
            f"{path}: measurements of {shown(found['hop'])}, but the folder is {path.parent.name}; {REMEDY}"
        )
    return found


def read_measured_folder(path: Path) -> dict[str, Any]:
    """Reads the measurements of a whole dataset; raises as `read_measured` does."""
    return _read(path, "folder")


def read_fitting(layout: Layout, manifest: Manifest, hop: str) -> dict[str, Any]:
    """Reads the measurements of a sub-dataset, whose sizes must be those of the manifest.

    Raises:
        DatasetError: as for `read_measured`, or a split, suite or size is not the manifest's.
    """
    path = layout.hop_measured(hop)
    found = read_measured(path)
    for place in ("splits", "covr"):
        stated, measured = (
            {split: entry["questions"] for split, entry in entries.items()}
            for entries in (getattr(manifest, place).get(hop, {}), found[place])
        )
        if stated != measured:
            raise DatasetError(
                f"{path}: questions of {place}: {shown(measured)}, but the manifest has {shown(stated)}; "
                f"{REMEDY}"
            )
    return found


def write_measured(path: Path, measured: Mapping[str, Any]) -> None:
    """Writes measurements whole."""
    content = json.dumps({"format": FORMAT, **measured}, indent=1, ensure_ascii=False)
    write_whole(path, f"{content}\n".encode())


def _read(path: Path, of: str) -> dict[str, Any]:
    found = read_object(path, "measurements of a dataset", remedy=REMEDY, max_bytes=MAX_BYTES)
    if found.get("format") != FORMAT:
        raise DatasetError(
            f"{path}: format {shown(found.get('format'))}, but this version of clevrhope reads format "
            f"{FORMAT}; {REMEDY}"
        )
    check_form(found, FORMS.needed[of], path, remedy=REMEDY)
    return found
