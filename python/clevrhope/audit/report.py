"""Things looked at and faults found in, a line for each check out: how many, result, first offenders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from clevrhope.audit.fault import Fault

MAX_LISTED = 20
"""Faults that a check lists; it counts them all."""

MAX_NAMED = 3
"""Files that a note names."""

Result = Literal["passed", "failed", "in part", "not done"]


@dataclass(frozen=True)
class Check:
    """A line of the report."""

    name: str
    proves: str
    """What holds where it passed."""
    n_checked: int
    unit: str
    n_faults: int
    faults: tuple[Fault, ...]
    """The first `MAX_LISTED`."""
    note: str
    """What else was found, or why it was not done."""
    done: bool
    is_whole: bool = True
    """Nothing was left out because it cannot be read."""

    @property
    def result(self) -> Result:
        """How it went; "in part" where what could be read is right."""
        if not self.done:
            return "not done"
        if self.n_faults:
            return "failed"
        return "passed" if self.is_whole else "in part"


@dataclass
class Tally:
    """A check while it runs."""

    name: str
    proves: str
    unit: str
    n_checked: int = 0
    n_faults: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    done: bool = True
    is_whole: bool = True

    def fault(self, file: str, index: int | None, problem: str, value: object) -> None:
        """Notes something that is wrong."""
        self.n_faults += 1
        if len(self.faults) < MAX_LISTED:
            self.faults.append(Fault(file, index, problem, str(value)))

    def skip(self, why: str) -> None:
        """Notes that the check was not done."""
        self.done = False
        self.notes.append(why)

    def leave_out(self, files: Sequence[str]) -> None:
        """Notes files that cannot be read, whose content was not looked at."""
        if self.done and files:
            self.is_whole = False
            named = ", ".join(files[:MAX_NAMED]) + (
                f" and {len(files) - MAX_NAMED} more" * (len(files) > MAX_NAMED)
            )
            self.notes.append(f"without what needs {named}")

    def check(self) -> Check:
        """The line; not done where there was nothing to look at."""
        if self.done and not self.n_checked and not self.n_faults:
            self.skip("there is nothing of the kind to look at")
        return Check(
            self.name,
            self.proves,
            self.n_checked,
            self.unit,
            self.n_faults,
            tuple(self.faults),
            "; ".join(self.notes),
            self.done,
            self.is_whole,
        )


@dataclass(frozen=True)
class Report:
    """All checks of a folder."""

    folder: str
    hops: tuple[str, ...]
    checks: tuple[Check, ...]
    beside: Sequence[Mapping[str, Any]] = ()
    """Distances of each split's distributions from CLEVR's, where a CLEVR folder was given."""

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(each.result != "failed" for each in self.checks)

    def as_json(self) -> dict[str, Any]:
        """As docs/files.md describes it."""
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
                    "first": [
                        {
                            "file": fault.file,
                            "index": fault.index,
                            "problem": fault.problem,
                            "value": fault.value,
                        }
                        for fault in each.faults
                    ],
                    "note": each.note,
                }
                for each in self.checks
            ],
            "beside_clevr": list(self.beside),
        }
