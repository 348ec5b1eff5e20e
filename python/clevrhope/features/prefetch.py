"""Reads the next item in a thread while the current one is used."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def prefetch(read: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """`read` of each item, in order; one is read while the one before it is used."""
    with ThreadPoolExecutor(1) as thread:
        coming: Future[T] | None = None
        for item in items:
            following = thread.submit(read, item)
            if coming is not None:
                yield coming.result()
            coming = following
        if coming is not None:
            yield coming.result()
