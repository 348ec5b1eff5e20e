"""The manifest's files in, whether each is there with its bytes out."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.reading import check_regular, reading

NOT_LISTED = ("manifest.json",)
"""What a folder may hold and its manifest does not list: itself."""

NOT_OF_THE_DATASET = ("features/",)
"""Begins the names of what is made from a dataset, in its folder for want of a better place."""

_PIECE = 1 << 20


def check_files(folder: AuditFolder, advance: Advance) -> Tally:
    """Every file of the manifest that is there has its size and SHA-256, and there is no other.

    Raises:
        DatasetError: a file that cannot be read.
    """
    tally = Tally(
        "files",
        "every file has the size and SHA-256 that the manifest lists, and no file is unlisted",
        "files",
    )
    root = folder.layout.root
    # `readable` tells of those that are not.
    listed = {name: each for name, each in folder.manifest.files.items() if (root / name).is_file()}
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for name, (size, digest) in zip(
            listed, threads.map(_measured, (root / n for n in listed)), strict=True
        ):
            record = listed[name]
            if size != record.bytes:
                tally.fault(name, None, f"not {record.bytes} bytes, as the manifest has it", size)
            elif digest != record.sha256:
                tally.fault(name, None, "not the SHA-256 of the manifest", digest)
            advance(1)
    tally.n_checked = len(listed)
    for path in sorted(root.rglob("*")):
        name = folder.layout.relative(path)
        hidden = any(part.startswith(".") for part in Path(name).parts)
        if name.startswith(NOT_OF_THE_DATASET):
            continue
        if path.is_file() and name not in listed and not hidden and name not in NOT_LISTED:
            tally.fault(name, None, "not listed in the manifest", f"{path.stat().st_size} bytes")
    return tally


def _measured(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with reading(path, "a file of a dataset"):
        check_regular(path)
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                size += len(piece)
    return size, digest.hexdigest()
