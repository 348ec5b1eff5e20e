"""Progress of long work: stages with totals, for a display of any kind."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class Advance(Protocol):
    """Takes the number of units that were done since the last call."""

    def __call__(self, n: int, /, *, there: bool = False) -> None:
        """Counts `n` units; `there` for units of an earlier run, which must not count for the rate."""


Stage = AbstractContextManager[Advance]
"""A piece of work under way."""


class Progress(Protocol):
    """A display of how far work has come."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A piece of work of `total` units, such as images; 0 when the total is unknown."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A stage that is not shown."""
        return nullcontext(ignore_advance)


def ignore_advance(n: int, /, *, there: bool = False) -> None:
    """Takes units and shows nothing."""
