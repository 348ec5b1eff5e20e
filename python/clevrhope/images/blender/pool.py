"""A pool of worker processes that may die, hang or use ever more memory.

A worker that dies, hangs or fails is replaced, and its task is done again. A task that ends three workers is
set aside and reported when all others are done. If many tasks in a row do so, the run ends, and no scene is
blamed, because the fault is not with the tasks. Each worker has a thread here that mostly waits.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from clevrhope.errors import RenderError, listed
from clevrhope.images.blender.process import Patience, TaskError, WorkerEndedError, WorkerProcess
from clevrhope.images.renderer import Pixels
from clevrhope.runtime.reading import os_reason

K = TypeVar("K", bound=Hashable)

#: A task that has ended this many workers is not given to another.
ATTEMPTS = 3
#: The run ends after this many failed tasks in a row.
FAILURES_IN_A_ROW = 12
#: If this many tasks fail and not one has succeeded, the machine is named as the cause instead of the scenes.
FAILURES_OF_MACHINE = 3
#: A worker is replaced after this many images, or when its memory has grown by this much since its first.
IMAGES_PER_WORKER = 2000
GROWTH_BYTES = 1 << 30
#: Number of recent images whose times are kept.
IMAGES_TIMED = 1000


class WorkersFailedError(RenderError):
    """Workers ended, one after another, without giving an image: the cause is not a scene."""

    def __init__(self, workers: str, reason: str) -> None:
        super().__init__(
            f"{workers} in a row ended without giving an image, so the cause is not a scene: {reason}"
        )


class ScenesFailedError(RenderError):
    """Some scenes could not be rendered; all others were.

    Attributes:
        reasons: key of the scene -> what happened.
        ended: how the last worker ended; empty if none did.
    """

    def __init__(self, reasons: Mapping[Any, str], *, remedy: str = "", ended: str = "") -> None:
        self.reasons = dict(reasons)
        self.ended = ended
        keys = list(self.reasons)
        first = next(iter(self.reasons.values()))
        noun = "scene" if len(keys) == 1 else "scenes"
        super().__init__(f"{noun} {listed(keys, most=10)} could not be rendered: {first}{remedy}")


@dataclass(frozen=True)
class _Done(Generic[K]):
    """The outcome of a task: pixels, or the reason why it failed."""

    key: K
    pixels: Pixels | None = None
    reason: str = ""
    ended: str = ""
    """How the last worker ended during the task; empty if it reported a reason instead."""
    is_outside: bool = False
    """Whether all workers ended from outside, as by a signal, and not by the task."""


@dataclass(eq=False, repr=False)
class WorkerPool:
    """Worker processes, started when they are first needed and kept until `close`.

    Args:
        start: for each worker, the first message to it: look, settings, threads.
        command: the worker's command line, to which its folder is added.
        environment: environment variables for workers, in addition to this process's.

    The other arguments are those of `CyclesRenderer`.

    Attributes:
        timings: for recent images, whether each was its worker's first, and its seconds.
    """

    start: Sequence[Mapping[str, Any]]
    patience: Patience
    allowance_s: float
    command: Sequence[str]
    memory_limit_bytes: int
    environment: Mapping[str, str]

    def __post_init__(self) -> None:
        self.timings: deque[tuple[bool, float]] = deque(maxlen=IMAGES_TIMED)
        self._tasks: queue.SimpleQueue[tuple[Any, Mapping[str, Any]] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[_Done[Any] | RenderError] = queue.SimpleQueue()
        self._drivers: list[_Driver] = []

    def __len__(self) -> int:
        return len(self.start)

    @property
    def pids(self) -> list[int]:
        """Process numbers of the workers that are alive."""
        return [driver.process.pid for driver in self._drivers if driver.process is not None]

    @property
    def devices(self) -> set[str]:
        """The devices of the workers that have started."""
        processes = (driver.process for driver in self._drivers)
        return {process.device for process in processes if process is not None and process.device}

    def run(self, tasks: Iterable[tuple[K, Mapping[str, Any]]]) -> Iterator[tuple[K, Pixels]]:
        """Yields each task's key and pixels, in order of completion.

        Tasks are taken from the iterable as workers become free; two per worker are in flight.

        Raises:
            RenderError: no worker can be started or has room for its images; or workers were ended from
                outside, raised after all other tasks are done.
            WorkersFailedError: too many tasks in a row end their workers.
            ScenesFailedError: some tasks failed; raised after all others are done.
        """
        if not self._drivers:
            # On each model of GPU, one worker renders first, so that its compiled kernels serve all others.
            models = [start["gpu"] and start["gpu"]["title"] for start in self.start]
            compiled = {model: threading.Event() for model in models}
            self._drivers = [
                _Driver(self, number, compiled[model], waits=model is not None and model in models[:number])
                for number, model in enumerate(models)
            ]
            for driver in self._drivers:
                driver.thread.start()
        source = iter(tasks)
        failed: dict[K, str] = {}
        in_flight = 0
        in_a_row, ended = 0, ""
        outside: list[str] = []
        finished = False
        try:
            while True:
                while in_flight < 2 * len(self._drivers):
                    task = next(source, None)
                    if task is None:
                        break
                    self._tasks.put(task)
                    in_flight += 1
                if in_flight == 0:
                    finished = True
                    break
                done = self._done.get()
                if isinstance(done, RenderError):
                    raise done
                in_flight -= 1
                if done.pixels is None:
                    if done.is_outside:
                        outside.append(done.ended)
                    else:
                        failed[done.key] = done.reason
                    if done.ended:
                        in_a_row, ended = in_a_row + 1, done.ended
                    if in_a_row == FAILURES_IN_A_ROW:
                        break
                else:
                    in_a_row = 0
                    yield done.key, done.pixels
        finally:
            if not finished:
                self.close()  # nobody will take the results still in flight
        if in_a_row == FAILURES_IN_A_ROW or (in_a_row >= FAILURES_OF_MACHINE and not self.timings):
            raise WorkersFailedError(f"{in_a_row * ATTEMPTS} render workers", f"the last one {ended}")
        if outside:
            raise RenderError(
                f"{len(outside) * ATTEMPTS} render workers ended without giving an image, from a cause "
                f"outside of them, not a scene: the last one {outside[-1]}"
            )
        if failed:
            raise ScenesFailedError(failed, ended=ended)

    def close(self) -> None:
        """Ends the workers at once; the pool starts new ones if it is used again."""
        drivers, self._drivers = self._drivers, []
        for driver in drivers:
            driver.stop()
        for _ in drivers:
            self._tasks.put(None)
        for driver in drivers:
            driver.thread.join()
        self._tasks, self._done = queue.SimpleQueue(), queue.SimpleQueue()


class _Driver:
    """The thread that starts one worker process, gives it tasks and replaces it.

    Args:
        pool: has the tasks.
        number: the number of the worker.
        compiled: set when its GPU's kernels are compiled.
        waits: whether its first task waits for that.
    """

    def __init__(self, pool: WorkerPool, number: int, compiled: threading.Event, *, waits: bool) -> None:
        self.process: WorkerProcess | None = None
        self.thread = threading.Thread(target=self._run, name=f"render worker {number}", daemon=True)
        self._pool = pool
        self._number = number
        self._compiled, self._waits = compiled, waits
        self._tasks, self._done = pool._tasks, pool._done
        self._stopped = False
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Kills the process; the thread then ends by itself."""
        with self._lock:
            self._stopped = True
            self._compiled.set()
            if self.process is not None:
                self.process.kill()

    def _run(self) -> None:
        try:
            if self._started() is None:
                return
            if self._waits:
                self._compiled.wait()
            while (task := self._tasks.get()) is not None and not self._stopped:
                done = self._do(*task)
                if done.pixels is not None or done.ended:
                    self._compiled.set()  # not for a scene that Blender never received
                if not self._stopped:
                    self._done.put(done)
        except RenderError as error:
            self._done.put(error)
        except Exception as error:  # otherwise `run` would wait for ever
            self._done.put(RenderError(f"a render worker's driver failed: {error!r}"))
        finally:
            self._drop()

    def _do(self, key: Any, task: Mapping[str, Any]) -> _Done[Any]:
        pool = self._pool
        ended, n_outside = "ended with its run", 0
        for _ in range(ATTEMPTS):
            process = self._started()
            if process is None:
                break
            try:
                patience = pool.patience if process.images else pool.patience.longer(pool.allowance_s)
                pixels = process.ask(task, patience=patience)
            except TaskError as error:
                return _Done(key, reason=str(error))
            except WorkerEndedError as error:
                ended, n_outside = str(error), n_outside + error.is_outside
                self._drop()
                continue
            pool.timings.append((process.images == 1, process.seconds))
            if process.images >= IMAGES_PER_WORKER or process.growth_bytes > GROWTH_BYTES:
                self._drop()
            return _Done(key, pixels)
        reason = f"{ATTEMPTS} workers in turn ended over it, the last one because it {ended}"
        return _Done(key, reason=reason, ended=ended, is_outside=n_outside == ATTEMPTS)

    def _started(self) -> WorkerProcess | None:
        """The live process, started if necessary; None once the pool is closing.

        Raises:
            RenderError: the worker says what is missing, or ends immediately each time it is started.
        """
        problem = ""
        for _ in range(ATTEMPTS):
            with self._lock:
                if self._stopped:
                    return None
                if self.process is None:
                    try:
                        self.process = WorkerProcess(
                            self._pool.command,
                            memory_limit_bytes=self._pool.memory_limit_bytes,
                            environment=self._pool.environment,
                        )
                    except OSError as error:
                        raise RenderError(
                            f"a render worker cannot be started: {error.filename}: {os_reason(error)}"
                        ) from error
                process = self.process
            try:
                process.wait_until_ready(self._pool.start[self._number])
                return process
            except WorkerEndedError as error:
                problem = str(error)
                self._drop()
        raise RenderError(f"the render worker cannot be started: it {problem}")

    def _drop(self) -> None:
        with self._lock:
            process, self.process = self.process, None
        if process is not None:
            process.close()
