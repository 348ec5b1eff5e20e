"""The check that each file of the manifest has its size and checksum, and that there are no others."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Lines
from clevrhope.dataset.manifest import FILES_TABLE
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Advance

FEATURES = "features/"
"""Folder of features made from a dataset's images, which is not part of the dataset."""


def check_files(folder: AuditFolder, lines: Lines, advance: Advance) -> None:
    """Compares each file with its size and SHA-256 in the manifest, and looks for others.

    Raises:
        DatasetError: a file cannot be read.
    """
    check = lines["files"]
    root = folder.layout.root
    # `check_readable` reports missing files.
    listed = {name: each for name, each in folder.manifest.files.items() if (root / name).is_file()}
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for name, found in zip(listed, threads.map(record, (root / name for name in listed)), strict=True):
            if found.bytes != listed[name].bytes:
                problem = f"not {listed[name].bytes} bytes, the size in the manifest"
                check.fault(name, None, problem, found.bytes)
            elif found.sha256 != listed[name].sha256:
                check.fault(name, None, "not the SHA-256 in the manifest", found.sha256)
            advance(1)
    check.n_checked = len(listed)
    ours = {*listed, folder.layout.manifest.name, FILES_TABLE}
    for path in sorted(root.rglob("*")):
        name = folder.layout.relative(path)
        is_hidden = any(part.startswith(".") for part in Path(name).parts)
        is_ours = name in ours or name.startswith(FEATURES)
        if path.is_file() and not is_hidden and not is_ours:
            check.fault(name, None, "not listed in the manifest", f"{path.stat().st_size} bytes")
