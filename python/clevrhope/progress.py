"""What long work reports while it runs: stages with totals in, a display of any kind out."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]
"""Takes the number of units done since the last call."""

Stage = AbstractContextManager[Advance]
"""A piece of work under way."""


class Progress(Protocol):
    """Something that shows how far work has come."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A piece of work of `total` units, such as pictures; 0 when nobody knows yet."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, title: str, *, total: int, unit: str) -> Stage:
        """A stage that nobody sees."""
        return _silent_stage()


@contextmanager
def _silent_stage() -> Iterator[Advance]:
    yield lambda _: None
