"""Chains of steps, each chain in a process of its own: on this machine, or as tasks of a Ray cluster.

The machines of a cluster share the experiment's folder. Processes end when the one that started them does.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Thread
from typing import Self

from clevrhope.errors import DatasetError
from clevrhope.experiments.plan import Chain, Step
from clevrhope.images.ray.cluster import connect, import_ray
from clevrhope.runtime.atomic import disk_errors
from clevrhope.runtime.lock import wait_until_free
from clevrhope.training.request import SIDE_BY_SIDE

_SNIPPET = (
    "from clevrhope.__main__ import run_command; from clevrhope.experiments.serving import serve; "
    "serve(run_command)"
)

_GRACE_S = 120.0
"""Time for a process to save its state before it is killed."""

_POLL_S = 0.05
"""Time between two checks whether a process has ended or all are to stop."""

_MESSAGE_LENGTH = 400

_RETRIES = 3
"""Retries of a task whose machine or worker was lost; it resumes from what it had made."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that failed: its name, and the last line of its output."""

    step: str
    message: str

    def __str__(self) -> str:
        return f"{self.step}: {self.message}"


@dataclass(frozen=True, slots=True)
class Slot:
    """The GPU of a running chain, and the number of chains that share the device."""

    gpu: str | None = None
    """As `CUDA_VISIBLE_DEVICES` has it; None to leave that as it is."""
    side_by_side: int = 1


def deal_slots(jobs: int, gpus: Sequence[str]) -> list[Slot]:
    """A slot for each of some parallel chains; the GPUs are dealt out in turn."""
    if not gpus:
        return [Slot(side_by_side=jobs)] * jobs
    dealt = [gpus[number % len(gpus)] for number in range(jobs)]
    return [Slot(gpu, dealt.count(gpu)) for gpu in dealt]


def run_here(chains: Sequence[Chain], *, jobs: int, threads: int) -> Iterator[Failure | None]:
    """Runs chains, `jobs` at a time; gives the failure of each, or None, as they end."""
    stop = Event()
    free: Queue[Slot] = Queue()
    for slot in deal_slots(jobs, _gpus()):
        free.put(slot)

    def run(chain: Chain) -> Failure | None:
        slot = free.get()  # never waits: there are as many slots as threads
        try:
            return run_chain(chain, threads=threads, slot=slot, stop=stop)
        finally:
            free.put(slot)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for ended in as_completed([pool.submit(run, chain) for chain in chains]):
                yield ended.result()
        except BaseException:
            stop.set()  # the processes save what they have, and the pool waits for them
            pool.shutdown(cancel_futures=True)
            raise


def _gpus() -> list[str]:
    """The GPUs to deal out; none without torch, which only runs need."""
    try:
        from clevrhope.features.device import visible_gpus
    except ModuleNotFoundError:
        return []
    return visible_gpus()


def run_on_ray(
    chains: Sequence[Chain], *, address: str | None, threads: int, per_gpu: int
) -> Iterator[Failure | None]:
    """Runs chains as tasks; gives the failure of each, or None, in the order in which they end.

    Each has `threads` cores, or as many as the largest machine; where there are GPUs, `per_gpu` share one.

    Raises:
        RenderError: Ray is missing, or no cluster answers.
        ConfigError: the address is invalid.
    """
    ray = import_ray()
    fresh = connect(address)
    try:
        cores, gpus = _task_resources(
            [node["Resources"] for node in ray.nodes() if node["Alive"]], threads, per_gpu
        )
        task = ray.remote(_run_in).options(num_cpus=cores, num_gpus=gpus, max_retries=_RETRIES)
        waiting = {task.remote(Path.cwd(), chain, threads=cores, per_gpu=per_gpu): chain for chain in chains}
        while waiting:
            (ended, *_), _ = ray.wait(list(waiting), num_returns=1)
            chain = waiting.pop(ended)
            try:
                failure = ray.get(ended)
            except ray.exceptions.RayError as error:
                failure = Failure(chain.name, str(error).strip().splitlines()[-1])
            yield failure
    finally:
        if fresh and "ray" in sys.modules:
            ray.shutdown()


def _task_resources(nodes: Sequence[Mapping[str, float]], threads: int, per_gpu: int) -> tuple[int, float]:
    """Cores and share of a GPU per task, no more than a machine has, since Ray waits for more forever."""
    with_gpu = [node for node in nodes if node.get("GPU")]
    most = max((int(node.get("CPU", 0)) for node in with_gpu or nodes), default=1)
    return max(1, min(threads, most)), 1 / per_gpu if with_gpu else 0


