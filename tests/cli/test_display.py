"""Progress for people: bars on a terminal, lines elsewhere."""

import io
import re
import time

import pytest
from rich.console import Console

from clevrhope import display
from clevrhope.display import TerminalProgress


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
        "Rendering", total=3, unit="pictures"
    ) as advance:
        advance(1)
        advance(2)
    lines = shown.getvalue().splitlines()
    assert lines[0].startswith("Rendering: 1 of 3 pictures, ")
    assert lines[0].endswith(" left")
    assert lines[-1].startswith("Rendering: 3 pictures, ")
