"""A report in, a table and the first offenders of each failed check on a terminal out."""

from rich.console import Console
from rich.text import Text

from clevrhope.audit.report import Report
from clevrhope.display import show_table

SHOWN = 5
"""Offenders of a check that are shown; the JSON report lists more."""


def show_report(console: Console, report: Report) -> None:
    """Shows one line a check: what, how many things, the result; then what is wrong."""
    rows = [
        (
            each.name,
            f"{each.n_checked:,}",
            each.unit,
            each.result if each.done else "not done",
            f"{each.n_faults:,}",
        )
        for each in report.checks
    ]
    show_table(console, f"{report.folder}", ("check", "looked at", "what", "result", "faults"), rows)
    for each in report.checks:
        if each.note:
            _say(console, f"{each.name}: {each.note}", "dim")
    for each in report.checks:
        if each.n_faults:
            _say(console, f"{each.name} failed: it proves that {each.proves}", "bold red")
            for fault in each.faults[:SHOWN]:
                _say(console, f"  {fault}")
            if each.n_faults > SHOWN:
                _say(console, f"  and {each.n_faults - min(SHOWN, len(each.faults)):,} more", "dim")
    n_failed = sum(each.result == "failed" for each in report.checks)
    verdict = f"{n_failed} of {len(report.checks)} checks failed" if n_failed else "nothing wrong was found"
    _say(console, f"{report.folder}: {verdict}", "bold red" if n_failed else "bold green")


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)
