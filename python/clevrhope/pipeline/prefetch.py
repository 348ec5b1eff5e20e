"""Prefetching: iterators whose next items are made in other threads, where native code does the work."""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

T = TypeVar("T")


def prefetch(items: Iterator[T]) -> Iterator[T]:
    """Yields the items of an iterator, making each while the one before it is used."""
    with closing(prefetch_each([items])) as sources:
        for source in sources:
            yield from source


def prefetch_each(sources: Iterable[Iterator[T]]) -> Generator[Iterator[T]]:
    """Yields iterators to be exhausted in order; the first item of each is made while earlier ones are used.

    An exception of a source is raised where its items are taken.
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
