"""What long work reports while it runs: stages with totals in, a display of any kind out."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Advance(Protocol):
    """Takes how many units are done since the last call."""

    def __call__(self, n: int, /, *, there: bool = False) -> None:
        """Counts `n` units; with `there` they were done by an earlier call, and say nothing of the rate."""


Stage = AbstractContextManager[Advance]
"""A piece of work under way."""


class Progress(Protocol):
    """Something that shows how far work has come."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A piece of work of `total` units, such as images; 0 when nobody knows yet."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A stage that nobody sees."""
        return _silent_stage()


def unseen(n: int, /, *, there: bool = False) -> None:
    """Takes units, and shows nothing."""


@contextmanager
def _silent_stage() -> Iterator[Advance]:
    yield unseen
