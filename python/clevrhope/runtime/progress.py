"""Progress of long work: stages with totals, for any kind of display; and the log of calls from Python."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

LOG = logging.getLogger("clevrhope")
"""What calls from Python say; the commands print it themselves."""


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
    """Shows nothing; the log has the beginning and the end of each stage, at level INFO."""

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Iterator[Advance]:
        """A stage that is not shown."""
        done = 0

        def advance(n: int, /, *, there: bool = False) -> None:
            nonlocal done
            done += n

        LOG.info("%s: %s", title, f"{total:,} {unit} to do" if total else "begins")
        yield advance
        LOG.info("%s: %s", title, f"{done:,} {unit} done" if done else "done")


def ignore_advance(n: int, /, *, there: bool = False) -> None:
    """Accepts units and shows nothing."""
