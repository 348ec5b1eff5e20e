"""Which devices there are, which are taken, and that each worker has one and no other.

GPUs are made up here (fake_preferences.py): what Blender does on real ones, no test of the project shows.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from building import request
from fake_preferences import FakePreferences
from fake_renderer import FakeRenderer
from test_pool import FAKE_WORKER, outcome, scenes

from benchmarks import render_workers
from benchmarks.reference_images import reference_scenes
from clevrhope.__main__ import run_command
from clevrhope.dataset.manifest import read_manifest
from clevrhope.errors import ConfigError, DatasetError, RenderError
from clevrhope.images.blender.cycles import KERNELS_S, CyclesRenderer
from clevrhope.images.blender.devices import (
    Device,
    FoundDevices,
    choose_gpus,
    find_devices,
    gpus_are_possible,
    use_device,
)
from clevrhope.images.blender.process import Patience
from clevrhope.images.renderers import rendering_as_json
from clevrhope.images.settings import CPU, INTERFACES, DeviceChoice, RenderSettings, parse_device
from clevrhope.images.stage import stage_title
from clevrhope.pipeline import build
from clevrhope.runtime.resources import GpuUse, load_nvml
from wording import refused

LISTING = (sys.executable, str(Path(__file__).with_name("fake_preferences.py")))

# Blender's worker on made-up GPUs, which writes down what it was set to; Cycles itself then takes the CPU.
BOUND_WORKER = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from fake_preferences import FakePreferences
from clevrhope.images.blender import scene, worker

preferences = FakePreferences()
scene.cycles_preferences = lambda: preferences
real = worker._load

def load(start, folder):
    made = real(start, folder)
    cycles = made._scene.cycles
    used = [each.id for each in preferences.devices if each.use]
    told = {"device": cycles.device, "denoises": cycles.denoising_use_gpu, "used": used}
    with open(sys.argv[2], "a") as log:
        log.write(json.dumps(told) + chr(10))
    return made

worker._load = load
sys.exit(worker.main(Path(sys.argv[3])))
"""


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("auto", DeviceChoice("auto")),
        ("cpu", DeviceChoice("cpu")),
        ("metal", DeviceChoice("metal")),
        ("cuda:0,1", DeviceChoice("cuda", (0, 1))),
        ("optix:3", DeviceChoice("optix", (3,))),
    ],
)
def test_a_choice_is_a_kind_and_numbers(text: str, choice: DeviceChoice) -> None:
    assert parse_device(text) == choice


@pytest.mark.parametrize(
    "text", ["", "gpu", "CUDA", "cuda:", "cuda:a", "cuda:-1", "cpu:0", "auto:1", "cuda:0,"]
)
def test_what_is_no_choice_gets_a_sentence(text: str) -> None:
    with refused(ConfigError):
        parse_device(text)
    with refused(ConfigError):
        RenderSettings(device=text)


def test_a_gpu_twice_gets_a_sentence() -> None:
    with refused(ConfigError):
        parse_device("cuda:0,1,0")


def test_a_crash_over_one_kind_hides_no_other() -> None:
    found = find_devices(command=LISTING)
    assert [device.name for device in found.devices] == [
        *("optix:0", "optix:1", "cuda:0", "cuda:1", "oneapi:0", "cpu"),
    ]
    assert found.devices[2].title == "Card 3"
    assert [device.denoises for device in found.of("oneapi")] == [False]
    assert found.missing == ("metal",)
    assert found.problems == {
        "hip": "asking for HIP devices failed: the process ended with status 11 (a driver crashed)"
    }


