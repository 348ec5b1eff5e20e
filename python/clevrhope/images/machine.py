"""Nothing in; what this machine can render with, as `clevrhope devices` tells it, out."""

from dataclasses import asdict, dataclass
from typing import Any

from clevrhope.errors import RenderError
from clevrhope.images.blender.devices import Device, FoundDevices, find_devices
from clevrhope.images.device_choice import ANY, CPU, INTERFACES, TITLES
from clevrhope.runtime.blender import check_blender
from clevrhope.runtime.cores import available_cores


@dataclass(frozen=True)
class WhatRenders:
    """What there is to render with."""

    found: FoundDevices
    """By Blender; nothing where that is missing."""
    blender: str
    """Why Blender cannot be asked; empty where it can."""
    cores: int
    """That this process may use, and the native renderer does."""

    @property
    def auto(self) -> list[Device]:
        """What Blender renders on when nothing is said."""
        return self.found.of(ANY) or self.found.of(CPU)

    def as_json(self) -> dict[str, Any]:
        """Name -> value, for `--json`."""
        auto = [device.name for device in self.auto]
        return {
            "blender": {
                "devices": [
                    {**asdict(each), "kind": each.kind, "auto": each.name in auto}
                    for each in self.found.devices
                ],
                "missing": list(self.found.missing),
                "problems": dict(self.found.problems or {}),
            }
            if not self.blender
            else None,
            "native": {"device": CPU, "cores": self.cores},
            "notes": [self.blender] if self.blender else [],
        }


def what_renders() -> WhatRenders:
    """Asks Blender, in a process of its own, and counts cores."""
    try:
        check_blender()
        return WhatRenders(find_devices(), "", available_cores())
    except RenderError as error:
        return WhatRenders(FoundDevices(()), str(error), available_cores())


def text_lines(there: WhatRenders) -> list[str]:
    """A line a device, and what is not there."""
    rows = [("renderer", "--device", "", "denoiser", "auto")]
    for device in there.found.devices:
        denoiser = "there" if device.denoises else "on the CPU"
        rows.append(("blender", device.name, device.title, denoiser, "yes" if device in there.auto else ""))
    rows.append(("native", CPU, f"{there.cores} cores", "there", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if there.blender:
        return [*lines, there.blender]
    problems = there.found.problems or {}
    none = [
        TITLES[kind]
        for kind in INTERFACES
        if not there.found.of(kind) and kind not in there.found.missing and kind not in problems
    ]
    if none:
        lines.append(f"No device found by: {', '.join(none)}.")
    if there.found.missing:
        lines.append(
            f"Not in this build of Blender: {', '.join(TITLES[kind] for kind in there.found.missing)}."
        )
    return [*lines, *problems.values()]
