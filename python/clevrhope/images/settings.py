"""Settings of renderers: what all have, Blender's with its devices, and the native renderer's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self, cast, get_args

from clevrhope.errors import ConfigError, shown
from clevrhope.runtime.settings import naming

Prefilter = Literal["none", "fast", "accurate"]
Quality = Literal["high", "balanced", "fast"]
NativeQuality = Literal["draft", "standard", "high"]

#: Kind of GPU -> its makers' spelling, in the order in which `auto` tries them; Blender uses capitals.
INTERFACES: Mapping[str, str] = {
    "optix": "OptiX",
    "cuda": "CUDA",
    "hip": "HIP",
    "oneapi": "oneAPI",
    "metal": "Metal",
}
ANY, CPU = "auto", "cpu"

#: Samples after which Cycles first tests whether a pixel needs more.
ADAPTIVE_STEP = 16

#: From this many samples on, an image needs no denoiser: the original's setting.
SAMPLES_OF_THE_ORIGINAL = 512

#: Blender's samples per pixel, by quality.
BLENDER_QUALITIES: Mapping[str, int] = {"draft": 4, "standard": 16, "original": SAMPLES_OF_THE_ORIGINAL}

#: Increased by one whenever the native renderer's images change, so that no folder mixes two revisions.
NATIVE_REVISION = 7


@dataclass(frozen=True)
class Rendering:
    """The settings that each renderer has.

    Attributes:
        width: pixels.
        height: pixels.

    Raises:
        ConfigError: an invalid size.
    """

    width: int = 480
    height: int = 320

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            if not 1 <= getattr(self, name) <= 8192:
                raise ConfigError(f"{name} is {shown(getattr(self, name))}; expected from 1 to 8192 pixels")

    def with_quality(self, quality: str) -> Self:
        """These settings at another quality; raises ConfigError for an unknown one."""
        raise NotImplementedError


@dataclass(frozen=True)
class BlenderSettings(Rendering):
    """Everything except the scene and the look that decides an image rendered by Blender.

    Attributes, beside those of `Rendering`:
        samples: most camera rays per pixel. Over the sixteen reference scenes, 16 reach 45.4 dB against 512;
            8 reach 43.9 dB in little more than half of the time, and lose more of metal's finest glints.
        denoise: run OpenImageDenoise over the finished image, guided by albedo and normals.
        adaptive_threshold: noise level below which a pixel gets no more samples; 0 gives every pixel all
            samples. Cycles tests it after every 16 samples, so it matters from 17 on: 64 take half the time
            for 1 dB.
        adaptive_min_samples: samples that every pixel gets before that test.
        prefilter: how the denoiser's guides are cleaned first. "none" is the fastest, and the closest to 512
            samples.
        denoise_quality: the denoiser's network. On two cores "high" takes 0.5 s per image; "balanced" takes
            0.2 s, a tenth of an image's time, for 0.5 dB less.
        device: "auto" for all GPUs of one kind if there are any; "cpu"; or "cuda", "optix:0,1" and so on, see
            `parse_device`.

    Raises:
        ConfigError: Blender would not accept a value.
    """

    samples: int = 16
    denoise: bool = True
    adaptive_threshold: float = 0.05
    adaptive_min_samples: int = 4
    prefilter: Prefilter = "none"
    denoise_quality: Quality = "balanced"
    device: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks = {
            "samples": (1 <= self.samples <= 65536, "from 1 to 65536"),
            "adaptive_threshold": (0.0 <= self.adaptive_threshold < 1.0, "from 0 (off) to below 1"),
            "adaptive_min_samples": (0 <= self.adaptive_min_samples <= 4096, "from 0 to 4096"),
        }
        for name, choices in (("prefilter", Prefilter), ("denoise_quality", Quality)):
            known = get_args(choices)
            checks[name] = (getattr(self, name) in known, f"one of {', '.join(known)}")
        for name, (good, right) in checks.items():
            if not good:
                raise ConfigError(f"{name} is {shown(getattr(self, name))}; expected {right}")
        with naming("device"):
            parse_device(self.device)

    def with_samples(self, samples: int) -> Self:
        """These settings with other samples; from 512 on not denoised or adaptive, as in the original."""
        if samples < SAMPLES_OF_THE_ORIGINAL:
            return replace(self, samples=samples)
        return replace(self, samples=samples, denoise=False, adaptive_threshold=0.0)

    def with_quality(self, quality: str) -> Self:
        """These settings at one of `BLENDER_QUALITIES`; raises ConfigError for an unknown one."""
        check_quality("blender", quality, BLENDER_QUALITIES)
        own = type(self)(width=self.width, height=self.height, device=self.device)
        return own.with_samples(BLENDER_QUALITIES[quality])


@dataclass(frozen=True)
class NativeSettings(Rendering):
    """Everything except the scene and the look that decides an image of the native renderer.

    Attributes, beside those of `Rendering`:
        quality: draft, standard or high.

    Raises:
        ConfigError: an invalid size or quality.
    """

    quality: NativeQuality = "standard"

    def __post_init__(self) -> None:
        check_quality("native", self.quality, get_args(NativeQuality))
        super().__post_init__()

    def with_quality(self, quality: str) -> Self:
        """These settings at another quality; raises ConfigError for an unknown one."""
        return replace(self, quality=cast(NativeQuality, quality))


def check_quality(renderer: str, quality: str, known: Collection[str]) -> None:
    """Checks that a renderer has a quality; raises ConfigError if it has none of this name."""
    if quality not in known:
        raise ConfigError(f'renderer {renderer} has no quality "{quality}"; it has {", ".join(known)}')


@dataclass(frozen=True)
class DeviceChoice:
    """The devices on which images should be rendered.

    Attributes:
        kind: auto, cpu, or a key of `INTERFACES`.
        numbers: the GPUs of that kind, numbered as in `clevrhope devices`; empty for all.
    """

    kind: str
    numbers: tuple[int, ...] = ()


def parse_device(text: str) -> DeviceChoice:
    """Parses a device such as auto, cpu, cuda, or optix:0,1; raises ConfigError for another form."""
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
