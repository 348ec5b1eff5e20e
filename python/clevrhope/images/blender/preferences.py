"""Devices in Cycles' preferences: listing them, and switching on exactly one.

This runs in a worker process, which passes bpy.context.preferences.addons["cycles"].preferences. Nothing is
imported from Blender here, so tests can pass their own preferences. Cycles' identity of a device includes its
bus address, so it does not depend on the order in which GPUs are found.
"""

from __future__ import annotations

from typing import Any

from clevrhope.errors import RenderError

#: Columns of Cycles' rows: name, kind and identity of a device, and whether OpenImageDenoise runs on it.
NAME, KIND, IDENTITY, DENOISES = 0, 1, 2, 5


def list_devices(preferences: Any, interface: str) -> dict[str, Any]:
    """The devices of an interface: CPU, CUDA, OPTIX, HIP, ONEAPI or METAL.

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