@pytest.mark.parametrize(
    ("titles", "kind"),
    [
        (["NVIDIA H100 80GB HBM3"], "cuda"),
        (["NVIDIA A100-SXM4-40GB", "Tesla V100-PCIE-16GB"], "cuda"),
        (["NVIDIA GeForce RTX 4090"], "optix"),
        (["NVIDIA A10"], "optix"),
        (["NVIDIA A100-SXM4-40GB", "NVIDIA RTX A6000"], "optix"),
    ],
)
def test_optix_comes_first_only_where_a_gpu_traces_rays(titles: list[str], kind: str) -> None:
    devices = [
        Device(f"{each}:{number}", title, title, True)
        for each in ("optix", "cuda")
        for number, title in enumerate(titles)
    ]
    assert {each.kind for each in FoundDevices(tuple(devices)).of("auto")} == {kind}
    assert FoundDevices(tuple(devices[: len(titles)])).of("auto") == devices[: len(titles)]  # without CUDA


@pytest.mark.slow
def test_what_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def names(text: str) -> list[str]:
        return [device.name for device in choose_gpus(parse_device(text), command=LISTING)[0]]

    monkeypatch.setattr("clevrhope.images.blender.devices.gpus_are_possible", lambda: True)
    assert names("auto") == ["optix:0", "optix:1"]
    assert names("cuda") == ["cuda:0", "cuda:1"]
    assert names("cuda:1,0") == ["cuda:1", "cuda:0"]
    with refused(ConfigError):
        names("cuda:0,2")
    with refused(ConfigError):
        names("metal")
    with refused(ConfigError):
        names("hip:0")
    # Nobody is asked where it makes no difference.
    nobody = (sys.executable, "-c", "raise SystemExit(9)")
    assert choose_gpus(parse_device("cpu"), command=nobody) == ([], "")
    monkeypatch.setattr("clevrhope.images.blender.devices.gpus_are_possible", lambda: False)
    assert choose_gpus(parse_device("auto"), command=nobody) == ([], "")


def test_that_auto_came_to_the_cpu_for_a_failure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.images.blender.devices.gpus_are_possible", lambda: True)
    monkeypatch.setattr(
        "clevrhope.images.blender.devices.find_devices",
        lambda command: find_devices(("hip", "cpu"), command=LISTING),
    )
    with CyclesRenderer(settings=RenderSettings(), workers=1, command=FAKE_WORKER) as made:
        assert stage_title(made) == (
            "Rendering images on the CPU, as asking for HIP devices failed: "
            "the process ended with status 11 (a driver crashed)"
        )
        assert {start["allowance_s"] for start in made.pool.start} == {0.0}
        assert len(dict(made.render(scenes(2)))) == 2


def test_where_linux_shows_no_gpu_blender_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrhope.images.blender.devices.sys.platform", "linux")
    monkeypatch.setattr("clevrhope.images.blender.devices.DEVICES_OF_LINUX", tmp_path)
    (tmp_path / "null").touch()
    assert not gpus_are_possible()
    (tmp_path / "dri").mkdir()
    (tmp_path / "dri" / "renderD128").touch()
    assert gpus_are_possible()


@pytest.mark.parametrize("identity", ["CUDA_Card_0000:3a:00", "CUDA_Card_0000:1a:00"])
def test_exactly_one_device_is_switched_on(identity: str) -> None:
    preferences = FakePreferences()
    for interface in ("OPTIX", "ONEAPI"):  # found before, and on, as in Blender's own preferences
        preferences.get_device_list(interface)
    assert use_device(preferences, "CUDA", identity)
    assert [each.id for each in preferences.devices if each.use] == [identity]
    assert len(preferences.devices) == 6


