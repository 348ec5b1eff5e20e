"""Progress of long work: stages with totals, for any kind of display."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Advance(Protocol):
    """Takes the number of units done since the last call."""

    def __call__(self, n: int, /, *, there: bool = False) -> None:
        """Counts `n` units; `there` marks units of an earlier run, which must not affect the rate."""


Stage = AbstractContextManager[Advance]
"""A piece of work in progress."""


class Progress(Protocol):
    """A display of progress."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A piece of work of `total` units, such as images; 0 if the total is unknown."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A stage that is not shown."""
        return nullcontext(ignore_advance)


def ignore_advance(n: int, /, *, there: bool = False) -> None:
    """Accepts units and shows nothing."""
