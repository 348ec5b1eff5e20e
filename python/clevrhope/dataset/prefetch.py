"""Runs slow calls in threads, some of them before their results are read."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from os import cpu_count


def prefetch(work: Iterator[Callable[[], bytes]]) -> Iterator[bytes]:
    """The results of calls, in order; threads are a few calls ahead of the reader, so memory stays flat.

    `work` itself is read in the caller's thread, where a part of the work can stay that takes one thread.
    """
    n_threads = cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as threads:
        queue: list[Future[bytes]] = [threads.submit(call) for call in islice(work, 4 * n_threads)]
        try:
            while queue:
                yield queue.pop(0).result()
                queue.extend(threads.submit(call) for call in islice(work, 1))
        finally:
            for future in queue:
                future.cancel()
