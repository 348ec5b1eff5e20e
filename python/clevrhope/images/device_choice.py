"""The choice of devices that a user makes with --device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clevrhope.errors import ConfigError

#: Kind of GPU -> its makers' spelling, in the order in which `auto` tries them; Blender's is in capitals.
INTERFACES: Mapping[str, str] = {
    "optix": "OptiX",
    "cuda": "CUDA",
    "hip": "HIP",
    "oneapi": "oneAPI",
    "metal": "Metal",
}
ANY, CPU = "auto", "cpu"


@dataclass(frozen=True)
class DeviceChoice:
    """The devices that images are to be rendered on.

    Attributes:
        kind: auto, cpu, or a key of `INTERFACES`.
        numbers: of the GPUs of that kind, as `clevrhope devices` counts them; empty for all.
    """

    kind: str
    numbers: tuple[int, ...] = ()


def parse_device(text: str) -> DeviceChoice:
    """The choice that a string such as auto, cpu, cuda, or optix:0,1 stands for.

    Raises:
        ConfigError: another string.
    """
    kind, colon, listed = text.partition(":")
    numbers = listed.split(",")
    known = kind in INTERFACES if colon else kind in (ANY, CPU, *INTERFACES)
    if not known or (colon and not all(each.isdecimal() for each in numbers)):
        raise ConfigError(
            f"{text!r} should be auto, cpu, or one of {', '.join(INTERFACES)}, with numbers behind a colon "
            "for some of them, such as cuda:0,1"
        )
    if not colon:
        return DeviceChoice(kind)
    chosen = tuple(map(int, numbers))
    if len(set(chosen)) < len(chosen):
        raise ConfigError(f"{text!r} names a GPU twice; --workers says how many processes each one has")
    return DeviceChoice(kind, chosen)
