"""What a worker uses of an NVIDIA GPU, as its driver tells through NVML.

Nothing is known without NVML's module (pynvml), without a driver, on other makers' GPUs, and in containers
whose processes have other numbers for the driver than for themselves.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any

#: A GPU's place on the bus, in Cycles' name for it and in NVML's.
_PLACE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}")
#: NVML averages over at most this time.
_SAMPLE_S = 1.0


class GpuUse:
    """The use that a process makes of a GPU.

    Args:
        identity: Cycles' name for the GPU.
        pid: number of the process.

    Attributes:
        total_bytes: the GPU's memory; 0 if NVML does not know the GPU.
    """

    def __init__(self, identity: str, pid: int) -> None:
        self._nvml, self._pid = load_nvml(), pid
        self._seen_us = 0
        self._seconds: float | None = None
        self.total_bytes = 0
        place = _PLACE.search(identity.lower())
        if self._nvml is not None and place is not None:
            with suppress(self._nvml.NVMLError):
                self._gpu = self._nvml.nvmlDeviceGetHandleByPciBusId(f"{place[0]}.0")
                self.total_bytes = self._nvml.nvmlDeviceGetMemoryInfo(self._gpu).total

    def held_bytes(self) -> int:
        """Memory of the GPU that the process holds now; 0 where NVML does not say."""
        return max(
            (each.usedGpuMemory or 0 for each in self._own("nvmlDeviceGetComputeRunningProcesses")), default=0
        )

    def seconds(self) -> float | None:
        """Seconds in which the process used the GPU so far; None before NVML has named the process."""
        samples = self._own("nvmlDeviceGetProcessUtilization", self._seen_us)
        for each in sorted(samples, key=lambda sample: sample.timeStamp):
            part_s = min(_SAMPLE_S, (each.timeStamp - self._seen_us) / 1e6)
            self._seconds = (self._seconds or 0.0) + part_s * each.smUtil / 100
            self._seen_us = each.timeStamp
        return self._seconds

    def _own(self, question: str, *arguments: int) -> list[Any]:
        """This process's entries in NVML's answer; none where it has no answer."""
        if self.total_bytes:
            with suppress(self._nvml.NVMLError):
                answer = getattr(self._nvml, question)(self._gpu, *arguments)
                return [each for each in answer if each.pid == self._pid]
        return []


@cache
def load_nvml() -> Any:
    """NVML's module, ready for questions; None where it or the driver is missing."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
