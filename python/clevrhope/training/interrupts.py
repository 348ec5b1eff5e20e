"""SIGTERM and Ctrl-C in, a flag out: a run is stopped between two updates, never within one."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType


class Interrupt:
    """Whether somebody asked to stop."""

    def __init__(self) -> None:
        self.asked = False


@contextmanager
def interrupts() -> Iterator[Interrupt]:
    """Watches for both signals within the block; the second of one kind acts as it would without."""
    interrupt = Interrupt()
    if current_thread() is not main_thread():
        yield interrupt  # signals go to the main thread alone, which is somebody else's
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.asked = True
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, note)
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
