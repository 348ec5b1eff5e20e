"""The process that runs the steps of a chain one after the other, so that torch is loaded only once."""

import gc
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Thread


def work(run: Callable[[list[str]], int]) -> None:
    """Runs the steps that come pickled on standard input, until one fails; marks those that are done.

    If standard input ends, the process that started this one is gone, so the running command is stopped.
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
