"""Runs side by side on several GPUs: which of them each run sees, with a made-up number of them."""

import os
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import pytest

from clevrhope.experiments import engines
from clevrhope.experiments.engines import Slot, deal_slots, environment
from clevrhope.experiments.plan import Chain, Step
from clevrhope.training.request import SIDE_BY_SIDE
from waiting import HANG_S


def chain(name: str, *arguments: str) -> Chain:
    return Chain(name, (Step(name, arguments, Path("made"), Path("mark"), Path("log")),))


@pytest.mark.parametrize(
    ("jobs", "gpus", "dealt"),
    [
        (3, [], [(None, 3)] * 3),
        (3, ["0"], [("0", 3)] * 3),
        (2, ["0", "1", "2"], [("0", 1), ("1", 1)]),
        (5, ["4", "6"], [("4", 3), ("6", 2), ("4", 3), ("6", 2), ("4", 3)]),
    ],
)
def test_gpus_are_dealt_out_in_turn(jobs: int, gpus: list[str], dealt: list[tuple[Any, int]]) -> None:
    assert [(slot.gpu, slot.side_by_side) for slot in deal_slots(jobs, gpus)] == dealt


def test_runs_that_run_at_once_have_different_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three at a time on three GPUs, nine in all; each begins when the two others of its time are there."""
    together, lock, busy, used = Barrier(3, timeout=HANG_S), Lock(), set[str](), []

    def run_chain(chain: Chain, *, slot: Slot, **_: Any) -> None:
        assert slot.gpu is not None
        with lock:
            assert slot.gpu not in busy
            busy.add(slot.gpu)
            used.append(slot.gpu)
        together.wait()
        with lock:
            busy.remove(slot.gpu)
        together.wait()

    monkeypatch.setattr(engines, "run_chain", run_chain)
    monkeypatch.setattr(engines, "_gpus", lambda: ["0", "1", "2"])
    ended = list(engines.run_here([chain(str(k)) for k in range(9)], jobs=3, threads=1))
    assert ended == [None] * 9
    assert sorted(used) == sorted(["0", "1", "2"] * 3)


def test_a_process_sees_its_gpu_unless_its_step_names_one() -> None:
    dealt, named = chain("a", "train", "--device", "cuda"), chain("b", "--device", "cuda:1")
    seen = environment(dealt, threads=2, slot=Slot("6", 3))
    assert (seen["CUDA_VISIBLE_DEVICES"], seen[SIDE_BY_SIDE], seen["OMP_NUM_THREADS"]) == ("6", "3", "2")
    assert "CUDA_VISIBLE_DEVICES" not in environment(named, threads=2, slot=Slot("6", 3))
    assert "CUDA_VISIBLE_DEVICES" not in environment(dealt, threads=2, slot=Slot())


@pytest.mark.parametrize(
    ("outer", "count", "gpus"),
    [
        (None, 2, ["0", "1"]),
        (None, 0, []),
        ("", 0, []),
        ("5, 3", 2, ["5", "3"]),
        ("GPU-8f3a,GPU-11c2", 2, ["GPU-8f3a", "GPU-11c2"]),
        ("2,-1,3", 1, ["2"]),
    ],
)
def test_an_outer_choice_of_gpus_holds(
    outer: str | None, count: int, gpus: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    from clevrhope.features.device import visible_gpus

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if outer is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", outer)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    assert visible_gpus() == gpus
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == outer
