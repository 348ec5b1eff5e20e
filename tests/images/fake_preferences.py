"""Cycles' preferences on a machine with GPUs, as far as this project asks; no machine of its tests has one.

As a script: a worker that lists the devices, and dies where it is asked for HIP.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from clevrhope.images.blender.devices import list_devices
from clevrhope.images.blender.protocol import write_frame
from clevrhope.images.blender.worker import open_pipes

#: The command line of that worker.
LISTING = (sys.executable, __file__)

Row = tuple[str, str, str, bool, bool, bool, bool, bool]


@dataclass
class Entry:
    """What the preferences keep of a device."""

    name: str
    type: str
    id: str
    use: bool


class FakePreferences:
    """Two GPUs that CUDA and OptiX both find, one of oneAPI without a denoiser, and the CPU."""

    def __init__(self) -> None:
        self.devices: list[Entry] = []
        self._compute_device_type = "NONE"

    @property
    def compute_device_type(self) -> str:
        return self._compute_device_type

    @compute_device_type.setter
    def compute_device_type(self, value: str) -> None:
        if value not in [row[0] for row in self.get_device_types(None)]:
            raise TypeError(f'enum "{value}" not found')
        self._compute_device_type = value

    def get_device_types(self, context: object) -> list[tuple[str, str]]:
        return [("NONE", "None"), ("CUDA", "CUDA"), ("OPTIX", "OptiX"), ("HIP", "HIP"), ("ONEAPI", "oneAPI")]

    def get_device_list(self, interface: str) -> list[Row]:
        # Name, kind, identity, shared memory, ray tracing, OpenImageDenoise, OptiX' denoiser, kernels ready.
        rows = [("A processor", "CPU", "CPU", False, False, True, False, True)]
        if interface in ("CUDA", "OPTIX"):
            rows += [
                (f"Card {k}", interface, f"{interface}_Card_0000:{k}a:00", False, True, True, True, True)
                for k in (3, 1)
            ]
        if interface == "ONEAPI":
            rows.append(("Arc", "ONEAPI", "ONEAPI_Arc_0000:07:00", False, False, False, False, True))
        for row in rows:
            if not any((each.type, each.id) == row[1:3] for each in self.devices):
                self.devices.append(Entry(*row[:3], use=row[1] != "CPU"))
        return rows

    def has_oidn_gpu_devices(self) -> bool:
        rows = self.get_device_list(self.compute_device_type)
        used = {each.id for each in self.devices if each.use}
        return any(row[5] and row[1] != "CPU" and row[2] in used for row in rows)


def main(folder: Path) -> None:
    tasks, replies = open_pipes(folder)
    while True:
        wanted = tasks.get()["list"]
        if wanted == "HIP":
            sys.stderr.write("a driver crashed\n")
            sys.stderr.flush()
            os._exit(11)
        write_frame(replies, list_devices(FakePreferences(), wanted))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
