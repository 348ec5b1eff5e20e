"""Progress for people: bars on a terminal, lines elsewhere."""

import io
import re
import time

import pytest
from rich.console import Console

from clevrhope.runtime import display
from clevrhope.runtime.display import TerminalProgress


def test_a_terminal_shows_how_far_how_fast_and_how_long_yet() -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=140, color_system=None)
    with TerminalProgress(console).stage("Asking", total=40, unit="questions") as advance:
        for _ in range(3):
            time.sleep(0.12)
            advance(10)
        time.sleep(0.2)
    text = shown.getvalue()
    assert "30/40" in text
    assert "questions/s" in text
    assert re.search(r"questions/s \d\d:\d\d", text)  # the time left


class Clock:
    """Stands in for the time, which passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_what_an_earlier_call_did_says_nothing_of_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """900 updates are there; 50 made in 100 s leave 100 s for the other 50, not 5 s."""
    clock = Clock()
    monkeypatch.setattr(display, "monotonic", clock)
    shown = io.StringIO()
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


def test_a_bar_counts_what_is_there_and_its_rate_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=140, color_system=None)
    with TerminalProgress(console).stage("Training", total=1_000_000, unit="updates") as advance:
        advance(900_000, there=True)
        for _ in range(3):
            time.sleep(0.12)
            advance(10)
        time.sleep(0.2)
    text = shown.getvalue()
    assert "900030/1000000" in text
    speeds = [float(each.replace(",", "")) for each in re.findall(r"([\d.,]+) updates/s", text)]
    assert speeds
    assert max(speeds) < 1000


@pytest.mark.parametrize(("width", "there"), [(80, True), (100, True), (40, False)])
def test_a_narrow_terminal_shows_the_rate_where_it_has_room(width: int, there: bool) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=width, color_system=None)
    with TerminalProgress(console).stage("tensor_nmn engine", total=500_000, unit="updates") as advance:
        for _ in range(3):
            time.sleep(0.12)
            advance(10)
        time.sleep(0.2)
    assert bool(re.search(r"\d/s ", shown.getvalue())) == there
    assert "30/500000" in shown.getvalue()


def test_rates_as_one_says_them() -> None:
    said = [display.rate(speed, " updates") for speed in (12345.6, 3.44, 1.0, 0.4)]
    assert said == ["12,346 updates/s", "3.4 updates/s", "1.0 updates/s", "2.5 s each"]


@pytest.mark.parametrize("width", [40, 80, 140])
def test_a_title_is_never_cut(width: int) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=width, color_system=None)
    title = "Asking large_rubber complex_ood" if width > 40 else "Exporting clevr"
    with TerminalProgress(console).stage(title, total=20_000_000, unit="questions") as advance:
        advance(19_000_000)
        time.sleep(0.2)
    assert title in shown.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown.getvalue()


def test_elsewhere_a_long_stage_says_now_and_then_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LINES", 0.0)
    shown = io.StringIO()
    with TerminalProgress(Console(file=shown, width=40)).stage(
        "Rendering", total=3, unit="images"
    ) as advance:
        advance(1)
        advance(2)
    lines = shown.getvalue().splitlines()
    assert re.fullmatch(r"Rendering: 1 of 3 images, .* s, [\d,.]+ images/s, .* left", lines[0])
    assert lines[-1].startswith("Rendering: 3 images, ")
