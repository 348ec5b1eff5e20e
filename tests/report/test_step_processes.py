"""Processes that run the steps of a chain, and of a whole experiment that is stopped or killed."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from experiment_grid import SMALL, plan_of, start

from clevrhope.errors import DatasetError
from clevrhope.experiments import engines
from clevrhope.experiments.engines import Failure, Slot, run_chain
from clevrhope.experiments.plan import Chain, Step
from clevrhope.experiments.run import run_experiment
from clevrhope.runtime.lock import locked, wait_until_free
from waiting import HANG_S, wait_until

SERVES = """
import os, sys, time
from clevrhope.experiments.engines import work

def run(arguments):
    made, does, *_ = arguments
    space = {**globals(), "made": made}
    exec(does, space)
    with open(space["made"], "w") as file:
        file.write(str(os.getpid()))
    return 0

work(run)
"""


@pytest.fixture
def serves(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the commands' place taken by Python that writes its process number to the file that it makes."""

    def set_snippet(before: str = "") -> None:
        monkeypatch.setattr(engines, "_SNIPPET", f"{before}\n{SERVES}")

    set_snippet()
    return set_snippet


def step(folder: Path, name: str, does: str = "pass", *more: str) -> Step:
    path = folder / f"{name}.made"
    arguments = (str(path), does, *more)
    return Step(name, arguments, path, folder / f"{name}.mark", folder / "logs" / f"{name}.log")


def failure(chain: Chain) -> str:
    found = run_chain(chain, threads=1)
    assert isinstance(found, Failure)
    return str(found)


def test_steps_share_a_process_and_have_logs_of_their_own(tmp_path: Path, serves: Any) -> None:
    chain = Chain("c", tuple(step(tmp_path, name, f"print('{name} says so')") for name in ("one", "two")))
    assert run_chain(chain, threads=1) is None
    assert chain.done
    one, two = (each.made.read_text() for each in chain.steps)
    assert one == two != str(os.getpid())
    assert [each.log.read_text() for each in chain.steps] == ["one says so\n", "two says so\n"]
    assert run_chain(chain, threads=1) is None
    assert chain.steps[0].made.read_text() == one  # it was done


def test_steps_see_the_gpu_of_their_chain(tmp_path: Path, serves: Any) -> None:
    seen = "open(made + '.gpu', 'w').write(os.environ.get('CUDA_VISIBLE_DEVICES', 'all'))"
    chain = Chain("c", (step(tmp_path, "one", seen), step(tmp_path, "two", seen)))
    assert run_chain(chain, threads=1, slot=Slot("7")) is None
    assert [Path(f"{each.made}.gpu").read_text() for each in chain.steps] == ["7", "7"]


def test_a_process_that_cannot_start_says_why_in_the_log(tmp_path: Path, serves: Any) -> None:
    serves("import no_such_module")
    chain = Chain("c", (step(tmp_path, "one"),))
    assert "No module named 'no_such_module' (exit code 1; " in failure(chain)


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("sys.exit('clevrhope: it is too large')", "two: it is too large (exit code 1; "),
        ("sys.exit(3)", "two: no output (exit code 3; "),
        ("1 / 0", "two: ZeroDivisionError: division by zero (exit code 1; "),
        ("os.kill(os.getpid(), 9)", "two: no output (killed by signal 9; "),
        ("made = '/dev/null'", "two: it succeeded, but made no "),
    ],
)
def test_a_failed_step_ends_its_chain(tmp_path: Path, serves: Any, does: str, message: str) -> None:
    chain = Chain("c", (step(tmp_path, "one"), step(tmp_path, "two", does), step(tmp_path, "three")))
    assert failure(chain).startswith(message)
    assert [each.done for each in chain.steps] == [True, False, False]


def test_a_step_that_fails_again_is_not_done(tmp_path: Path, serves: Any) -> None:
    """Its mark is of the time before."""
    chain = Chain("c", (step(tmp_path, "one"), step(tmp_path, "two")))
    assert run_chain(chain, threads=1) is None
    chain.steps[0].mark.unlink()
    serves("sys = __import__('sys'); sys.exit('gone')")
    assert "gone" in failure(chain)
    assert not chain.steps[0].done
    serves()
    assert run_chain(chain, threads=1) is None
    assert chain.done


