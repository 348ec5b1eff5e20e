"""The handler of the signals that stop a command."""

import signal
import sys
import threading
from _thread import interrupt_main

PATIENCE_S = 5.0
"""A command that has not ended this long after a signal is interrupted again."""


class Stop:
    """The handler of Ctrl-C and SIGTERM, which remembers that there was one.

    In the middle of an import, libraries replace `KeyboardInterrupt` by errors of their own, or go on without
    what they wanted to import. So what ends a command after a signal is not told, and a command that goes on
    is interrupted again.
    """

    def __init__(self) -> None:
        self.is_set = False
        self.is_told = False
        """Whether the command has said that it was stopped; from then on signals are ignored."""

    def __call__(self, *_: object) -> None:
        """Handles the signal; raises KeyboardInterrupt."""
        if not self.is_told:
            self.is_set = True
            repeat = threading.Timer(PATIENCE_S, self._repeat)
            repeat.daemon = True
            repeat.start()
            raise KeyboardInterrupt

    def _repeat(self) -> None:
        main = threading.main_thread().ident
        if self.is_told or main is None:
            return
        if sys.platform == "win32":
            interrupt_main()
        else:  # wakes it, too, from whatever it waits for
            signal.pthread_kill(main, signal.SIGINT)
