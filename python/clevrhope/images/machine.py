"""Finds the renderers and devices of this machine, for `clevrhope devices`."""

from dataclasses import asdict, dataclass
from typing import Any

from clevrhope.errors import RenderError
from clevrhope.images.blender.devices import Device, FoundDevices, find_devices
from clevrhope.images.renderers import RENDERERS
from clevrhope.images.settings import ANY, CPU, INTERFACES
from clevrhope.runtime.blender import check_blender
from clevrhope.runtime.resources import available_cores


@dataclass(frozen=True)
class AvailableRenderers:
    """The renderers of this machine.

    Attributes:
        found: Blender's devices; none if Blender is missing.
        blender_problem: why Blender cannot be used; empty if it can.
        cores: number of CPU cores available to this process, all of which the native renderer uses.
    """

    found: FoundDevices
    blender_problem: str
    cores: int

    @property
    def auto(self) -> list[Device]:
        """The devices on which Blender renders by default."""
        return self.found.of(ANY) or self.found.of(CPU)

    def as_json(self) -> dict[str, Any]:
        """Name -> value, for `--json`."""
        auto = [device.name for device in self.auto]
        blender = {
            "devices": [
                {**asdict(each), "kind": each.kind, "auto": each.name in auto} for each in self.found.devices
            ],
            "missing": list(self.found.missing),
            "problems": dict(self.found.problems),
        }
        return {
            "blender": None if self.blender_problem else blender,
            **{name: {"device": CPU, "cores": self.cores} for name in _on_cpus()},
            "notes": [self.blender_problem] if self.blender_problem else [],
        }


def _on_cpus() -> list[str]:
    """The renderers that use only the cores of the CPU."""
    return [name for name, row in RENDERERS.items() if not row.takes("device")]


def find_renderers() -> AvailableRenderers:
    """Asks Blender for its devices, in a separate process, and counts cores."""
    try:
        check_blender()
        return AvailableRenderers(find_devices(), "", available_cores())
    except RenderError as error:
        return AvailableRenderers(FoundDevices(()), str(error), available_cores())


def text_lines(renderers: AvailableRenderers) -> list[str]:
    """A table with one row per device, and a line for each kind of device that is missing."""
    found = renderers.found
    rows = [("renderer", "--device", "", "denoiser", "auto")]
    for device in found.devices:
        denoiser = "there" if device.denoises else "on the CPU"
        auto = "yes" if device in renderers.auto else ""
        rows.append(("blender", device.name, device.title, denoiser, auto))
    rows += [(name, CPU, f"{renderers.cores} cores", "there", "") for name in _on_cpus()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if renderers.blender_problem:
        return [*lines, renderers.blender_problem]
    none = [INTERFACES[kind] for kind in INTERFACES if kind not in found.problems and not found.of(kind)]
    return [*lines, *([f"No device found by: {', '.join(none)}."] if none else []), *found.problems.values()]
