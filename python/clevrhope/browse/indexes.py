"""The indexes of a dataset: each is made in a thread of its own when a page first needs it.

Scenes take a while to count; until an index is there, pages show its progress.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from clevrhope.browse.folder import SiteFolder
from clevrhope.browse.index import Index, read_index
from clevrhope.errors import ClevrhopeError, DatasetError
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.runtime.reading import reason

INDEXES_KEPT = 4
"""Number of sub-datasets whose indexes stay in memory, at 60 MB each at the paper's size."""


class _StoppedError(Exception):
    """Nobody needs the index any more."""


@dataclass
class Making:
    """An index that is being made, and its progress, which the page shows beside the terminal."""

    terminal: Progress
    stopped: threading.Event
    """Set when the index is no longer needed; making it then ends with the next step of its progress."""
    title: str = "Reading the questions"
    done: int = 0
    total: int = 0
    """0 while it is unknown."""

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Iterator[Advance]:
        """As in `Progress`."""
        before = (self.title, self.done, self.total)
        self.title, self.done, self.total = title, 0, total
        with self.terminal.stage(title, total=total, unit=unit) as advance:

            def advance_both(n: int, /, *, there: bool = False) -> None:
                if self.stopped.is_set():
                    raise _StoppedError
                self.done += n
                advance(n, there=there)

            yield advance_both
        self.title, self.done, self.total = before


class Indexes:
    """The indexes of one dataset, by sub-dataset; one is made at a time, and the latest are kept.

    The end of the process waits for the thread that makes them. If it did not, a thread within a call of HDF5
    would keep that library's lock, for which the process would then wait forever.
    """

    def __init__(self, folder: SiteFolder, progress: Progress) -> None:
        """`progress` is shown in the terminal."""
        self._folder = folder
        self._progress = progress
        self._indexes: OrderedDict[str, tuple[Making, Future[Index]]] = OrderedDict()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")

    def get(self, hop: str) -> Index | Making:
        """The index of a sub-dataset, or its progress; the first call starts making it.

        Raises:
            DatasetError: the index could not be made; the next call tries again.
        """
        making, index = self._started(hop)
        if not index.done():
            return making
        try:
            return index.result()
        except Exception as error:
            with self._lock:
                self._indexes.pop(hop, None)
            if isinstance(error, ClevrhopeError):
                raise
            problem = f"{self._folder.layout.hop(hop)}: no index of it ({reason(error)})"
            raise DatasetError(problem) from error

    def ready(self, hop: str) -> Index | None:
        """The index of a sub-dataset if it exists; otherwise starts making it and returns None."""
        try:
            index = self.get(hop)
        except DatasetError:
            return None
        return index if isinstance(index, Index) else None

    def close(self) -> None:
        """Ends the making of indexes at the next step of its progress."""
        self._stopped.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _started(self, hop: str) -> tuple[Making, Future[Index]]:
        """The progress and the result of making an index, which begins now if that has not been asked for."""
        with self._lock:
            if hop in self._indexes and self._is_outdated(hop, self._indexes[hop][1]):
                del self._indexes[hop]
                self._folder.reader.cache_clear()
            if hop not in self._indexes:
                made = [name for name, (_, index) in self._indexes.items() if index.done()]
                for name in made[: max(0, len(made) + 1 - INDEXES_KEPT)]:
                    del self._indexes[name]
                making = Making(self._progress, self._stopped)
                self._indexes[hop] = (making, self._thread.submit(self._made, hop, making))
            self._indexes.move_to_end(hop)
            return self._indexes[hop]

    def _is_outdated(self, hop: str, made: Future[Index]) -> bool:
        """Whether an index lacks something that could not be read, and files have changed since."""
        index = made.result() if made.done() and made.exception() is None else Index()
        return bool(index.notes) and index.stamps != self._folder.stamps(hop)

    def _made(self, hop: str, making: Making) -> Index:
        index = read_index(self._folder, hop, making)
        if not self._folder.is_current():  # the index may be of the new files
            raise DatasetError(f"{self._folder.layout.root}: it changed while it was read")
        return index
