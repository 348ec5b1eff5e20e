"""Starts the command line, so that a signal ends it in one line at any moment, even while it is imported."""

import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

from clevrhope.runtime.stopping import Stop


def main() -> None:
    """Runs the command line and exits."""
    stop = Stop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    sys.unraisablehook = _without_interrupts(sys.unraisablehook)
    try:
        _quiet_libraries()
        from clevrhope.__main__ import run_command

        code = run_command(sys.argv[1:], stop=stop)
        _ignore_signals()
    except BaseException:
        if not stop.is_set:
            raise
        code = 130
        if not stop.is_told:
            stop.is_told = True
            sys.stderr.write("clevrhope: stopped\n")
        _ignore_signals()
    sys.exit(code)


def _quiet_libraries() -> None:
    """Hides warnings of libraries, which are about what users neither did nor can change."""
    import logging

    logging.getLogger().addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _ignore_signals() -> None:
    """From here on Python ends with the exit status that it is given, whatever comes and has come."""
    for number in (signal.SIGINT, signal.SIGTERM):  # while it ends, it would give them their default meaning
        signal.signal(number, signal.SIG_IGN)
    exec("")  # after an interrupt inside another `exec`, such as that of a dataclass, it would end by SIGINT


def _without_interrupts(show: Callable[[Any], object]) -> Callable[[Any], object]:
    """A hook that shows exceptions which cannot be raised, but for an interrupt, which `Stop` repeats."""

    def hook(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            show(unraisable)

    return hook


if __name__ == "__main__":
    main()
