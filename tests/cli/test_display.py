"""Progress for people: bars on a terminal, lines elsewhere."""

import io
import json
import re
import string

import pytest
from rich.console import Console

from clevrhope.runtime import display
from clevrhope.runtime.display import Terminal, TerminalProgress, show_table
from clevrhope.runtime.progress import Advance
from clevrhope.runtime.terminal import say, say_json


class Clock:
    """Stands in for the time, which passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(display, "monotonic", made)
    return made


@pytest.fixture
def shown() -> io.StringIO:
    return io.StringIO()


def terminal(shown: io.StringIO, clock: Clock, *, width: int = 140) -> TerminalProgress:
    """Progress on a terminal."""
    return TerminalProgress(
        Console(file=shown, force_terminal=True, width=width, color_system=None, get_time=clock)
    )


def pass_three_tens(clock: Clock, advance: Advance) -> None:
    for _ in range(3):
        clock.now += 0.12
        advance(10)


def test_a_terminal_shows_how_far_how_fast_and_how_long_yet(shown: io.StringIO, clock: Clock) -> None:
    with terminal(shown, clock).stage("Asking", total=40, unit="questions") as advance:
        pass_three_tens(clock, advance)
    assert "30/40" in shown.getvalue()
    assert re.search(r"questions/s \d\d:\d\d", shown.getvalue())  # the time left


def test_what_an_earlier_call_did_says_nothing_of_the_rate(shown: io.StringIO, clock: Clock) -> None:
    """900 updates are there; 50 made in 100 s leave 100 s for the other 50, not 5 s."""
    progress = TerminalProgress(Console(file=shown, width=40))
    with progress.stage("tensor_nmn engine", total=1000, unit="updates") as advance:
        advance(900, there=True)
        clock.now += 100
        advance(50)
        clock.now += 25
        advance(50)
    assert shown.getvalue().splitlines() == [
        "tensor_nmn engine: 950 of 1,000 updates, 1 min 40 s, 2.0 s each, 1 min 40 s left",
        "tensor_nmn engine: 1,000 updates, 2 min 5 s, 1.2 s each",
    ]


def test_a_bar_counts_what_is_there_and_its_rate_without_it(shown: io.StringIO, clock: Clock) -> None:
    with terminal(shown, clock).stage("Training", total=1_000_000, unit="updates") as advance:
        advance(900_000, there=True)
        pass_three_tens(clock, advance)
    assert "900030/1000000" in shown.getvalue()
    speeds = re.findall(r"([\d.,]+) updates/s", shown.getvalue())
    assert speeds
    assert max(float(each.replace(",", "")) for each in speeds) < 1000


@pytest.mark.parametrize(("width", "has_room"), [(80, True), (100, True), (40, False)])
def test_a_narrow_terminal_shows_the_rate_where_it_has_room(
    width: int, has_room: bool, shown: io.StringIO, clock: Clock
) -> None:
    progress = terminal(shown, clock, width=width)
    with progress.stage("tensor_nmn engine", total=500_000, unit="updates") as advance:
        pass_three_tens(clock, advance)
    assert bool(re.search(r"\d/s ", shown.getvalue())) == has_room
    assert "30/500000" in shown.getvalue()


def test_rates_as_one_says_them() -> None:
    said = [display.rate(speed, " updates") for speed in (12345.6, 3.44, 1.0, 0.4)]
    assert said == ["12,346 updates/s", "3.4 updates/s", "1.0 updates/s", "2.5 s each"]


@pytest.mark.parametrize("width", [40, 80, 140])
def test_a_title_is_never_cut(width: int, shown: io.StringIO, clock: Clock) -> None:
    title = "Asking large_rubber complex_ood" if width > 40 else "Exporting clevr"
    with terminal(shown, clock, width=width).stage(title, total=20_000_000, unit="questions") as advance:
        advance(19_000_000)
    assert title in shown.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown.getvalue()


def test_elsewhere_a_long_stage_says_now_and_then_what_is_left(
    shown: io.StringIO, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LINES", 0.0)
    progress = TerminalProgress(Console(file=shown, width=40))
    with progress.stage("Rendering", total=3, unit="images") as advance:
        clock.now += 0.1
        advance(1)
        clock.now += 1.0
        advance(2)
    lines = shown.getvalue().splitlines()
    assert re.fullmatch(r"Rendering: 1 of 3 images, .* s, [\d,.]+ images/s, .* left", lines[0])
    assert lines[-1].startswith("Rendering: 3 images, ")


HOSTILE = "a\x1b[2Jb\x00c\x9bd\u202ee"


def test_text_of_others_controls_no_terminal(shown: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    escaped = r"a\x1b[2Jb\x00c\x9bd\u202ee"
    console = Terminal(file=shown, width=200, force_terminal=True, color_system=None)
    show_table(console, HOSTILE, ("name", HOSTILE), [(HOSTILE, HOSTILE), ("[bold]x", "1")], HOSTILE)
    with TerminalProgress(console).stage(HOSTILE, total=1, unit="things") as advance:
        advance(1)
    with TerminalProgress(Terminal(file=shown)).stage(HOSTILE, total=1, unit="things") as advance:
        advance(1)
    assert shown.getvalue().count(escaped) >= 7
    assert "[bold]x" in shown.getvalue()
    sent = re.sub(r"\x1b\[(\?25[lh]|2K|1A|0m)", "", shown.getvalue())  # rich's own, for bars
    assert not {*HOSTILE} & {*sent} - {*string.printable}
    say(f"{HOSTILE}\n\tb")
    say(HOSTILE, err=True)
    say_json({HOSTILE: "\x7f"})
    out, err = capsys.readouterr()
    assert (out.splitlines()[:2], err) == ([escaped, "\tb"], f"{escaped}\n")
    line = out.splitlines()[2]
    assert line.isprintable()
    assert json.loads(line) == {HOSTILE: "\x7f"}
