"""Chains of steps, each chain in a process of its own: on this machine, or as tasks of a Ray cluster.

The machines of a cluster share the experiment's folder. Processes end when the one that started them does.
"""

import gc
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from queue import Queue
from threading import Event, Thread

from clevrhope.errors import DatasetError
from clevrhope.experiments.plan import Chain, Step
from clevrhope.images.ray.cluster import connect, import_ray
from clevrhope.runtime.lock import wait_until_free
from clevrhope.training.request import SIDE_BY_SIDE

_SNIPPET = (
    "from clevrhope.__main__ import run_command; from clevrhope.experiments.engines import work; "
    "work(run_command)"
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
    """Runs a chain from its first step that is not done, in one process.

    When `stop` is set, the running step is ended, and is a failure, "stopped".

    Returns:
        The first failure, or None.
    """
    # Once a step is not done, later ones run again too: they read what it makes.
    steps = list(dropwhile(lambda step: step.done, chain.steps))
    if not steps:
        return None
    step = steps[0]
    try:
        for step in steps:
            if step.holds is not None:  # an earlier process may have been killed just now
                wait_until_free(step.holds, seconds=_GRACE_S, stop=stop)
        step = steps[0]
        step.begin()
        return _run_steps(steps, environment(chain, threads=threads, slot=slot), stop)
    except DatasetError as error:
        return Failure(step.name, str(error))


def environment(chain: Chain, *, threads: int, slot: Slot) -> dict[str, str]:
    """The variables of a chain's process that differ from ours.

    If a step names a GPU by its number, the process sees all GPUs.
    """
    limits = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), str(threads)
    )
    # Each update frees tensors as large as those that the next one allocates. By default glibc returns them
    # to the system and fetches them again, up to a tenth of the time of a small model on a CPU.
    limits |= {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str((1 << 31) - 1)}
    limits[SIDE_BY_SIDE] = str(slot.side_by_side)
    named = any(each.startswith("cuda:") for step in chain.steps for each in step.arguments)
    if slot.gpu is not None and not named:
        limits["CUDA_VISIBLE_DEVICES"] = slot.gpu
    # Unbuffered, so that lines keep their order: the last one is reported.
    return {**limits, "PYTHONUNBUFFERED": "1"}


def _run_steps(steps: Sequence[Step], changes: Mapping[str, str], stop: Event | None) -> Failure | None:
    """Runs steps in a process with some changed variables; gives the first failure."""
    with steps[0].log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", _SNIPPET],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, **changes},
            start_new_session=True,  # so that Ctrl-C reaches it once, through us
        )
    assert process.stdin is not None
    stop, is_stopped = stop or Event(), False
    with suppress(BrokenPipeError), process.stdin as given:
        given.write(pickle.dumps(steps))
        given.flush()
        while process.poll() is None and not stop.wait(_POLL_S):
            pass
        is_stopped = process.poll() is None
    # Now that its input has ended, it ends, too.
    _wait_or_kill(process)
    if process.returncode == 0:
        return None
    failed = next((step for step in steps if not step.mark.exists()), steps[-1])
    return Failure(failed.name, "stopped" if is_stopped else _last_message(failed.log, process.returncode))


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


def work(run: Callable[[list[str]], int]) -> None:
    """Runs the steps that come pickled on standard input, in one process, so that torch is loaded only once.

    It marks those that are done, and ends with the first that fails. If standard input ends, the process that
    started this one is gone, so the running command is stopped.
    What a command prints goes to the log of its step. `run` runs a command line and returns its exit code.
    """
    steps = pickle.load(sys.stdin.buffer)
    given = os.dup(0)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # so that a command does not read our standard input
    Thread(target=_end_with, args=(given,), daemon=True).start()
    for step in steps:
        step.begin()
        with step.log.open("ab") as log:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
        code = _exit_code(run, list(step.arguments))
        if code == 0 and not step.made.exists():
            sys.stderr.write(f"it succeeded, but made no {step.made}\n")
            code = 1
        if code:
            sys.exit(code)
        step.set_done()
        sys.stdout.flush()
        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()  # the next command asks how much memory of the GPU is free


def _end_with(given: int) -> None:
    """Stops this process when its standard input ends."""
    while os.read(given, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _exit_code(run: Callable[[list[str]], int], arguments: list[str]) -> int:
    try:
        return run(arguments)
    except SystemExit as error:
        if isinstance(error.code, str):
            sys.stderr.write(f"{error.code}\n")
            return 1
        return error.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
