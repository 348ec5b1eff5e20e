"""Progress bars, tables, times and sizes for people at a terminal. The only module that imports rich."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from clevrhope.errors import printable
from clevrhope.runtime.progress import Advance, Stage

SECONDS_BETWEEN_LINES = 30.0
"""Without a terminal, a long stage prints a line at this interval."""

ROOM_FOR_BARS = 120
"""Columns that a terminal needs for bars."""

ROOM_FOR_RATES = 24
"""Columns that a rate and a time need beside the title and the numbers."""

_SECONDS_FOR_A_RATE = 1.0
"""A shorter stage prints no rate."""


class Terminal(Console):
    """A console for text of others: characters in it that would control the terminal are escaped."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Renders an object; what rich itself sends to control the terminal passes."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=printable(part.text))


class TerminalProgress:
    """Bars with rates and remaining time on a terminal; otherwise a line at intervals and at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """Shows a bar for one stage."""
        return self._bar(title, total, unit) if self._console.is_terminal else self._line(title, total, unit)

    @contextmanager
    def _bar(self, title: str, total: int, unit: str) -> Iterator[Advance]:
        # Columns are omitted if there is no room for all, because rich would truncate the title first.
        wide = self._console.width >= ROOM_FOR_BARS
        has_rate = len(title) + 2 * len(str(total)) + ROOM_FOR_RATES <= self._console.width
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}", markup=False),
            *([BarColumn(bar_width=28)] if wide else []),
            MofNCompleteColumn(),
            *([_Rate(f" {unit}" if wide else "")] if has_rate else []),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        ]
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(f"{title:<34}" if wide else title, total=total or None)

            def advance(n: int, /, *, there: bool = False) -> None:
                if there:
                    progress.tasks[0].completed += n
                progress.advance(task, 0 if there else n)  # a step of 0 starts the rate's time

            yield advance
            if not total:
                progress.update(task, total=progress.tasks[0].completed)

    @contextmanager
    def _line(self, title: str, total: int, unit: str) -> Iterator[Advance]:
        began, done, made = monotonic(), 0, 0
        printed = began

        def advance(n: int, /, *, there: bool = False) -> None:
            nonlocal done, made, printed
            done += n
            made += 0 if there else n
            if made and monotonic() - printed >= SECONDS_BETWEEN_LINES:
                printed = monotonic()
                speed = made / (printed - began)
                left = f", {duration((total - done) / speed)} left" if total else ""
                of = f" of {total:,}" if total else ""
                at = rate(speed, f" {unit}")
                self._print(f"{title}: {done:,}{of} {unit}, {duration(printed - began)}, {at}{left}")

        yield advance
        seconds = monotonic() - began
        at = f", {rate(made / seconds, f' {unit}')}" if made and seconds >= _SECONDS_FOR_A_RATE else ""
        self._print(f"{title}: {done:,} {unit[:-1] if done == 1 else unit}, {duration(seconds)}{at}")

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


class _Rate(ProgressColumn):
    """Units per second, or seconds per unit if they are slow; `unit` begins with a space, or is empty."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(rate(speed, self._unit) if speed else "", style="cyan")


def show_table(
    console: Console, title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> None:
    """Prints a table whose first column is aligned left and the others right.

    A row that begins with "- " belongs to the one above it. If the terminal is too narrow, lines extend
    beyond its edge, so that no digit is lost.
    """
    shown = Table(
        title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )
    for k, name in enumerate(map(printable, head)):
        shown.add_column(Text(name), justify="right" if k else "left", no_wrap=True)
    for name, *cells in (map(printable, row) for row in rows):
        belongs = name.startswith("- ")
        label = Text(f"  {name[2:]}" if belongs else name, style="dim" if belongs else "")
        shown.add_row(label, *(Text(cell, style="dim" if belongs else "") for cell in cells))
    wanted = console.measure(shown, options=console.options.update(max_width=10_000)).maximum
    wide = Terminal(file=console.file, width=max(wanted, len(title), console.width))
    wide.print(shown)
    if note:
        console.print(Text(note, style="dim"), soft_wrap=True)
    console.print()


def rate(speed: float, unit: str) -> str:
    """Units per second in words: 1,200 updates/s, 3.4 updates/s, 2.5 s each."""
    if speed < 1:
        return f"{1 / speed:,.1f} s each"
    return f"{speed:,.0f}{unit}/s" if speed >= 10 else f"{speed:.1f}{unit}/s"


def duration(seconds: float) -> str:
    """A time in words: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min, 3 days 4 h."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = whole // 60
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} days {minutes % 1440 // 60} h"


def size(n_bytes: float) -> str:
    """Bytes in words: 812 B, 1.4 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"