def _run_in(folder: Path, chain: Chain, *, threads: int, per_gpu: int) -> Failure | None:
    """Runs a chain in the folder that its paths are relative to; Ray's workers start elsewhere."""
    os.chdir(folder)
    # Ray shows each task the GPU that it was given.
    return run_chain(chain, threads=threads, slot=Slot(side_by_side=per_gpu))


def run_chain(
    chain: Chain, *, threads: int, slot: Slot = Slot(), stop: Event | None = None
) -> Failure | None:
    """Runs a chain from its first step that is not done; steps that see the same GPUs share a process.

    When `stop` is set, the running step is ended, and is a failure, "stopped".

    Returns:
        The first failure, or None.
    """
    with ExitStack() as stack:
        server: _Server | None = None
        # Once a step is not done, later ones run again too: they read what it makes.
        for step in dropwhile(lambda step: step.done, chain.steps):
            try:
                with disk_errors(step.mark):
                    step.mark.unlink(missing_ok=True)
                with disk_errors(step.log):
                    step.log.parent.mkdir(parents=True, exist_ok=True)
                    step.log.write_bytes(b"")
                if step.holds is not None:  # an earlier process may have been killed just now
                    wait_until_free(step.holds, seconds=_GRACE_S, stop=stop)
                changes = environment(step, threads=threads, slot=slot)
                if server is None or server.changes != changes:
                    stack.close()
                    server = stack.enter_context(_Server(changes, step.log))
                failure = server.run(step, stop)
                if failure is None and not step.made.exists():
                    failure = Failure(step.name, f"it succeeded, but made no {step.made}")
                if failure is None:
                    step.set_done()
            except DatasetError as error:
                failure = Failure(step.name, str(error))
            if failure is not None:
                return failure
    return None


def environment(step: Step, *, threads: int, slot: Slot) -> dict[str, str]:
    """The variables of a step's process that differ from ours.

    A step that names a GPU by its number keeps that one, so its process sees all GPUs.
    """
    limits = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), str(threads)
    )
    limits[SIDE_BY_SIDE] = str(slot.side_by_side)
    if slot.gpu is not None and not any(each.startswith("cuda:") for each in step.arguments):
        limits["CUDA_VISIBLE_DEVICES"] = slot.gpu
    # Unbuffered, so that lines keep their order: the last one is reported.
    return {**limits, "PYTHONUNBUFFERED": "1"}


class _Server:
    """A process that runs steps (`serving`) while the context is open."""

    def __init__(self, changes: Mapping[str, str], log: Path) -> None:
        """Starts the process, with some changed variables; `log` gets its errors until the first step."""
        self.changes = changes
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SNIPPET],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env={**os.environ, **changes},
                start_new_session=True,  # so that Ctrl-C reaches it once, through us
            )
        # On a busy machine, SimpleQueue.get(timeout=...) of Python 3.11 may wait forever.
        self._answers: Queue[bytes] = Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:  # which ends late if a step left a process that holds it
            for line in answers:
                self._answers.put(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()  # which tells the process to end
        _wait_or_kill(self._process)

    def run(self, step: Step, stop: Event | None) -> Failure | None:
        """Runs a step; gives its failure, after which the process has ended."""
        assert self._process.stdin is not None
        log = str(step.log.absolute())
        with suppress(BrokenPipeError):  # the process has ended; the loop below reports that
            self._process.stdin.write(json.dumps([log, step.arguments]).encode() + b"\n")
            self._process.stdin.flush()
        answer = b""
        while answer != f"{log}\n".encode():  # other lines were printed while the process started
            try:
                answer = self._answers.get(timeout=_POLL_S)
            except Empty:
                if self._process.poll() is not None:
                    return Failure(step.name, _last_message(step.log, self._process.returncode))
                if stop is not None and stop.is_set():
                    self._process.send_signal(signal.SIGTERM)
                    _wait_or_kill(self._process)
                    return Failure(step.name, "stopped")
        return None


def _wait_or_kill(process: "subprocess.Popen[bytes]") -> None:
    """Waits while a process that was asked to end saves its state; then kills it and its children."""
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_message(log: Path, code: int) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    message = lines[-1].removeprefix("clevrhope: ")[:_MESSAGE_LENGTH] if lines else "no output"
    ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{message} ({ended}; {log})"
