"""Starts the command line, so that a signal ends it in one line at any moment, even while it is imported."""

import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Callable
from typing import Any

from clevrhope.runtime.stopping import Stop

RETRY_S = 0.01
"""After this time a lost interrupt is repeated."""


def main() -> None:
    """Runs the command line and exits."""
    stop = Stop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    sys.unraisablehook = _repeating(sys.unraisablehook)
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


def _repeating(show: Callable[[Any], object]) -> Callable[[Any], object]:
    """A hook for exceptions that cannot be raised: an interrupt is repeated, others are shown."""

    def hook(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            threading.Timer(RETRY_S, interrupt_main).start()
        else:
            show(unraisable)

    return hook


if __name__ == "__main__":
    main()
