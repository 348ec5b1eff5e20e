"""Workers on GPUs: each has one, kernels are compiled once, and what a driver says of them is watched."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_preferences import LISTING
from test_pool import FAKE_WORKER, outcome, scenes

from benchmarks import render_workers
from clevrhope.images.blender.cycles import KERNELS_S, CyclesRenderer
from clevrhope.images.blender.devices import Device, find_devices
from clevrhope.images.blender.process import Patience
from clevrhope.images.settings import BlenderSettings
from clevrhope.images.stage import stage_title
from clevrhope.runtime.resources import GpuUse, load_nvml


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "of_each"), [(None, 2), (1, 1), (3, 3)])
def test_each_gpu_has_its_own_workers(
    workers: int | None, of_each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = find_devices(("cuda",), command=LISTING)
    monkeypatch.setattr(
        "clevrhope.images.blender.cycles.choose_gpus", lambda choice: (there.of(choice.kind), "")
    )
    with CyclesRenderer(
        settings=BlenderSettings(device="cuda"), workers=workers, command=FAKE_WORKER
    ) as made:
        assert made.workers == 2 * of_each
        assert {start["allowance_s"] for start in made.pool.start} == {KERNELS_S}
        assert stage_title(made) == "Rendering images on Card 3, Card 1"
        starts = [start["gpu"] for start in made.pool.start]
        assert len(dict(made.render(scenes(12)))) == 12
        assert made.pool.devices <= {"cuda:0 (Card 3)", "cuda:1 (Card 1)"}
    assert [start["identity"] for start in starts].count("CUDA_Card_0000:3a:00") == of_each
    assert [start["identity"] for start in starts].count("CUDA_Card_0000:1a:00") == of_each


@pytest.fixture
def _two_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [Device(f"cuda:{k}", "H", f"CUDA_H_0000:{k}a:00", denoises=True) for k in (1, 2)]
    monkeypatch.setattr("clevrhope.images.blender.cycles.choose_gpus", lambda choice: (there, ""))
    for variable in ("CUDA_CACHE_PATH", "OPTIX_CACHE_PATH"):
        monkeypatch.delenv(variable, raising=False)


def on_gpus(**choices: Any) -> CyclesRenderer:
    return CyclesRenderer(settings=BlenderSettings(device="cuda"), command=FAKE_WORKER, **choices)


@pytest.mark.slow
@pytest.mark.usefixtures("_two_of_a_kind")
def test_one_worker_compiles_kernels_before_the_others_begin(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [(i, {"do": "ok", "value": i, "log": str(log)}) for i in range(12)]
    tasks[0][1].update(do="slow", seconds=1.5)
    with on_gpus() as made:
        assert len(dict(made.render(tasks))) == 12
        assert len(made.pool.pids) == 4
    assert log.read_text().split()[0] == "0"
    tasks[0][1].update(do="die")  # then the others find nothing compiled, and begin all the same
    with on_gpus() as made:
        assert len(outcome(made, tasks)[0]) == 11


@pytest.mark.usefixtures("_two_of_a_kind")
def test_compiled_kernels_are_kept_beside_the_images_or_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kernel_folder(folder: Path | None) -> str:
        with on_gpus(workers=1, folder=folder) as made:
            list(made.render([(0, {"do": "ok", "value": 0, "log": str(tmp_path / "log")})]))
        return (tmp_path / "log").read_text().splitlines()[-1].split()[1]

    assert kernel_folder(tmp_path / "out") == str(tmp_path / "out" / ".clevrhope.kernels")
    assert (tmp_path / "out" / ".clevrhope.kernels").is_dir()
    assert kernel_folder(None) == "None"
    monkeypatch.setenv("CUDA_CACHE_PATH", "/elsewhere")
    assert kernel_folder(tmp_path / "other") == "/elsewhere"


class FakeNvml:
    """NVML, with two GPUs on which this process's children work; as a driver might answer."""

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        self.held: int | None = 1 << 20
        self.busy = 90
        self.pids = lambda: list[int]()
        self.now_us = lambda: time.time_ns() // 1000

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetHandleByPciBusId(self, place: str) -> str:
        if place not in ("0000:1a:00.0", "0000:2a:00.0"):
            raise self.NVMLError("not found")
        return place

    def nvmlDeviceGetMemoryInfo(self, gpu: str) -> Any:
        return SimpleNamespace(total=80 << 30)

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: str) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=self.held) for pid in [1, *self.pids()]]

    def nvmlDeviceGetProcessUtilization(self, gpu: str, since_us: int) -> list[Any]:
        if not self.pids():
            raise self.NVMLError("not found")
        return [SimpleNamespace(pid=pid, timeStamp=self.now_us(), smUtil=self.busy) for pid in self.pids()]


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch, _two_of_a_kind: None) -> Iterator[FakeNvml]:
    made = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", made)
    load_nvml.cache_clear()
    yield made
    load_nvml.cache_clear()


