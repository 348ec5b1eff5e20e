"""Command lines of clevrhope in, processes of their own out, that end when this one does."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from clevrhope.errors import DatasetError
from clevrhope.experiments.plan import Chain, Step
from clevrhope.runtime.atomic import disk_errors
from clevrhope.runtime.lock import wait_until_free
from clevrhope.training.request import SIDE_BY_SIDE

_SNIPPET = "import sys; from clevrhope.__main__ import main; sys.exit(main())"

_ENDS_WITH_US = """
import os, signal, threading
def end_with_parent():
    os.read(0, 1)  # ends when the other end of the pipe does, however it ends
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end_with_parent, daemon=True).start()
"""
"""What a process begins with, so that none goes on alone, holding its run's folder, when we are killed."""

_GRACE_S = 120.0
"""What a process is given to save its state before it is killed."""

_LOOK_S = 0.05
"""Between two looks whether a process ended, or all are to stop."""

_WORDS_OF_A_FAILURE = 400


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that did not end well: its name, and the last line that it said."""

    step: str
    said: str

    def __str__(self) -> str:
        return f"{self.step}: {self.said}"


def run_chain(
    chain: Chain, *, threads: int, side_by_side: int = 1, stop: Event | None = None
) -> Failure | None:
    """Runs the steps of a chain that are not done, in order; the first failure, or None.

    `side_by_side` is how many chains share a device meanwhile.
    A step whose process ends with 130, as one that was told to stop, is a failure named "stopped".
    """
    again = False
    for step in chain.steps:
        if step.done and not again:
            continue
        again = True  # what comes after a step that was run has to follow from what it made
        try:
            if step.holds is not None:  # whoever ran it before may have been killed just now
                wait_until_free(step.holds, seconds=_GRACE_S, stop=stop)
            failure = _run(step, threads=threads, side_by_side=side_by_side, stop=stop)
        except DatasetError as error:
            failure = Failure(step.name, str(error))
        if failure is not None:
            return failure
        step.set_done()
    return None


def _run(step: Step, *, threads: int, side_by_side: int, stop: Event | None) -> Failure | None:
    limits = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), str(threads)
    )
    limits[SIDE_BY_SIDE] = str(side_by_side)
    with disk_errors(step.log):
        step.log.parent.mkdir(parents=True, exist_ok=True)
        with step.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", _ENDS_WITH_US + _SNIPPET, *step.arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Unbuffered, so that lines come in the order in which they were said: the last one is told.
                env={**os.environ, **limits, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # Ctrl-C reaches it through us alone, once
            )
            with process:
                code = _wait(process, stop)
    if code == 0:
        return None
    return Failure(
        step.name, "stopped" if stop is not None and stop.is_set() else _last_words(step.log, code)
    )


def _wait(process: "subprocess.Popen[bytes]", stop: Event | None) -> int:
    try:
        while True:
            try:
                return process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                if stop is not None and stop.is_set():
                    return _end(process)
    except BaseException:
        _end(process)
        raise


def _end(process: "subprocess.Popen[bytes]") -> int:
    """Asks a process to stop, which saves what it has; kills it, and what it began, where it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def _last_words(log: Path, code: int) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    said = lines[-1].removeprefix("clevrhope: ")[:_WORDS_OF_A_FAILURE] if lines else "said nothing"
    ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{said} ({ended}; {log})"
