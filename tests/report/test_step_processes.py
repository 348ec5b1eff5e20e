"""Processes that run the steps of a chain."""

import os
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from clevrhope.experiments import engines
from clevrhope.experiments.engines import Failure, Slot, run_chain
from clevrhope.experiments.plan import Chain, Step
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


def test_steps_that_see_other_gpus_have_a_process_of_their_own(tmp_path: Path, serves: Any) -> None:
    seen = "open(made + '.gpu', 'w').write(os.environ.get('CUDA_VISIBLE_DEVICES', 'all'))"
    chain = Chain("c", (step(tmp_path, "one", seen), step(tmp_path, "two", seen, "--device", "cuda:1")))
    assert run_chain(chain, threads=1, slot=Slot("7")) is None
    one, two = chain.steps
    assert one.made.read_text() != two.made.read_text()
    seen_by = [Path(f"{each.made}.gpu").read_text() for each in chain.steps]
    assert seen_by == ["7", os.environ.get("CUDA_VISIBLE_DEVICES", "all")]


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
