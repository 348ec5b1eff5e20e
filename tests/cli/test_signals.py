"""Ctrl-C and SIGTERM end every command in one line and 130, also while it is imported and set up."""

import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import click
import pytest
from building import build_demo

from clevrhope.__main__ import run_command
from clevrhope.runtime.stopping import Stop
from waiting import HANG_S

COMMANDS = {
    "train": "train question_only demo --hop rubber_cylinder --size 100 --seed 1 --updates 100000 --out run",
    "build": "build --hop rubber_cylinder --preset paper --seed 1 --renderer native --out new",
    "features": "features demo --kind pixels --out new",
    "evaluate": "evaluate none",
}
LATEST_S = 8.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("signals")
    build_demo(path / "demo")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_at_any_moment_ends_a_command_in_one_line(
    command: str, number: int, folder: Path, request: pytest.FixtureRequest
) -> None:
    moments = random.Random(request.node.name)
    for _ in range(3):
        words = [sys.executable, "-m", "clevrhope.start", *COMMANDS[command].split(), "--quiet"]
        process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        # Before the handlers are set, Python itself ends the process.
        time.sleep(0.3 + LATEST_S * moments.random() ** 2)
        process.send_signal(number)
        _, errors = process.communicate(timeout=HANG_S)
        lines = errors.splitlines()
        assert len(lines) <= 1, errors
        if process.returncode == 130:
            assert lines[0].startswith("clevrhope: stopped"), errors
        else:  # it had ended by itself, or Python had not begun
            assert process.returncode in (0, 1, 2, -number), errors


def test_a_command_that_went_on_is_interrupted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a library takes an interrupted import for a missing module."""
    monkeypatch.setattr("clevrhope.runtime.stopping.PATIENCE_S", 0.2)

    @click.command
    def deaf() -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        time.sleep(HANG_S)

    began = time.monotonic()
    assert run_command([], deaf) == 130
    assert time.monotonic() - began < HANG_S / 2


def test_an_error_in_place_of_the_interrupt_is_told_as_a_stop(capsys: pytest.CaptureFixture[str]) -> None:
    """As when torch is interrupted in the middle of its import."""
    stop = Stop()

    @click.command
    def half_imported() -> None:
        with suppress(KeyboardInterrupt):
            stop()
        raise AttributeError("module 'torch._dynamo' has no attribute 'utils'")

    assert run_command([], half_imported, stop=stop) == 130
    assert capsys.readouterr().err == "clevrhope: stopped\n"


HANDLED = """
import signal, sys
from unittest import mock
from clevrhope import start
def interrupted(arguments, *, stop):
    try:
        exec("signal.raise_signal(signal.SIGTERM)")
    except KeyboardInterrupt:
        stop.is_told = True
        return 130
class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
sys.late = Late()
with mock.patch("clevrhope.__main__.run_command", interrupted):
    start.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends no process by a signal")
def test_the_exit_status_is_that_of_the_command_whatever_comes_while_python_ends(tmp_path: Path) -> None:
    """Python ends itself by SIGINT after one inside of `exec`, and at its end signals have their defaults."""
    (tmp_path / "handled.py").write_text(HANDLED)
    done = subprocess.run([sys.executable, "-m", "handled"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "")


LOUD = """
import logging, warnings
from unittest import mock
from clevrhope import start
def loud(*_, **__):
    warnings.warn("of a library")
    logging.getLogger("library").warning("of another")
    return 0
with mock.patch("clevrhope.__main__.run_command", loud):
    start.main()
"""


def test_warnings_of_libraries_do_not_reach_users_unless_they_ask(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    for words, is_told in (([], False), (["-W", "default"], True)):
        command = [sys.executable, *words, "-m", "loud"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ("of a library" in done.stderr) == is_told
        assert "of another" not in done.stderr
