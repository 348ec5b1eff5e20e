"""How pictures are rendered: size, samples, denoiser, device, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from clevrhope.errors import ConfigError

Prefilter = Literal["none", "fast", "accurate"]
Quality = Literal["high", "balanced", "fast"]
Device = Literal["auto", "cpu"]

#: Samples from which a picture is clean enough to need no denoiser: the original's setting.
SAMPLES_OF_THE_ORIGINAL = 512


@dataclass(frozen=True)
class RenderSettings:
    """What decides a picture beside its scene and the look.

    Attributes:
        width: pixels.
        height: pixels.
        samples: camera rays a pixel, at most. Over the sixteen reference scenes 16 keep 45.9 dB against 512;
            8 keep 44.3 dB in three fifths of the time, and lose more of metal's finest glints.
        denoise: OpenImageDenoise over the finished picture, guided by albedo and normals.
        adaptive_threshold: noise level under which a pixel gets no more samples; 0 gives all to all. Cycles
            asks after every 16 samples, so this tells from 17 on: 64 take half of the time, for 1 dB.
        adaptive_min_samples: samples that every pixel gets before that is asked.
        prefilter: how the denoiser's guides are cleaned first. None is both fastest and closest to 512
            samples.
        denoise_quality: which of the denoiser's networks is used.
        device: "auto" takes a GPU where there is one, "cpu" never.

    Raises:
        ConfigError: a value that Blender would not take.
    """

    width: int = 480
    height: int = 320
    samples: int = 16
    denoise: bool = True
    adaptive_threshold: float = 0.05
    adaptive_min_samples: int = 4
    prefilter: Prefilter = "none"
    denoise_quality: Quality = "high"
    device: Device = "auto"

    def __post_init__(self) -> None:
        checks = {
            "width": (1 <= self.width <= 8192, "from 1 to 8192 pixels"),
            "height": (1 <= self.height <= 8192, "from 1 to 8192 pixels"),
            "samples": (1 <= self.samples <= 65536, "from 1 to 65536"),
            "adaptive_threshold": (0.0 <= self.adaptive_threshold < 1.0, "from 0 (off) to below 1"),
            "adaptive_min_samples": (0 <= self.adaptive_min_samples <= 4096, "from 0 to 4096"),
        }
        for name, choices in (("prefilter", Prefilter), ("denoise_quality", Quality), ("device", Device)):
            known = get_args(choices)
            checks[name] = (getattr(self, name) in known, f"one of {', '.join(known)}")
        for name, (good, right) in checks.items():
            if not good:
                raise ConfigError(f"render setting {name}: {getattr(self, name)!r} should be {right}")

    def with_samples(self, samples: int) -> RenderSettings:
        """The same with other samples; from 512 on as in the original: all of them, not denoised."""
        if samples < SAMPLES_OF_THE_ORIGINAL:
            return replace(self, samples=samples)
        return replace(self, samples=samples, denoise=False, adaptive_threshold=0.0)
