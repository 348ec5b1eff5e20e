"""The devices that Blender can render on, on this machine.

Blender is queried in a separate process that does nothing else. If a driver crashes, only that process ends,
and this process never uses a GPU.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clevrhope.errors import ConfigError, RenderError
from clevrhope.images.blender.process import START_PATIENCE, TaskError, WorkerEndedError, WorkerProcess
from clevrhope.images.settings import ANY, CPU, INTERFACES, DeviceChoice
from clevrhope.runtime.blender import check_blender

#: The module that Blender's interpreter runs.
WORKER = "clevrhope.images.blender.worker"
#: The files that Linux shows for GPUs. Without any of them, no interface can find a GPU.
PLACES_OF_GPUS = ("nvidia[0-9]*", "nvidiactl", "kfd", "dri/renderD*", "dxg")
DEVICES_OF_LINUX = Path("/dev")
#: NVIDIA's data-centre GPUs without ray-tracing units, by name.
WITHOUT_RAY_UNITS = re.compile(r"\b(?:P100|G?V100|A30|A100|A800|G?H100|H20|G?H200|H800|G?B[123]00)[SX]?\b")
#: Columns of Cycles' rows: name, kind and identity of a device, and whether OpenImageDenoise runs on it.
NAME, KIND, IDENTITY, DENOISES = 0, 1, 2, 5


@dataclass(frozen=True)
class Device:
    """A device on which Cycles can render.

    Attributes:
        name: as for --device: cpu, cuda:0, optix:1.
        title: its maker's name for it.
        identity: Cycles' name for it, the same in every process of this machine.
        denoises: whether OpenImageDenoise can run on it.
    """

    name: str
    title: str
    identity: str
    denoises: bool

    @property
    def kind(self) -> str:
        """Either cpu or a key of `INTERFACES`."""
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class FoundDevices:
    """The devices that Blender found.

    Attributes:
        devices: GPUs by kind in the order in which `auto` tries them, followed by the CPU.
        missing: kinds that this build of Blender does not support.
        problems: kind -> why listing its devices failed.
    """

    devices: tuple[Device, ...]
    missing: tuple[str, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> list[Device]:
        """The devices of a kind; for auto, all GPUs of the first kind that has any.

        OptiX comes first, or CUDA if no GPU has ray-tracing units: on an H100 CUDA was faster.
        """
        if kind != ANY:
            return [device for device in self.devices if device.kind == kind]
        kinds = list(INTERFACES)
        if self.of("cuda") and all(WITHOUT_RAY_UNITS.search(each.title) for each in self.of("optix")):
            kinds.remove("optix")
        return next(filter(None, map(self.of, kinds)), [])


def find_devices(
    kinds: Sequence[str] = (*INTERFACES, CPU), *, command: Sequence[str] | None = None
) -> FoundDevices:
    """Asks Blender, by default that of `check_blender`, for its devices; raises RenderError if it fails."""
    command = command or check_blender().command(WORKER)
    devices: list[Device] = []
    missing: list[str] = []
    problems: dict[str, str] = {}
    process: WorkerProcess | None = None
    try:
        for kind in kinds:
            process = process or WorkerProcess(command)
            try:
                answer = process.query({"list": kind.upper()}, patience=START_PATIENCE)
            except TaskError as error:
                raise RenderError(str(error)) from error
            except WorkerEndedError as error:
                problems[kind] = (
                    f"asking for {INTERFACES.get(kind, 'CPU')} devices failed: the process {error}"
                )
                process.close()
                process = None
                continue
            if not answer["known"]:
                missing.append(kind)
            for number, each in enumerate(answer["devices"]):
                devices.append(Device(CPU if kind == CPU else f"{kind}:{number}", **each))
    finally:
        if process is not None:
            process.close()
    return FoundDevices(tuple(devices), tuple(missing), problems)


def choose_gpus(choice: DeviceChoice, *, command: Sequence[str] | None = None) -> tuple[list[Device], str]:
    """The GPUs of a choice, in the order of its numbers; none for the CPU.

    The second value says why listing the GPUs failed, if "auto" found none; "" if it did not fail.

    Raises:
        ConfigError: this machine does not have a chosen device; names those that it has.
        RenderError: Blender cannot be started.
    """
    if choice.kind == CPU or (choice.kind == ANY and not gpus_are_possible()):
        return [], ""
    found = find_devices(command=command)
    there = found.of(choice.kind)
    if choice.kind == ANY:
        return there, "" if there else "; ".join(found.problems.values())
    wanted = [f"{choice.kind}:{number}" for number in choice.numbers] or [choice.kind]
    by_name = {device.name: device for device in there}
    for name in wanted:
        if name not in by_name and not (name == choice.kind and there):
            listed = ", ".join(f"{device.name} ({device.title})" for device in found.devices)
            problem = f"--device {name}: not here; found: {listed or 'nothing'}"
            if choice.kind in found.missing:
                problem += f"; this build of Blender has no {INTERFACES[choice.kind]}"
            if choice.kind in found.problems:
                problem += f"; {found.problems[choice.kind]}"
            raise ConfigError(problem)
    return ([by_name[name] for name in wanted] if choice.numbers else there), ""


def gpus_are_possible() -> bool:
    """Whether the system exposes a GPU to programs; if not, Blender need not be asked."""
    if sys.platform != "linux":
        return True
    return any(any(DEVICES_OF_LINUX.glob(place)) for place in PLACES_OF_GPUS)


def list_devices(preferences: Any, interface: str) -> dict[str, Any]:
    """The devices of an interface: CPU, CUDA, OPTIX, HIP, ONEAPI or METAL; for the worker that is asked.

    Cycles' identity of a device includes its bus address, so it does not depend on the order of the GPUs.
    `preferences` are bpy.context.preferences.addons["cycles"].preferences, or those of a test.

    Returns:
        {"known": whether this build of Blender has the interface,
        "devices": [{"title", "identity", "denoises"}, ...]} in Cycles' order.
    """
    known = interface == "CPU" or any(each[0] == interface for each in preferences.get_device_types(None))
    rows = preferences.get_device_list(interface) if known else ()
    return {
        "known": known,
        "devices": [
            {"title": row[NAME], "identity": row[IDENTITY], "denoises": bool(row[DENOISES])}
            for row in rows
            if row[KIND] == interface
        ],
    }


def use_device(preferences: Any, interface: str, identity: str) -> bool:
    """Switches one GPU on, and all else off; returns whether it denoises. A RenderError if it is gone."""
    preferences.compute_device_type = interface
    preferences.get_device_list(interface)  # fills `devices`
    found = False
    for device in preferences.devices:
        device.use = device.type == interface and device.id == identity
        found = found or device.use
    if not found:
        raise RenderError(f"the {interface} device {identity} is gone; see clevrhope devices")
    return bool(preferences.has_oidn_gpu_devices())
