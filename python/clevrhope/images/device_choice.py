"""What a user writes for --device in; which kind of device, and which numbers of it, out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clevrhope.errors import ConfigError

#: What one writes -> what Blender calls it; the order in which `auto` tries them.
INTERFACES: Mapping[str, str] = {
    "optix": "OPTIX",
    "cuda": "CUDA",
    "hip": "HIP",
    "oneapi": "ONEAPI",
    "metal": "METAL",
}
#: What one writes -> what its makers call it.
TITLES: Mapping[str, str] = {
    "cuda": "CUDA",
    "optix": "OptiX",
    "hip": "HIP",
    "oneapi": "oneAPI",
    "metal": "Metal",
    "cpu": "CPU",
}
ANY, CPU = "auto", "cpu"


@dataclass(frozen=True)
class DeviceChoice:
    """Where images are to be rendered.

    Attributes:
        kind: auto, cpu, or a key of `INTERFACES`.
        numbers: which GPUs of that kind, as `clevrhope devices` counts them; none for all.
    """

    kind: str
    numbers: tuple[int, ...] = ()


def parse_device(text: str) -> DeviceChoice:
    """The choice that a text such as auto, cpu, cuda, or optix:0,1 stands for.

    Raises:
        ConfigError: it is none.
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
