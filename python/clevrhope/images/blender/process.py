"""One worker process, from its start to its end."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, cast

import numpy as np

from clevrhope.errors import RenderError
from clevrhope.images.blender.protocol import read_frame, write_frame
from clevrhope.images.blender.worker_folder import WorkerFolder
from clevrhope.images.renderer import Pixels
from clevrhope.runtime.blender import worker_environment
from clevrhope.runtime.resources import UNKNOWN_BYTES, resident_bytes

#: Time to read Blender from a cold disk and build the look.
START_TIMEOUT_S = 300.0
#: A killed process ends within this time, unless a driver holds it.
END_TIMEOUT_S = 5.0
#: How often a worker is checked for hanging or holding too much memory.
CHECK_EVERY_S = 0.5


class StartError(RenderError):
    """The worker reports that it cannot work: Blender is missing, or the look cannot be built."""


class TaskError(RenderError):
    """The worker reports that it cannot do this task; it can do others."""


class WorkerEndedError(RenderError):
    """The process died or had to be killed."""


class WorkerProcess:
    """A running worker.

    Args:
        command: its command line, to which its folder is added.
        memory_limit_bytes: it is killed when it holds more.

    Attributes:
        device: CPU or the name of a GPU, once it is ready; empty before.
        images: number of images that it has made.
        growth_bytes: growth of its memory since its first image.
    """

    def __init__(self, command: Sequence[str], *, memory_limit_bytes: int = UNKNOWN_BYTES) -> None:
        self._folder = WorkerFolder()
        self._log = self._folder.path / "stderr.txt"
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [*command, str(self._folder.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C goes to the parent alone, which then ends its workers
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
            self.device = self.query(start, timeout_s=START_TIMEOUT_S)["device"]
        except TaskError as error:
            raise StartError(str(error)) from error
        self._ready = True

    def ask(self, task: Mapping[str, Any], *, timeout_s: float) -> Pixels:
        """The pixels of a task, (height, width, channels) uint8, without the last axis if it has one channel.

        Raises:
            TaskError: the worker reports why this task cannot be done.
            WorkerEndedError: it died, is unfit for more tasks, or was killed after `timeout_s`.
        """
        header, payload = self._exchange(task, timeout_s)
        self.images += 1
        self._first_bytes = self._first_bytes or header["memory_bytes"]
        self.growth_bytes = header["memory_bytes"] - self._first_bytes
        shape = (header["height"], header["width"], header["channels"])
        pixels = np.frombuffer(payload, dtype=np.uint8).reshape(shape)
        return pixels[:, :, 0] if header["channels"] == 1 else pixels

    def query(self, message: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """The answer to a message that asks for no pixels; raises as `ask`."""
        return self._exchange(message, timeout_s)[0]

    def kill(self) -> None:
        """Ends the process at once; whoever waits for its answer gets WorkerEndedError."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and removes what it left."""
        self.kill()
        self._wait()
        for pipe in (self._requests, self._replies):
            with suppress(OSError):  # what was not sent yet is lost
                pipe.close()
        self._folder.remove()

    def _wait(self) -> int | None:
        """The exit status; None if a driver holds the process, which is then left to itself."""
        try:
            return self._process.wait(timeout=END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return None

    def _exchange(self, message: Mapping[str, Any], timeout_s: float) -> tuple[dict[str, Any], bytes]:
        answered = threading.Event()
        threading.Thread(target=self._watch, args=(answered, timeout_s), daemon=True).start()
        try:
            write_frame(self._requests, message)
            answer = read_frame(self._replies)
        except OSError:
            answer = None
        finally:
            answered.set()
        if answer is None:
            raise WorkerEndedError(self._ending())
        if "unfit" in answer[0]:
            raise WorkerEndedError(answer[0]["unfit"])
        if "problem" in answer[0]:
            raise TaskError(answer[0]["problem"])
        return answer

    def _watch(self, answered: threading.Event, timeout_s: float) -> None:
        """Kills the process if it takes too long over its answer, or holds too much."""
        end = time.monotonic() + timeout_s
        while not answered.wait(min(CHECK_EVERY_S, max(0.0, end - time.monotonic()))):
            if time.monotonic() >= end:
                self._killed_because = f"gave no answer within {timeout_s:g} s"
            elif resident_bytes(self.pid) > self._memory_limit_bytes:
                limit = f"{self._memory_limit_bytes / (1 << 30):.3g} GiB"
                self._killed_because = f"held more than its share of the memory, {limit}; take fewer workers"
            else:
                continue
            self.kill()
            return

    def _ending(self) -> str:
        """Why there is no answer, as a clause that follows "it"."""
        if self._killed_because:
            return self._killed_because
        code = self._wait()  # the pipe closes a moment before the process ends
        if code is None:
            self.kill()
            code = self._wait()
        if code is None:
            return "closed its pipe and cannot be ended"
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        if code == -signal.SIGKILL:
            how += ", as the system does when memory runs out"
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return f"{how} ({lines[-1].strip()[:200]})" if lines else how
