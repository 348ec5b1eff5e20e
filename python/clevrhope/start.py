"""Starts the command line, so that a signal ends it in one line at any moment, even while it is imported."""

import signal
import sys
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
        from clevrhope.__main__ import run_command

        code = run_command(sys.argv[1:], stop=stop)
    except BaseException:
        if not stop.is_set:
            raise
        code = 130
        if not stop.is_told:
            stop.is_told = True
            sys.stderr.write("clevrhope: stopped\n")
    sys.exit(code)


def _without_interrupts(show: Callable[[Any], object]) -> Callable[[Any], object]:
    """A hook that shows exceptions which cannot be raised, but for an interrupt, which `Stop` repeats."""

    def hook(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            show(unraisable)

    return hook


if __name__ == "__main__":
    main()
