"""The report of an audit: one line for each check, with its result and its first faults."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clevrhope.errors import listed

MAX_LISTED = 20
"""Number of faults that a check lists; it counts them all."""

MAX_NAMED = 3
"""Number of files that a note names."""

Found = tuple[int | None, str, object]
"""A fault in a file: its row (None if it concerns the whole file), problem and value."""

Result = Literal["passed", "failed", "in part", "not done"]


@dataclass(frozen=True)
class Fault:
    """One problem in one place."""

    file: str
    """Path below the dataset's folder."""
    index: int | None
    """The question's row in its file, or the scene's index in its pool; None if it concerns a whole file."""
    problem: str
    value: str

    def __str__(self) -> str:
        place = self.file if self.index is None else f"{self.file}[{self.index}]"
        return f"{place}: {self.problem}: {self.value}"


@dataclass
class Check:
    """A line of the report, filled while the check runs."""

    name: str
    proves: str
    """The statement that holds if the check passed."""
    unit: str
    n_checked: int = 0
    n_faults: int = 0
    faults: list[Fault] = field(default_factory=list)
    """The first `MAX_LISTED` faults."""
    notes: list[str] = field(default_factory=list)
    """Other findings, or the reason why the check was not done."""
    done: bool = True
    is_whole: bool = True
    """Whether every file that the check needs could be read."""

    @property
    def note(self) -> str:
        """All notes as one sentence."""
        return "; ".join(self.notes)

    @property
    def result(self) -> Result:
        """The outcome; "in part" means that some files could not be read, and the others passed."""
        if not self.done:
            return "not done"
        if self.n_faults:
            return "failed"
        return "passed" if self.is_whole else "in part"

    def add(self, file: str, found: Iterable[Found], rows: npt.NDArray[np.int64] | None = None) -> None:
        """Counts faults of a file; row k of the findings is row `rows[k]` there, if it is not k itself."""
        for row, problem, value in found:
            self.fault(file, row if row is None or rows is None else int(rows[row]), problem, value)

    def fault(self, file: str, index: int | None, problem: str, value: object) -> None:
        """Counts a fault, and lists it if it is among the first."""
        self.n_faults += 1
        if len(self.faults) < MAX_LISTED:
            self.faults.append(Fault(file, index, problem, str(value)))

    def skip(self, why: str) -> None:
        """Marks the check as not done."""
        self.done = False
        self.notes.append(why)

    def leave_out(self, files: Sequence[str]) -> None:
        """Notes files that could not be read, so that their content was not checked."""
        if self.done and files:
            self.is_whole = False
            self.notes.append(f"whatever needs {listed(files, most=MAX_NAMED)} was left out")

    def finish(self) -> None:
        """Marks the check as not done if there was nothing to check."""
        if self.done and not self.n_checked and not self.n_faults:
            self.skip("this folder has nothing to check here")


@dataclass(frozen=True)
class Line:
    """A row of the table of checks: what a line of the report is called, looks at and proves."""

    name: str
    unit: str
    proves: str
    """The statement that holds if the check passed; it may name constraints of the folder's scenes."""
    needs: Collection[str] = ()
    """The kinds of files (`clevrhope.audit.folder.kind_of`) that it needs besides those of its stage."""

    def check(self, constraints: Mapping[str, Any] = MappingProxyType({})) -> Check:
        """The line with nothing checked yet; `constraints` are those of the folder's scenes."""
        return Check(self.name, self.proves.format_map(constraints), self.unit)


Lines = Mapping[str, Check]
"""The lines of a report by name, filled while checks run."""


def where(
    flags: npt.NDArray[np.bool_],
    problem: str | Callable[[int], str],
    values: Any,
    *,
    rows: Callable[[int], int] = int,
) -> Iterator[Found]:
    """A fault for each flag (N,), with its value of `values` (N, ...); `rows` gives the row of the k-th."""
    for k in np.flatnonzero(flags).tolist():
        value = values[k]
        yield rows(k), problem if isinstance(problem, str) else problem(k), np.asarray(value).tolist()


@dataclass(frozen=True)
class Report:
    """All checks of a folder."""

    folder: str
    hops: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(each.result != "failed" for each in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The report as docs/files.md describes it."""
        return {
            "folder": self.folder,
            "ok": self.ok,
            "hops": list(self.hops),
            "checks": [
                {
                    "name": each.name,
                    "proves": each.proves,
                    "result": each.result,
                    "checked": each.n_checked,
                    "unit": each.unit,
                    "faults": each.n_faults,
                    "first": [asdict(fault) for fault in each.faults],
                    "note": each.note,
                }
                for each in self.checks
            ],
        }
