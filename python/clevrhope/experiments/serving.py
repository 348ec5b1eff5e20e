"""The process that runs the commands of a chain one after the other, so that torch is loaded once for all."""

import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

_READ_BYTES = 1 << 16


def serve(run: Callable[[list[str]], int]) -> None:
    """Runs commands that are asked for on standard input, and exits when one of them fails.

    A line of input is a command in JSON: the file for its output, and its arguments. After each command that
    succeeds, a line is written to the standard output that the process began with. When the input ends, so
    does the process, even if a command is running: none survives whoever asked, and keeps its folder locked.

    Args:
        run: runs a command line, and returns its exit code.
    """
    answers = os.dup(1)
    asked: SimpleQueue[tuple[str, list[str]]] = SimpleQueue()

    def read() -> None:
        rest = b""
        while part := os.read(0, _READ_BYTES):  # sys.stdin would be locked when Python ends
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                asked.put(json.loads(line))
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=read, daemon=True).start()
    while True:
        log, arguments = asked.get()
        with Path(log).open("ab") as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        code = _exit_code(run, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        if code:
            sys.exit(code)
        _free_memory()
        os.write(answers, b"\n")


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


def _free_memory() -> None:
    """Gives the memory of a GPU back that the last command used: the next one asks how much is free."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
