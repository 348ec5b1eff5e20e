"""The manifest's files in, those that are missing, cut off or damaged out, each with its name.

What a file's end and index tell is looked at first, of all files; a block that is damaged within shows when a
check reads it. Checks go on without questions, scenes and images that cannot be read.
"""

from pathlib import Path

from clevrhope.audit.folder import AuditFolder
from clevrhope.audit.report import Tally
from clevrhope.dataset.split_files import hdf5_fault
from clevrhope.errors import ClevrhopeError
from clevrhope.runtime.progress import Advance

_TAIL = 64
"""Bytes at the end of a JSON file that are looked at."""

_END_OF_ROWS = b"\n]}"
"""Ends files of scenes and questions, which have a row a line."""


def check_readable(folder: AuditFolder, advance: Advance) -> Tally:
    """Every file of the manifest is there and whole, as far as its two ends tell."""
    tally = Tally("readable", "every file is there, and can be read to its end", "files")
    for name in folder.manifest.files:
        tally.n_checked += 1
        fault = _fault(folder.layout.root / name)
        if fault:
            tally.fault(name, None, *fault)
            folder.leave_out(name)
        advance(1)
    return tally


def unreadable(tally: Tally, folder: AuditFolder, error: ClevrhopeError) -> str:
    """Notes what ended a check, under the file that the error names; gives that file."""
    root, text = f"{folder.layout.root}/", str(error)
    place, _, problem = text.partition(": ")
    path = place.removeprefix(root).partition(":")[0]  # a line and a column may follow
    known = next((name for name in (path, *_parents(path)) if (folder.layout.root / name).exists()), path)
    if known not in {fault.file for fault in tally.faults}:
        tally.fault(known, None, "cannot be read", problem or text)
    return known


def _parents(path: str) -> list[str]:
    return [parent.as_posix() for parent in Path(path).parents if parent != Path()]


def _fault(path: Path) -> tuple[str, str] | None:
    """What is wrong with a file: problem and detail."""
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
                # A row ends as a file does that another program wrote on one line.
                problem = "cut off, or written anew by another program" if end.endswith(b"}]}") else "cut off"
                return problem, f"ends with {end[-20:].decode('utf-8', 'replace')!r}"
    except FileNotFoundError:
        return "is not there", "the manifest lists it"
    except OSError as error:
        return "cannot be read", str(error.strerror)
    return None
