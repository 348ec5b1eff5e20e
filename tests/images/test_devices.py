"""Which devices there are, which are taken, and that each worker has one and no other.

GPUs are made up here (fake_preferences.py): what Blender does on real ones, no test of the project shows.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from building import Cli, build_demo
from fake_preferences import LISTING, FakePreferences
from test_pool import FAKE_WORKER, scenes

from benchmarks.reference_images import reference_scenes
from clevrhope.dataset.manifest import read_manifest
from clevrhope.errors import ConfigError, DatasetError, RenderError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.blender.devices import (
    Device,
    FoundDevices,
    choose_gpus,
    find_devices,
    gpus_are_possible,
    use_device,
)
from clevrhope.images.renderers import rendering_as_json
from clevrhope.images.settings import CPU, INTERFACES, BlenderSettings, DeviceChoice, parse_device
from clevrhope.images.stage import stage_title
from wording import check_refused, check_words

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


def test_a_choice_is_a_kind_and_numbers() -> None:
    for kind in ("auto", "cpu", "metal"):
        assert parse_device(kind) == DeviceChoice(kind)
    assert parse_device("cuda:0,1") == DeviceChoice("cuda", (0, 1))
    assert parse_device("optix:3") == DeviceChoice("optix", (3,))


@pytest.mark.parametrize(
    "text", ["", "gpu", "CUDA", "cuda:", "cuda:a", "cuda:-1", "cpu:0", "auto:1", "cuda:0,", "cuda:0,1,0"]
)
def test_what_is_no_choice_gets_a_sentence(text: str) -> None:
    check_refused(ConfigError, BlenderSettings, device=text)


def test_a_crash_over_one_kind_hides_no_other() -> None:
    found = find_devices(command=LISTING)
    assert [device.name for device in found.devices] == [
        *("optix:0", "optix:1", "cuda:0", "cuda:1", "oneapi:0", "cpu")
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
    check_refused(ConfigError, names, "cuda:0,2")
    check_refused(ConfigError, names, "metal")
    check_refused(ConfigError, names, "hip:0")
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
    with CyclesRenderer(settings=BlenderSettings(), workers=1, command=FAKE_WORKER) as made:
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
    check_refused(RenderError, use_device, FakePreferences(), "CUDA", "CUDA_Card_0000:99:00")


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
        settings = BlenderSettings(width=48, height=32, samples=1, device=kind)
        with CyclesRenderer(settings=settings, workers=1, command=command) as made:
            assert len(dict(made.render(enumerate(reference_scenes()[:1])))) == 1
            (name,) = made.pool.devices
        told[name] = json.loads((tmp_path / "log").read_text().splitlines()[-1])
    assert told == {
        "optix:1 (Card 1)": {"device": "GPU", "denoises": True, "used": ["OPTIX_Card_0000:1a:00"]},
        "oneapi:0 (Arc)": {"device": "GPU", "denoises": False, "used": ["ONEAPI_Arc_0000:07:00"]},
    }


@pytest.mark.slow
def test_blender_itself_answers(cli: Cli) -> None:
    """Whatever there is: each kind is found, or not there, or not in this build; and there is a CPU."""
    found = find_devices()
    assert [device.kind for device in found.devices].count(CPU) == 1
    assert set(found.missing) <= set(INTERFACES)
    assert not found.problems
    told: dict[str, Any] = json.loads(cli("devices", "--json").out)
    listed = told["blender"]["devices"]
    assert [each["name"] for each in listed] == [device.name for device in found.devices]
    assert any(each["auto"] for each in listed)
    assert told["native"]["cores"] >= 1


def test_devices_without_blender_are_the_native_renderers(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    def missing() -> None:
        raise RenderError("rendering needs Blender's module bpy, which is not installed")

    monkeypatch.setattr("clevrhope.images.machine.check_blender", missing)
    lines = cli("devices").out.splitlines()
    assert [line.split()[:2] for line in lines[1:-1]] == [["native", "cpu"]]
    assert lines[-1] == "rendering needs Blender's module bpy, which is not installed"


@pytest.mark.parametrize("options", ["--device tpu", "--renderer native --device cuda:0"])
def test_bad_devices_on_the_command_line(options: str, tmp_path: Path, cli: Cli) -> None:
    check_words(cli("build", "--hop", "none", "--out", tmp_path / "out", *options.split(), code=2).err)
    assert not (tmp_path / "out").exists()


def made_on(device: str, out: Path) -> None:
    rendering = BlenderSettings(device=device)
    build_demo(out, hops=("none",), splits=("test",), sizes={"test": 9}, rendering=rendering)


def test_a_folder_is_bound_to_the_kind_of_device_that_it_was_made_on(tmp_path: Path) -> None:
    assert rendering_as_json(BlenderSettings(device="cuda:0,1"))["device"] == "cuda"
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
    check_refused(DatasetError, made_on, "cpu", tmp_path / "one")
