"""The report of an audit: one line for each check, with its result and its first faults, and its view.

`checks.toml` says of each check what it counts, and what holds if it passed.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from clevrhope.errors import listed
from clevrhope.runtime.display import show_table

MAX_LISTED = 20
"""Number of faults that a check lists; it counts them all."""

MAX_NAMED = 3
"""Number of files that a note names."""

SHOWN = 5
"""Number of faults shown for each check; the JSON report lists more."""

Found = tuple[int | None, str, object]
"""A fault in a file: its row (None if it concerns the whole file), problem and value, or what gives it."""

RowNumbers = Sequence[int] | npt.NDArray[np.integer[Any]]
"""The numbers of rows in their file."""

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
class CheckResult:
    """A line of the report, filled while the check runs."""

    name: str
    unit: str = ""
    proves: str = ""
    """The statement that holds if the check passed."""
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

    def add(self, file: str, found: Iterable[Found], rows: RowNumbers | None = None) -> None:
        """Counts faults of a file; row k of the findings is row `rows[k]` there, if it is not k itself."""
        for row, problem, value in found:
            self.fault(file, row if row is None or rows is None else int(rows[row]), problem, value)

    def fault(self, file: str, index: int | None, problem: str, value: object) -> None:
        """Counts a fault, and lists it if it is among the first."""
        self.n_faults += 1
        if len(self.faults) < MAX_LISTED:
            shown = value() if callable(value) else value  # a text is read only if it is listed
            self.faults.append(Fault(file, index, problem, str(shown)))

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


Results = Mapping[str, CheckResult]
"""The results of checks by name, filled while checks run."""


def new_results(names: Iterable[str], constraints: Mapping[str, Any] = MappingProxyType({})) -> Results:
    """Results of these checks with nothing checked yet; `constraints` are those of the folder's scenes."""
    rows = {name: check_rows()[name] for name in names}
    return {
        name: CheckResult(name, row["unit"], row["proves"].format_map(constraints))
        for name, row in rows.items()
    }


@cache
def check_rows() -> Mapping[str, Mapping[str, str]]:
    """The unit of each check, and what it proves, in the order of the report."""
    return tomllib.loads((files(__package__) / "checks.toml").read_text(encoding="utf-8"))


def where(
    flags: npt.NDArray[np.bool_],
    problem: str | Callable[[int], str],
    value: Any,
    rows: RowNumbers | None = None,
) -> Iterator[Found]:
    """A fault for each flag (N,), at its place or at the number that `rows` (N,) has there.

    The problem may be a function of the place; the value is one, or an array (N, ...) of values.
    """
    for k in np.flatnonzero(flags).tolist():
        shown = partial(value, k) if callable(value) else np.asarray(value[k]).tolist()
        yield k if rows is None else int(rows[k]), problem if isinstance(problem, str) else problem(k), shown


@dataclass(frozen=True)
class Report:
    """All checks of a folder."""

    folder: str
    hops: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    notes: tuple[str, ...] = ()
    """What to know of published files, such as texts without a program."""

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
            **({"notes": list(self.notes)} if self.notes else {}),
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


def show_report(console: Console, report: Report) -> None:
    """Shows a row for each check that was done, the notes, the first faults and the verdict.

    Checks that were not done share one line for each reason, because many do not apply to most folders.
    """

    def show(line: str, style: str = "") -> None:
        console.print(Text(line, style=style), soft_wrap=True)

    rows = [
        (each.name, f"{each.n_checked:,}", each.unit, each.result, f"{each.n_faults:,}")
        for each in report.checks
        if each.done
    ]
    show_table(console, report.folder, ("check", "checked", "what", "result", "faults"), rows)
    for each in report.checks:
        if each.done and each.note:
            show(f"{each.name}: {each.note}", "dim")
    not_done: dict[str, list[str]] = {}
    for each in report.checks:
        if not each.done:
            not_done.setdefault(each.note, []).append(each.name)
    for why, names in not_done.items():
        show(f"Not done ({why}): {', '.join(names)}", "dim")
    for note in report.notes:
        show(f"Imported: {note}", "dim")
    for each in report.checks:
        if each.n_faults:
            show(f"{each.name} failed. It checks that {each.proves}", "bold red")
            for fault in each.faults[:SHOWN]:
                show(f"  {fault}")
            if each.n_faults > SHOWN:
                show(f"  and {each.n_faults - min(SHOWN, len(each.faults)):,} more", "dim")
    n_failed = sum(each.result == "failed" for each in report.checks)
    verdict = f"{n_failed} of {len(report.checks)} checks failed" if n_failed else "no faults were found"
    show(f"{report.folder}: {verdict}", "bold red" if n_failed else "bold green")
