"""The check that each file of the manifest exists and can be read.

It looks at each file's end or index before all other checks; a damaged block shows only when a check reads
it. The other checks continue without questions, scenes and images that cannot be read.
"""

from pathlib import Path

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Check
from clevrhope.dataset.split_files import hdf5_fault
from clevrhope.errors import ClevrhopeError
from clevrhope.runtime.progress import Advance

_TAIL = 64
"""Number of bytes read at the end of a JSON file."""

_END_OF_ROWS = b"\n]}"
"""The end of files of scenes and questions, which have one row per line."""


def check_readable(folder: AuditFolder, check: Check, advance: Advance) -> None:
    """Checks that each file of the manifest exists, and that its end or index is intact."""
    for name in folder.manifest.files:
        check.n_checked += 1
        fault = _fault(folder.layout.root / name)
        if fault:
            check.fault(name, None, *fault)
            folder.leave_out(name)
        advance(1)


def unreadable(check: Check, folder: AuditFolder, error: ClevrhopeError) -> str:
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
