"""The process that runs the commands of a chain one after the other, so that torch is loaded only once."""

import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

_READ_BYTES = 1 << 16


def serve(run: Callable[[list[str]], int]) -> None:
    """Runs the commands that come on standard input, until it ends or a command fails.

    Each line of input is a command in JSON: the file for its output, and its arguments. When the command has
    succeeded, the name of that file is written as a line to the original standard output. If the input ends
    while a command runs, the process that asked for it is gone, so the command is stopped. `run` runs a
    command line and returns its exit code.
    """
    requests, answers = os.dup(0), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # so that a command does not read the next one from standard input
    asked: SimpleQueue[tuple[str, list[str]] | None] = SimpleQueue()
    is_running = Event()

    def read() -> None:
        rest = b""
        while part := os.read(requests, _READ_BYTES):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                asked.put(json.loads(line))
        asked.put(None)
        if is_running.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=read, daemon=True).start()
    while (command := asked.get()) is not None:
        log, arguments = command
        with Path(log).open("ab") as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        is_running.set()
        code = _exit_code(run, arguments)
        is_running.clear()
        if code:
            sys.exit(code)
        if sys.stdout is not None:
            sys.stdout.flush()
        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()  # the next command asks how much memory of the GPU is free
        os.write(answers, f"{log}\n".encode())


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