def test_a_process_and_what_nvml_says_of_it(nvml: FakeNvml) -> None:
    mine = GpuUse("CUDA_H_0000:1A:00_OptiX", os.getpid())
    assert (mine.total_bytes, mine.held_bytes(), mine.seconds()) == (80 << 30, 0, None)
    nvml.pids = lambda: [os.getpid()]
    nvml.now_us = lambda: 10**12
    assert mine.seconds() == pytest.approx(0.9)  # of the second before the first question
    nvml.now_us = lambda: 10**12 + 100_000
    assert mine.seconds() == pytest.approx(0.99)
    assert mine.held_bytes() == 1 << 20
    nvml.held = None  # a driver that does not tell
    assert mine.held_bytes() == 0
    elsewhere = GpuUse("HIP_A_0000:07:00", os.getpid())
    assert (elsewhere.total_bytes, elsewhere.held_bytes(), elsewhere.seconds()) == (0, 0, None)


def test_without_a_driver_nothing_is_said(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> None:
    def fail() -> None:
        raise nvml.NVMLError("driver not loaded")

    monkeypatch.setattr(nvml, "nvmlInit", fail)
    assert load_nvml() is None
    load_nvml.cache_clear()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert load_nvml() is None
    assert GpuUse("CUDA_H_0000:1a:00", os.getpid()).total_bytes == 0


@pytest.mark.slow
def test_a_worker_that_holds_too_much_of_its_gpu_is_replaced(nvml: FakeNvml) -> None:
    tasks: list[tuple[int, dict[str, object]]] = [(0, {"do": "hang"}), *scenes(3)[1:]]
    with on_gpus(workers=2) as made:
        nvml.pids = lambda: made.pool.pids
        nvml.held = 33 << 30
        found, failure = outcome(made, tasks)
        assert "held more than its share of the GPU's memory, 32 GiB; take fewer" in failure.reasons[0]
        assert sorted(found) == [1, 2]


@pytest.mark.slow
def test_a_worker_whose_gpu_works_does_not_hang(nvml: FakeNvml) -> None:
    tasks: list[tuple[int, dict[str, object]]] = [(0, {"do": "slow", "seconds": 8.0, "value": 0})]
    patience = Patience(work_s=60.0, clock_s=5.0, still_s=3.0)
    with on_gpus(workers=1, patience=patience, allowance_s=0.0) as made:
        nvml.pids = lambda: made.pool.pids
        assert sorted(dict(made.render(tasks))) == [0]
        assert made.pool.gpu_bytes == 1 << 20
        nvml.busy = 0
        _, failure = outcome(made, tasks)
        assert "gave no answer and did nothing for 3 s" in failure.reasons[0]
        nvml.pids = lambda: []
        _, failure = outcome(made, tasks)
        assert "no answer within 5 s, and how long its GPU worked is unknown" in failure.reasons[0]


def test_bench_measures_workers_on_a_device(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[CyclesRenderer] = []

    def open_fake(**choices: Any) -> CyclesRenderer:
        made.append(CyclesRenderer(command=FAKE_WORKER, **choices))
        return made[-1]

    monkeypatch.setattr(render_workers, "CyclesRenderer", open_fake)
    nvml.pids = lambda: made[-1].pool.pids
    run = render_workers.measure_workers(2, "cuda", tmp_path, tried=(1, 2))
    assert [each.workers for each in run.runs] == [1, 2]
    assert run.compile_seconds == pytest.approx(10.0)
    for each in run.runs:
        assert (each.seconds, each.sync_seconds, each.gpu_bytes) == (2.0, 0.5, 1 << 20)
        assert each.worker_bytes > 1 << 20
        assert 0.0 < each.images_per_second <= run.best.images_per_second
    assert run.as_json()["best_workers"] == run.best.workers
    assert "10.0 s longer" in "\n".join(render_workers.text_lines(run))
