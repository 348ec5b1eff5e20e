"""Maps a function over items in a few threads, if most of its work does not need the interpreter lock."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def map_in_threads(
    function: Callable[[S], T],
    items: Iterable[S],
    *,
    threads: int | None = 2,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[T]:
    """Yields the results of a function for each item, in order; items are taken as threads become free.

    A result is yielded once it is there and a later item is being worked on, so that threads compute while
    the caller uses a result. With two threads, one reads while holding the interpreter's lock and the other
    computes without it; None means as many threads as there are cores. The caller's thread reads `items`.

    The end waits for the calls under way, also after Ctrl-C; `stop`, called before, can cut them short.
    """
    threads = threads or cpu_count() or 1
    with ThreadPoolExecutor(threads) as pool:
        coming: deque[Future[T]] = deque()
        try:
            for item in items:
                coming.append(pool.submit(function, item))
                while len(coming) > threads or (len(coming) > 1 and coming[0].done()):
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            stop()