def test_a_gpu_without_a_denoiser_and_one_that_went_away() -> None:
    assert not use_device(FakePreferences(), "ONEAPI", "ONEAPI_Arc_0000:07:00")
    with refused(RenderError):
        use_device(FakePreferences(), "CUDA", "CUDA_Card_0000:99:00")


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "of_each"), [(None, 2), (1, 1), (3, 3)])
def test_each_gpu_has_its_own_workers(
    workers: int | None, of_each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = find_devices(("cuda",), command=LISTING)
    monkeypatch.setattr(
        "clevrhope.images.blender.cycles.choose_gpus", lambda choice: (there.of(choice.kind), "")
    )
    with CyclesRenderer(settings=RenderSettings(device="cuda"), workers=workers, command=FAKE_WORKER) as made:
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
    return CyclesRenderer(settings=RenderSettings(device="cuda"), command=FAKE_WORKER, **choices)


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


@pytest.mark.slow
def test_a_worker_sets_blender_to_its_gpu_denoiser_included(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = find_devices(("oneapi", "optix"), command=LISTING)
    command = (sys.executable, "-P", "-c", BOUND_WORKER, str(Path(__file__).parent), str(tmp_path / "log"))
    told = {}
    for kind in ("optix", "oneapi"):
        monkeypatch.setattr(
            "clevrhope.images.blender.cycles.choose_gpus", lambda choice: (there.of(choice.kind)[-1:], "")
        )
        settings = RenderSettings(width=48, height=32, samples=1, device=kind)
        with CyclesRenderer(settings=settings, workers=1, command=command) as made:
            assert len(dict(made.render(enumerate(reference_scenes()[:1])))) == 1
            (name,) = made.pool.devices
        told[name] = json.loads((tmp_path / "log").read_text().splitlines()[-1])
    assert told == {
        "optix:1 (Card 1)": {"device": "GPU", "denoises": True, "used": ["OPTIX_Card_0000:1a:00"]},
        "oneapi:0 (Arc)": {"device": "GPU", "denoises": False, "used": ["ONEAPI_Arc_0000:07:00"]},
    }


@pytest.mark.slow
def test_blender_itself_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever there is: each kind is found, or not there, or not in this build; and there is a CPU."""
    found = find_devices()
    assert [device.kind for device in found.devices].count(CPU) == 1
    assert set(found.missing) <= set(INTERFACES)
    assert not found.problems
    assert run_command(["devices", "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    listed = told["blender"]["devices"]
    assert [each["name"] for each in listed] == [device.name for device in found.devices]
    assert any(each["auto"] for each in listed)
    assert told["native"]["cores"] >= 1


def test_devices_without_blender_are_the_native_renderers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise RenderError("rendering needs Blender's module bpy, which is not installed")

    monkeypatch.setattr("clevrhope.images.machine.check_blender", missing)
    assert run_command(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:-1]] == [["native", "cpu"]]
    assert lines[-1] == "rendering needs Blender's module bpy, which is not installed"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--device", "tpu"], "--device: 'tpu' should be auto, cpu, or one of"),
        (
            ["--renderer", "native", "--device", "cuda:0"],
            "--device: cuda:0: the native renderer runs only on the CPU",
        ),
    ],
)
def test_bad_devices_on_the_command_line(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["build", "--hop", "none", "--out", str(tmp_path / "out"), *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"clevrhope: {sentence}")
    assert not (tmp_path / "out").exists()


def made_on(device: str, out: Path) -> None:
    asked = request(out, hops=("none",), splits=("test",), sizes={"test": 9})
    settings = RenderSettings(device=device)
    object.__setattr__(asked.config, "rendering", settings)
    build(asked, make_renderer=lambda rendering, workers: FakeRenderer(settings=settings, workers=workers))


def test_a_folder_is_bound_to_the_kind_of_device_that_it_was_made_on(tmp_path: Path) -> None:
    assert rendering_as_json(RenderSettings(device="cuda:0,1"))["device"] == "cuda"
    made_on("auto", tmp_path / "any")
    before = (tmp_path / "any" / "manifest.json").read_bytes()
    made_on("cuda:1", tmp_path / "any")  # one of any
    assert (tmp_path / "any" / "manifest.json").read_bytes() == before
    made_on("cuda:0", tmp_path / "one")
    made_on("cuda:2,3", tmp_path / "one")
    manifest = read_manifest(tmp_path / "one" / "manifest.json")
    assert manifest is not None
    assert manifest.rendering is not None
    assert manifest.rendering["device"] == "cuda"
    with refused(DatasetError):
        made_on("cpu", tmp_path / "one")
