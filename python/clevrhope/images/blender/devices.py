"""A choice of devices in, the devices of this machine that it means out, as Blender finds them.

Blender is asked in a process of its own, which does nothing else: a driver that crashes when it is asked
takes only that process along, and no GPU of this machine is touched by the run itself.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clevrhope.errors import ConfigError, RenderError
from clevrhope.images.blender.process import START_TIMEOUT_S, TaskError, WorkerEndedError, WorkerProcess
from clevrhope.images.device_choice import ANY, CPU, INTERFACES, TITLES, DeviceChoice

#: `-P` keeps modules that happen to lie in the current folder out of the worker.
WORKER_COMMAND = (sys.executable, "-P", "-m", "clevrhope.images.blender.worker")
#: Where Linux shows GPUs to programs. Where there is none of these, no interface finds one.
PLACES_OF_GPUS = ("nvidia[0-9]*", "nvidiactl", "kfd", "dri/renderD*", "dxg")
DEVICES_OF_LINUX = Path("/dev")


@dataclass(frozen=True)
class Device:
    """Something that Cycles can render on.

    Attributes:
        name: as it is written for --device: cpu, cuda:0, optix:1.
        title: what its maker calls it.
        identity: what Cycles calls it, the same in every process of this machine.
        denoises: OpenImageDenoise can run on it.
    """

    name: str
    title: str
    identity: str
    denoises: bool

    @property
    def kind(self) -> str:
        """The cpu, or a key of `INTERFACES`."""
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class FoundDevices:
    """What Blender found.

    Attributes:
        devices: GPUs by kind in the order in which `auto` tries them, and the CPU at the end.
        missing: kinds that this build of Blender does not have.
        problems: what happened to kinds that could not be asked for, by kind.
    """

    devices: tuple[Device, ...]
    missing: tuple[str, ...] = ()
    problems: Mapping[str, str] | None = None

    def of(self, kind: str) -> list[Device]:
        """The devices of a kind; of auto, all GPUs of the first kind that has some."""
        if kind != ANY:
            return [device for device in self.devices if device.kind == kind]
        return next(filter(None, map(self.of, INTERFACES)), [])


def find_devices(
    kinds: Sequence[str] = (*INTERFACES, CPU), *, command: Sequence[str] = WORKER_COMMAND
) -> FoundDevices:
    """Asks Blender which devices there are.

    Raises:
        RenderError: it cannot be started.
    """
    devices: list[Device] = []
    missing: list[str] = []
    problems: dict[str, str] = {}
    process: WorkerProcess | None = None
    try:
        for kind in kinds:
            process = process or WorkerProcess(command)
            try:
                answer = process.tell({"list": INTERFACES.get(kind, "CPU")}, timeout_s=START_TIMEOUT_S)
            except TaskError as error:
                raise RenderError(str(error)) from error
            except WorkerEndedError as error:
                problems[kind] = f"asking for {TITLES[kind]} devices failed: the process {error}"
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


def gpus_of(choice: DeviceChoice, *, command: Sequence[str] = WORKER_COMMAND) -> list[Device]:
    """The GPUs that a choice means, in the order of its numbers; none for the CPU.

    Raises:
        ConfigError: a device that is not there; names those that are.
        RenderError: Blender cannot be started.
    """
    return choose_gpus(choice, command=command)[0]


def choose_gpus(choice: DeviceChoice, *, command: Sequence[str] = WORKER_COMMAND) -> tuple[list[Device], str]:
    """As `gpus_of`; and, where "auto" found none, what happened to kinds that could not be asked for."""
    if choice.kind == CPU or (choice.kind == ANY and not gpus_are_possible()):
        return [], ""
    found = find_devices(command=command)
    there = found.of(choice.kind)
    if choice.kind == ANY:
        return there, "" if there else "; ".join((found.problems or {}).values())
    wanted = [f"{choice.kind}:{number}" for number in choice.numbers] or [choice.kind]
    by_name = {device.name: device for device in there}
    for name in wanted:
        if name not in by_name and not (name == choice.kind and there):
            raise ConfigError(f"--device {name}: not here; {_what_is_there(found, choice.kind)}")
    return ([by_name[name] for name in wanted] if choice.numbers else there), ""


def gpus_are_possible() -> bool:
    """Whether the system shows a GPU to programs at all; if not, Blender need not be asked."""
    if sys.platform != "linux":
        return True
    return any(next(DEVICES_OF_LINUX.glob(place), None) is not None for place in PLACES_OF_GPUS)


def _what_is_there(found: FoundDevices, kind: str) -> str:
    told = ", ".join(f"{device.name} ({device.title})" for device in found.devices)
    if kind in found.missing:
        told += f"; this build of Blender has no {TITLES[kind]}"
    problem = (found.problems or {}).get(kind)
    return f"found: {told or 'nothing'}" + (f"; {problem}" if problem else "")
