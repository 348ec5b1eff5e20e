"""Workers of Blender and the run itself killed at random points: the bytes of an undisturbed run come out."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from building import tree

from waiting import wait_until

pytestmark = pytest.mark.slow

SETTINGS = '[rendering]\nwidth = 96\nheight = 64\nsamples = 1\ndevice = "cpu"\n'
COMMAND = "from clevrhope.start import main; main()"
RUNS_KILLED = 2
SEED = 11


def build(settings: Path, out: Path) -> subprocess.Popen[str]:
    arguments = ["--hop", "rubber_cylinder", "--splits", "complex_ood", "--test-questions", "30"]
    arguments += ["--images", "png", "--seed", "5", "--workers", "2", "--quiet"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "build", *arguments, "--config", settings, "--out", out],
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(pid: int) -> list[int]:
    """Processes that a process has started and that are alive."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # ended just now
            if int(parent) == pid and state != "Z":
                found.append(int(folder.name))
    return sorted(found)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers as Linux tells of processes")
def test_killed_workers_and_killed_runs_leave_no_trace_in_the_files(tmp_path: Path) -> None:
    settings = tmp_path / "tiny.toml"
    settings.write_text(SETTINGS)
    began = time.monotonic()
    whole = build(settings, tmp_path / "whole")
    scores: list[int] = []
    while whole.poll() is None:
        for pid in workers_of(whole.pid):
            try:
                scores.append(int(Path(f"/proc/{pid}/oom_score_adj").read_text()))
            except OSError:
                continue
        time.sleep(0.2)
    lasted_s = time.monotonic() - began
    assert whole.communicate()[1] == ""
    assert whole.returncode == 0
    assert max(scores) == 1000  # memory that runs out ends workers, which are replaced, and not the run

    chance = random.Random(SEED)
    n_workers_killed = n_runs_killed = 0
    while n_runs_killed < RUNS_KILLED:
        running = build(settings, tmp_path / "killed")
        # Never three in one run: they could be those of one scene, which would be set aside.
        for _ in range(2):
            time.sleep(chance.uniform(0.05, 0.35) * lasted_s)
            wait_until(lambda run=running: workers_of(run.pid) or run.poll() is not None, "a worker starts")
            there = workers_of(running.pid)
            if there:
                os.kill(chance.choice(there), signal.SIGKILL)
                n_workers_killed += 1
        time.sleep(chance.uniform(0.05, 0.35) * lasted_s)
        if running.poll() is None:
            running.kill()
            running.communicate()
            n_runs_killed += 1
        else:  # done before it could be killed: once more from nothing, and sooner
            assert running.communicate()[1] == ""
            assert running.returncode == 0
            shutil.rmtree(tmp_path / "killed")
            lasted_s *= 0.7
    assert n_workers_killed
    last = build(settings, tmp_path / "killed")
    assert last.communicate()[1] == ""
    assert last.returncode == 0
    assert tree(tmp_path / "killed") == tree(tmp_path / "whole")
