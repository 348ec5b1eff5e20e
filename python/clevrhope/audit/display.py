"""The view of an audit in the terminal: a table of checks, and the first faults of each failed check."""

from rich.console import Console
from rich.text import Text

from clevrhope.audit.report import Report
from clevrhope.runtime.display import show_table

SHOWN = 5
"""Number of faults shown for each check; the JSON report lists more."""


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
