"""Runs as tasks of a Ray cluster whose workers are killed: resumed, to the same bits."""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install clevrhope[ray]")
pytest.importorskip("torch")

from short_runs import HOP, Train

from clevrhope.experiments.engines import run_on_ray
from clevrhope.experiments.plan import Chain, Step

pytestmark = pytest.mark.slow

KILLS = 2


def trainer(out: Path) -> int | None:
    """The process that trains into the folder: it has the run's log open."""
    log = out / "log.jsonl"
    for path in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if path.readlink() == log:
                return int(path.parts[2])
    return None


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Killer(threading.Thread):
    """Kills the Ray worker that a run's process belongs to, each time that the run has got further."""

    def __init__(self, out: Path) -> None:
        super().__init__(daemon=True)
        self.out, self.killed = out, 0

    def run(self) -> None:
        seen = 0
        while self.killed < KILLS:
            time.sleep(0.05)
            log = self.out / "log.jsonl"
            written = log.stat().st_size if log.exists() else 0
            pid = trainer(self.out) if written > seen else None
            if pid is not None:
                with suppress(OSError):
                    os.kill(parent(pid), signal.SIGKILL)
                    self.killed += 1
                    while trainer(self.out) == pid:
                        time.sleep(0.05)
                    seen = log.stat().st_size


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_run_whose_worker_is_killed_goes_on_and_ends_with_the_same_weights(
    dataset: Path, run: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("whole", model="tiny_models:Slow")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    out = tmp_path / "run"
    words = ["train", "tiny_models:Slow", str(dataset), "--hop", HOP, "--size", "100", "--seed", "3"]
    step = Step(
        "train",
        (*words, "--out", str(out), "--device", "cpu", "--quiet"),
        out / "finished.json",
        tmp_path / "done.json",
        tmp_path / "train.log",
        holds=out,
    )
    killer = Killer(out)
    killer.start()
    chain = Chain("only", (step,))
    assert list(run_on_ray([chain], address="local", threads=1, per_gpu=1)) == [None]
    assert killer.killed == KILLS
    last = "weights/last.safetensors"
    assert (out / last).read_bytes() == (tmp_path / "whole" / last).read_bytes()
