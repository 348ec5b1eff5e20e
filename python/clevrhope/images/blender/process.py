"""One worker process, from its start to its end, and the folder that its files are in."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from clevrhope.errors import RenderError
from clevrhope.images.blender.protocol import read_frame, write_frame
from clevrhope.images.renderer import Pixels
from clevrhope.runtime.blender import how_ended, last_line, worker_environment
from clevrhope.runtime.lock import lock
from clevrhope.runtime.resources import UNKNOWN_BYTES, processor_seconds, resident_bytes

#: A killed process ends within this time, unless a driver blocks it.
END_TIMEOUT_S = 5.0
#: How often a worker is checked for hanging or using too much memory.
CHECK_EVERY_S = 0.5
#: A worker that does less work than this is idle; even a hung one may still read the clock.
LEAST_WORK_S = 0.1
MEMORY_FOLDER = Path("/dev/shm")
LEAST_FREE_BYTES = 96 << 20
"""A folder in memory with less space is not used: containers have 64 MB, which loaders of others fill."""
FULL_BYTES = 1 << 20
"""A disk with less space takes no image."""
PREFIX = "clevrhope-worker-"
#: Locked by the run while the folder is in use, whichever machine or container shares it.
LOCK = "in_use"
#: Signals that a process does not get by what it does.
FROM_OUTSIDE = {getattr(signal, name, 0) for name in ("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")} - {0}
#: A younger folder is left alone, because it may not be locked yet.
LEAST_AGE_S = 60.0


@dataclass(frozen=True)
class Patience:
    """How long an answer may take before its worker counts as hung.

    Attributes:
        work_s: limit on the total time that its processors work for it, in seconds.
        clock_s: limit in wall-clock seconds, used only if that work cannot be measured, or a GPU does it.
        still_s: limit on the seconds in which they do not work.
    """

    work_s: float
    clock_s: float
    still_s: float = 120.0

    def longer(self, seconds: float) -> Patience:
        """The patience for an answer that takes `seconds` more work."""
        return replace(self, work_s=self.work_s + seconds, clock_s=self.clock_s + seconds)


#: For reading Blender from a disk that is not cached, and building the look.
START_PATIENCE = Patience(work_s=300.0, clock_s=300.0, still_s=300.0)


class StartError(RenderError):
    """The worker reports that it cannot work: Blender is missing, or the look cannot be built."""


class TaskError(RenderError):
    """The worker reports that it cannot do this task; it can do others."""


class WorkerEndedError(RenderError):
    """The process died or had to be killed.

    Attributes:
        is_outside: whether the cause is known to be outside the process, and so not its task.
    """

    def __init__(self, unfit: str, *, is_outside: bool = False) -> None:
        super().__init__(unfit)
        self.is_outside = is_outside


class WorkerProcess:
    """A running worker process.

    Args:
        command: its command line, to which its folder is added.
        memory_limit_bytes: it is killed when it uses more.
        environment: environment variables for it, in addition to this process's.

    Attributes:
        device: CPU or the name of a GPU, once it is ready; empty before.
        images: number of images that it has rendered.
        growth_bytes: growth of its memory since its first image.
        seconds: for its last image.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        memory_limit_bytes: int = UNKNOWN_BYTES,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = WorkerFolder()
        self._log = self._folder.path / "stderr.txt"
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [*command, str(self._folder.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**(environment or {}), **worker_environment()},
                start_new_session=True,  # Ctrl-C reaches only the parent, which then ends its workers
            )
        self._process = process
        self._requests, self._replies = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        self._memory_limit_bytes = memory_limit_bytes
        self._killed_because = ""
        self._ready = False
        self._first_bytes = 0
        self.device = ""
        self.images = 0
        self.growth_bytes = 0
        self.seconds = 0.0
        self._is_on_gpu = False

    @property
    def pid(self) -> int:
        """Process number."""
        return self._process.pid

    def wait_until_ready(self, start: Mapping[str, Any]) -> None:
        """Sends the look and waits until it is built; does nothing the second time.

        Raises:
            StartError: the worker reports why it cannot work.
            WorkerEndedError: it died or did not answer.
        """
        if self._ready:
            return
        try:
            self.device = self.query(start, patience=START_PATIENCE)["device"]
        except TaskError as error:
            raise StartError(str(error)) from error
        self._ready = True
        self._is_on_gpu = start["gpu"] is not None

    def ask(self, task: Mapping[str, Any], *, patience: Patience) -> Pixels:
        """The pixels of a task, (height, width, channels) uint8, or (height, width) if there is one channel.

        Raises:
            TaskError: the worker reports why this task cannot be done.
            WorkerEndedError: it died, is unfit for more tasks, or was killed for hanging.
            RenderError: the disk of its folder is full.
        """
        header, payload = self._exchange(task, patience)
        self.seconds = header["seconds"]
        self.images += 1
        self._first_bytes = self._first_bytes or header["memory_bytes"]
        self.growth_bytes = header["memory_bytes"] - self._first_bytes
        shape = (header["height"], header["width"], header["channels"])
        pixels = np.frombuffer(payload, dtype=np.uint8).reshape(shape)
        return pixels[:, :, 0] if header["channels"] == 1 else pixels

    def query(self, message: Mapping[str, Any], *, patience: Patience) -> dict[str, Any]:
        """The answer to a message that asks for no pixels; raises the errors of `ask`."""
        return self._exchange(message, patience)[0]

    def kill(self) -> None:
        """Ends the process at once; callers that wait for its answer get WorkerEndedError."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and removes its files."""
        self.kill()
        self._wait()
        for pipe in (self._requests, self._replies):
            with suppress(OSError):  # data not yet sent is lost
                pipe.close()
        self._folder.remove()

    def _wait(self) -> int | None:
        """The exit status; None if a driver blocks the process, which is then left alone."""
        try:
            return self._process.wait(timeout=END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return None

    def _exchange(self, message: Mapping[str, Any], patience: Patience) -> tuple[dict[str, Any], bytes]:
        answered = threading.Event()
        threading.Thread(target=self._watch, args=(answered, patience), daemon=True).start()
        try:
            write_frame(self._requests, message)
            answer = read_frame(self._replies)
        except OSError:
            answer = None
        finally:
            answered.set()
        if answer is None or "unfit" in answer[0]:
            self._folder.check_room()
            raise self._ending() if answer is None else WorkerEndedError(**answer[0])
        if "problem" in answer[0]:
            raise TaskError(answer[0]["problem"])
        return answer

    def _watch(self, answered: threading.Event, patience: Patience) -> None:
        """Kills the process if it hangs or uses too much memory.

        A worker that waits for a busy machine does not count as hung. Checks are counted instead of seconds,
        because this process may have to wait as well.
        """
        began, first_s, moved_s, still_s = time.monotonic(), None, 0.0, 0.0
        while not answered.wait(CHECK_EVERY_S):
            work_s = None if self._is_on_gpu else processor_seconds(self.pid)
            if work_s is not None:
                first_s = work_s if first_s is None else first_s
                still_s += CHECK_EVERY_S
                if work_s - moved_s >= LEAST_WORK_S:
                    moved_s, still_s = work_s, 0.0
            if resident_bytes(self.pid) > self._memory_limit_bytes:
                limit = f"{self._memory_limit_bytes / (1 << 30):.3g} GiB"
                self._killed_because = f"held more than its share of the memory, {limit}; take fewer workers"
            elif work_s is None and time.monotonic() - began > patience.clock_s:
                what = "GPU" if self._is_on_gpu else "processor"
                self._killed_because = (
                    f"gave no answer within {patience.clock_s:g} s, and how long its {what} worked is unknown"
                )
            elif work_s is not None and work_s - (first_s or 0.0) > patience.work_s:
                self._killed_because = f"gave no answer after {patience.work_s:g} s of work"
            elif still_s >= patience.still_s:
                self._killed_because = f"gave no answer and did nothing for {patience.still_s:g} s"
            else:
                continue
            self.kill()
            return

    def _ending(self) -> WorkerEndedError:
        """Why there is no answer, as a clause that follows "it"."""
        if self._killed_because:
            return WorkerEndedError(self._killed_because)
        code = self._wait()  # the pipe closes a moment before the process ends
        if code is None:
            self.kill()
            code = self._wait()
        if code is None:
            return WorkerEndedError("closed its pipe and cannot be ended")
        how = how_ended(code)
        if sys.platform != "win32" and code == -signal.SIGKILL:
            how += ", as the system does when memory runs out"
        last = last_line(self._log.read_text(errors="replace"))
        return WorkerEndedError(f"{how} ({last})" if last else how, is_outside=-code in FROM_OUTSIDE)


class WorkerFolder:
    """A folder for a worker, in memory if the system allows it, in use until `remove` or this process' end.

    An image passes through a file on its way out of Blender. If a worker and its run are killed together, as
    a cluster's scheduler does, the folder stays; the next worker that starts on the machine removes it.

    Attributes:
        path: the folder.
    """

    def __init__(self) -> None:
        place = MEMORY_FOLDER if _has_room(MEMORY_FOLDER) else Path(tempfile.gettempdir())
        remove_abandoned(place)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT)
        with suppress(OSError):  # a disk without locks, on which no other worker ever removes the folder
            lock(self._lock)

    def check_room(self) -> None:
        """Looks whether its disk is full.

        Raises:
            WorkerEndedError: it is, but another worker's folder will not be in memory.
            RenderError: it is, and no other folder is known.
        """
        with suppress(OSError):  # the folder was removed
            if shutil.disk_usage(self.path).free < FULL_BYTES:
                place = self.path.parent
                if place == MEMORY_FOLDER:
                    raise WorkerEndedError(f"had no space left in {place}", is_outside=True)
                raise RenderError(
                    f"{place}, through which images pass, is full: make room there, or let TMPDIR name a "
                    "folder on another disk"
                )

    def remove(self) -> None:
        """Removes the folder and everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _has_room(place: Path) -> bool:
    return os.access(place, os.W_OK) and shutil.disk_usage(place).free >= LEAST_FREE_BYTES


def remove_abandoned(place: Path) -> None:
    """Removes this user's worker folders whose run ended without removing them."""
    for path in place.glob(f"{PREFIX}*"):
        with suppress(OSError):  # it has just vanished, or belongs to another user
            if path.stat().st_uid != _user() or time.time() - path.stat().st_mtime < LEAST_AGE_S:
                continue
            descriptor = os.open(path / LOCK, os.O_RDWR)
            try:
                lock(descriptor)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _user() -> int:
    """This user's number as `stat` reports it; 0 for everyone on Windows."""
    return 0 if sys.platform == "win32" else os.getuid()
