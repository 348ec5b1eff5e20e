"""Cycles' preferences in; which devices there are, and exactly one of them switched on, out.

Runs in a worker process, which passes bpy.context.preferences.addons["cycles"].preferences; nothing is
imported from Blender here, so that tests can pass preferences of their own. A device is told by what Cycles
keeps for good: its identity has the place on the bus in it, and holds in whatever order GPUs are found.
"""

from __future__ import annotations

from typing import Any

from clevrhope.errors import RenderError

#: Of what Cycles tells of a device: its name, kind and identity, and whether OpenImageDenoise runs on it.
NAME, KIND, IDENTITY, DENOISES = 0, 1, 2, 5


def list_devices(preferences: Any, interface: str) -> dict[str, Any]:
    """What there is of a kind.

    Args:
        preferences: Cycles' own.
        interface: CPU, CUDA, OPTIX, HIP, ONEAPI or METAL.

    Returns:
        {"known": whether this build of Blender has the interface at all,
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
    """Switches one GPU on and all other devices off, the CPU included; whether it can denoise too.

    Raises:
        RenderError: it is not there.
    """
    preferences.compute_device_type = interface
    preferences.get_device_list(interface)  # fills `devices`
    found = False
    for device in preferences.devices:
        device.use = device.type == interface and device.id == identity
        found = found or device.use
    if not found:
        raise RenderError(f"the {interface} device {identity} is not there any more; see clevrhope devices")
    return bool(preferences.has_oidn_gpu_devices())
