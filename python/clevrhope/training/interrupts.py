"""Turns SIGTERM and Ctrl-C into a flag, so that a run only stops between two updates."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


class Interrupt:
    """Whether one of the signals has arrived."""

    def __init__(self) -> None:
        self.is_set = False


@contextmanager
def interrupts() -> Iterator[Interrupt]:
    """Catches the first signal of each kind within the block; a second one has its usual effect."""
    interrupt = Interrupt()
    if current_thread() is not main_thread():
        yield interrupt  # only the main thread can handle signals
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.is_set = True
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, note)
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