FORKS = f"""
if os.fork() == 0:
    end = time.monotonic() + {HANG_S}
    while not os.path.exists(made + ".over"):
        time.sleep(0.05)
        if time.monotonic() > end:
            open(made + ".waited for", "w")
            break
    os._exit(0)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks on Windows")
def test_nobody_waits_for_what_a_step_left_behind(tmp_path: Path, serves: Any) -> None:
    assert "killed by signal 9" in failure(Chain("c", (step(tmp_path, "one", FORKS),)))
    assert not (tmp_path / "one.made.waited for").exists()
    (tmp_path / "one.made.over").touch()


def test_a_running_step_is_stopped(tmp_path: Path, serves: Any) -> None:
    stop, found = Event(), list[Failure | None]()
    lasts = f"open(made + '.begun', 'w'); time.sleep({2 * HANG_S})"
    chain = Chain("c", (step(tmp_path, "one", lasts),))
    thread = Thread(target=lambda: found.append(run_chain(chain, threads=1, stop=stop)))
    thread.start()
    wait_until((tmp_path / "one.made.begun").exists, "the step begins")
    stop.set()
    thread.join(HANG_S)
    assert [str(each) for each in found] == ["one: stopped"]


# Processes of a whole experiment


def environments() -> Iterator[bytes]:
    """Those of all processes but this one, as they began."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        if path.parent.name != str(os.getpid()):
            with suppress(OSError):
                yield path.read_bytes()


@pytest.mark.slow
def test_a_stop_goes_through_to_the_processes_and_leaves_what_is_done(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DELAY_S", "1")
    out = tmp_path / "out"
    grid.write_text(SMALL)
    process = start(grid, out)
    try:
        wait_until(lambda: any((out / "done").glob("evaluate-*")), "a run is evaluated")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "run the same command to resume" in said
    plan = plan_of(grid, text=SMALL)
    n_before = plan.n_done
    assert 0 < n_before < 6
    monkeypatch.setenv("FAKE_DELAY_S", "0")
    asked()
    made = run_experiment(plan)
    assert (made.n_done, made.n_new) == (6, 6 - n_before)
    assert not any(each[0] == "build" for each in asked())


@pytest.mark.slow
def test_no_process_goes_on_when_the_experiment_is_killed(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DELAY_S", str(2 * HANG_S))  # no process ends by itself
    grid.write_text(SMALL)
    process = start(grid, tmp_path / "out")
    try:
        wait_until((tmp_path / "asked.jsonl").exists, "a process begins")
    finally:
        process.kill()
        process.communicate()
    asked()
    monkeypatch.setenv("FAKE_DELAY_S", "0")
    own = f"FAKE_FOLDER={tmp_path}".encode()
    wait_until(lambda: not any(own in each for each in environments()), "the processes end")
    assert run_experiment(plan_of(grid, text=SMALL)).n_done == 6


def test_a_run_is_waited_for_that_is_still_saving_what_it_has(
    grid: Path, tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a worker, or an experiment, that was killed a moment before."""
    chain = plan_of(grid).runs[0]
    folder = chain.steps[0].holds
    assert folder is not None
    ended: list[object] = []
    waiting = Thread(target=lambda: ended.append(run_chain(chain, threads=1)))
    with locked(folder):
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        assert asked() == []
    waiting.join(HANG_S)
    assert ended == [None]
    assert len(asked()) == 2

    monkeypatch.setattr(engines, "_GRACE_S", 0.2)
    again = replace(chain, steps=(replace(chain.steps[0], mark=tmp_path / "no mark"),))
    with locked(folder):  # whoever does not let go is the command's to tell of
        assert run_chain(again, threads=1) is None
    assert len(asked()) == 1
    wait_until_free(tmp_path / "nowhere", seconds=60)
    assert not (tmp_path / "nowhere").exists()

    stop = Event()
    stop.set()
    with locked(folder):
        monkeypatch.delattr(
            "clevrhope.runtime.lock.time.sleep"
        )  # it would wait, if it did not return at once
        wait_until_free(folder, seconds=60, stop=stop)


@pytest.mark.slow
def test_a_folder_that_cannot_be_locked_fails_its_run_alone(
    grid: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(root: Path, **_: Any) -> None:
        if root.name.endswith("-300-1"):
            raise DatasetError(f"{root}: its disk does not support locks")

    monkeypatch.setattr(engines, "wait_until_free", refuse)
    made = run_experiment(plan_of(grid, text=SMALL))
    assert (made.n_done, len(made.failures)) == (3, 3)
    assert all("its disk does not support locks" in str(each) for each in made.failures)
