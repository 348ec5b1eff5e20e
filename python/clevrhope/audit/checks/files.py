"""The check that each file of the manifest has its size and checksum, and that there are no others."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import CheckResult, Results
from clevrhope.dataset.manifest import FILES_TABLE
from clevrhope.dataset.split_files import hdf5_fault
from clevrhope.errors import ClevrhopeError
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Advance

FEATURES = "features/"
"""Folder of features made from a dataset's images, which is not part of the dataset."""


def check_files(folder: AuditFolder, results: Results, advance: Advance) -> None:
    """Compares each file with its size and SHA-256 in the manifest, and looks for others."""
    check = results["files"]
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
            problem = "not listed in the manifest"
            if "/suites/" in name:
                problem += " (if suite was interrupted, run it again)"
            check.fault(name, None, problem, f"{path.stat().st_size} bytes")


_TAIL = 64
"""Number of bytes read at the end of a JSON file."""

_END_OF_ROWS = b"\n]}"
"""The end of files of scenes and questions, which have one row per line."""


def check_readable(folder: AuditFolder, check: CheckResult, advance: Advance) -> None:
    """Checks that each file of the manifest exists, and that its end or index is intact."""
    for name in folder.manifest.files:
        check.n_checked += 1
        fault = _fault(folder.layout.root / name)
        if fault:
            check.fault(name, None, *fault)
            folder.leave_out(name)
        advance(1)


def unreadable(check: CheckResult, folder: AuditFolder, error: ClevrhopeError) -> str:
    """Reports the error that ended a check as a fault of the file that it names; returns that file."""
    root, text = f"{folder.layout.root}/", str(error)
    place, _, problem = text.partition(": ")
    path = place.removeprefix(root).partition(":")[0]  # a line and a column may follow
    parents = [parent.as_posix() for parent in Path(path).parents if parent != Path()]
    known = next((name for name in (path, *parents) if (folder.layout.root / name).exists()), path)
    if known not in {fault.file for fault in check.faults}:
        check.fault(known, None, "cannot be read", problem or text)
    return known


def _fault(path: Path) -> tuple[str, str] | None:
    """The problem with a file, and a detail; None if there is none."""
    try:
        if path.exists() and not path.is_file():
            return "cannot be read", "a folder, pipe or device"
        if path.suffix == ".h5":
            fault = hdf5_fault(path)
            return None if fault is None else ("cannot be read", fault)
        size = path.stat().st_size
        if path.suffix == ".json":
            with path.open("rb") as file:
                file.seek(max(0, size - _TAIL))
                end = file.read().rstrip()
            of_rows = path.name.endswith("_questions.json") or path.parent.parent.name == "scenes"
            if not end.endswith(_END_OF_ROWS if of_rows else b"}"):
                # A file that another program wrote as a single line ends like a row.
                problem = "cut off, or rewritten by another program" if end.endswith(b"}]}") else "cut off"
                return problem, f"ends with {end[-20:].decode('utf-8', 'replace')!r}"
    except FileNotFoundError:
        return "is not there", "the manifest lists it"
    except OSError as error:
        return "cannot be read", str(error.strerror)
    return None
