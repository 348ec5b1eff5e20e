"""Iterators whose next items are made in other threads; worth it where native code does most of the work."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

THREADS = 2
"""One thread reads while it holds the interpreter's lock; the other computes without the lock."""


def prefetch(items: Iterator[T]) -> Iterator[T]:
    """The items of an iterator, each made while the one before it is used."""
    with closing(prefetch_each([items])) as sources:
        for source in sources:
            yield from source


def prefetch_each(sources: Iterable[Iterator[T]]) -> Generator[Iterator[T]]:
    """Iterators to be used up in this order; the first item of each is made while those before it are used.

    An error of a source is raised where its items are taken.
    """
    with ThreadPoolExecutor(1) as thread:
        try:
            before: Iterator[T] | None = None
            for items in sources:
                source = _submitted(thread, items, thread.submit(next, items, None))
                if before is not None:
                    yield before
                before = source
            if before is not None:
                yield before
        finally:
            thread.shutdown(cancel_futures=True)


def _submitted(thread: ThreadPoolExecutor, items: Iterator[T], coming: Future[T | None]) -> Iterator[T]:
    while (item := coming.result()) is not None:
        coming = thread.submit(next, items, None)
        yield item


def threaded_map(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """As `map`, with `THREADS` calls at a time; results come in the order of the items."""
    with ThreadPoolExecutor(THREADS) as threads:
        coming: deque[Future[T]] = deque()
        for item in items:
            coming.append(threads.submit(function, item))
            if len(coming) > THREADS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
