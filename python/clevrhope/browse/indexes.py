"""The indexes of a dataset's sub-datasets; each is made on first use, then kept."""

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from clevrhope.browse.folder import Folder
from clevrhope.browse.index import FORMAT, Index
from clevrhope.browse.index_writer import write_index
from clevrhope.errors import ClevrhopeError, DatasetError
from clevrhope.runtime.progress import Advance, Progress
from clevrhope.runtime.reading import os_reason, reason

DAYS_KEPT = 60
"""An index that was not opened for this long is removed when another one is made."""


def made_cache(folder: Folder) -> Path:
    """The folder in the user's cache where indexes are kept; only the user can read it.

    Raises:
        DatasetError: it cannot be made, or is in the dataset's folder, where nothing may be written.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = caches.absolute() / "clevrhope" / "browse"
    with _cache_errors(cache):
        if folder.contains(cache):
            raise DatasetError(f"{cache}: in the dataset's folder, where nothing is written; {REMEDY}")
        cache.mkdir(parents=True, exist_ok=True)
        cache.chmod(0o700)
    return cache


REMEDY = "set XDG_CACHE_HOME to a folder for caches"


@contextmanager
def _cache_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DatasetError(f"{path}: cannot be written ({os_reason(error)}); {REMEDY}") from error


@dataclass
class Making:
    """An index that is being made."""

    title: str = "Reading the questions"
    done: int = 0
    total: int = 0
    """0 while it is unknown."""
    error: ClevrhopeError | None = None


class Indexes:
    """The indexes of one dataset, by sub-dataset; one is made at a time."""

    def __init__(self, folder: Folder, cache: Path, progress: Progress) -> None:
        """`progress` is shown in the terminal, in addition to the progress on the page."""
        self._folder, self._cache, self._progress = folder, cache, progress
        self._known: dict[str, Index] = {}
        self._making: dict[str, Making] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._unfinished: set[Path] = set()

    def get(self, hop: str) -> Index | Making:
        """The index of a sub-dataset, or its progress; the first call starts making it.

        Raises:
            DatasetError: the index could not be made; the next call tries again.
        """
        with self._lock:
            index = self._find(hop)
            if index is not None:
                return index
            making = self._making.get(hop)
            if making is None:
                making = self._making[hop] = Making()
                threading.Thread(target=self._make_quietly, args=(hop, making), daemon=True).start()
            if making.error is not None:
                del self._making[hop]
                raise making.error
            return making

    def ready(self, hop: str) -> Index | None:
        """The index of a sub-dataset if it exists; otherwise starts making it and returns None."""
        try:
            index = self.get(hop)
        except DatasetError:
            return None
        return index if isinstance(index, Index) else None

    def make(self, hop: str) -> Index:
        """The index of a sub-dataset, made now if it does not exist; raises as `get` does."""
        index = self._find(hop)
        if index is None:
            self._make(hop, Making())
            index = self._known[hop]
        return index

    def _find(self, hop: str) -> Index | None:
        index, path = self._known.get(hop), self._path(hop)
        if index is not None and path.is_file():
            return index
        if index is None and path.is_file():
            with suppress(DatasetError):
                index = Index(path)
                os.utime(path)
                if not index.notes:  # damaged files may have been repaired since
                    self._known[hop] = index
                    return index
        return None

    def _path(self, hop: str) -> Path:
        return self._cache / f"{FORMAT}-{self._folder.digest[:32]}-{hop}.sqlite"

    def _make_quietly(self, hop: str, making: Making) -> None:
        try:
            self._make(hop, making)
        except ClevrhopeError as error:
            making.error = error
        except Exception as error:  # otherwise the page would wait for ever
            making.error = DatasetError(f"{self._folder.layout.hop(hop)}: no index of it ({reason(error)})")
        else:
            self._making.pop(hop, None)

    def close(self) -> None:
        """Removes the unfinished file of an index that is being made; its thread ends with the process."""
        for path in self._unfinished:
            path.unlink(missing_ok=True)

    def _make(self, hop: str, making: Making) -> None:
        path = self._path(hop)
        with self._turn, _cache_errors(path):
            self._cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            _remove_unused(self._cache)
            handle, name = tempfile.mkstemp(dir=self._cache, prefix=".making-", suffix=".sqlite")
            os.close(handle)
            temporary = Path(name)
            self._unfinished.add(temporary)
            try:
                write_index(self._folder, hop, temporary, _Shown(making, self._progress))
                if not self._folder.is_current():  # the index may be of the new files
                    raise DatasetError(f"{self._folder.layout.root}: it changed while it was read")
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
                self._unfinished.discard(temporary)
            self._known[hop] = Index(path)


def _remove_unused(cache: Path) -> None:
    """Removes indexes that were not opened for long, and files left by killed runs."""
    for path in cache.glob("*.sqlite"):
        age = DAYS_KEPT if not path.name.startswith(".") else 1
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > age * 86_400:
                path.unlink()


class _Shown:
    """Progress that is shown on the page and in the terminal."""

    def __init__(self, making: Making, terminal: Progress) -> None:
        self._making, self._terminal = making, terminal

    def stage(self, title: str, *, total: int, unit: str) -> AbstractContextManager[Advance]:
        return self._both(title, total, unit)

    @contextmanager
    def _both(self, title: str, total: int, unit: str) -> Iterator[Advance]:
        making = self._making
        before = making.title, making.done, making.total
        making.title, making.done, making.total = title, 0, total
        with self._terminal.stage(title, total=total, unit=unit) as advance:

            def shown(n: int, /, *, there: bool = False) -> None:
                making.done += n
                advance(n, there=there)

            yield shown
        making.title, making.done, making.total = before
