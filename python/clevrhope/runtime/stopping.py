"""The handler of the signals that stop a command."""


class Stop:
    """The handler of Ctrl-C and SIGTERM, which remembers that there was one.

    In the middle of an import, libraries replace `KeyboardInterrupt` by errors of their own, so what ends a
    command after a signal is not told.
    """

    def __init__(self) -> None:
        self.is_set = False
        self.is_told = False
        """Whether the command has said that it was stopped; from then on signals are ignored."""

    def __call__(self, *_: object) -> None:
        """Handles the signal; raises KeyboardInterrupt."""
        if not self.is_told:
            self.is_set = True
            raise KeyboardInterrupt
