"""A report in, a table and the first offenders of each failed check on a terminal out."""

from rich.console import Console
from rich.text import Text

from clevrhope.audit.report import Report
from clevrhope.runtime.display import show_table

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
    _show_beside(console, report)
    for each in report.checks:
        if each.note:
            _say(console, f"{each.name}: {each.note}", "dim")
    for each in report.checks:
        if each.n_faults:
            _say(console, f"{each.name} failed. It checks that {each.proves}", "bold red")
            for fault in each.faults[:SHOWN]:
                _say(console, f"  {fault}")
            if each.n_faults > SHOWN:
                _say(console, f"  and {each.n_faults - min(SHOWN, len(each.faults)):,} more", "dim")
    n_failed = sum(each.result == "failed" for each in report.checks)
    verdict = f"{n_failed} of {len(report.checks)} checks failed" if n_failed else "nothing wrong was found"
    _say(console, f"{report.folder}: {verdict}", "bold red" if n_failed else "bold green")


def _show_beside(console: Console, report: Report) -> None:
    """How far splits are from CLEVR's, a line each: total variation, and in brackets what chance gives."""
    wanted = ("answers", "families", "words", "functions", "objects")
    rows = [
        (
            f"{row['hop']}: {row['a']}, {row['b']}",
            *(_distance(row["total_variation"].get(name), row["by_chance"].get(name)) for name in wanted),
        )
        for row in report.beside
    ]
    if rows:
        title = "How far splits are apart (total variation, by chance in brackets)"
        show_table(console, title, ("splits", *wanted), rows)


def _distance(there: float | None, by_chance: float | None) -> str:
    return "" if there is None or by_chance is None else f"{there:.3f} ({by_chance:.3f})"


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)
