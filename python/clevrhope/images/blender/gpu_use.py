"""A worker's use of an NVIDIA GPU, as its driver reports it through NVML.

Nothing is known without NVML's module (pynvml) or a driver, on other makers' GPUs, and in containers in which
the driver sees other process numbers than the processes themselves.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any

#: A GPU's bus address, in Cycles' identity of it and in NVML's.
_PLACE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}")
#: NVML averages over at most this time.
_SAMPLE_S = 1.0


class GpuUse:
    """The use of a GPU by a process.

    Args:
        identity: Cycles' name for the GPU.
        pid: the number of the process.

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
        """GPU memory that the process uses now; 0 if NVML does not say."""
        return max(
            (each.usedGpuMemory or 0 for each in self._own("nvmlDeviceGetComputeRunningProcesses")), default=0
        )

    def seconds(self) -> float | None:
        """Seconds for which the process has used the GPU; None until NVML has listed the process."""
        samples = self._own("nvmlDeviceGetProcessUtilization", self._seen_us)
        for each in sorted(samples, key=lambda sample: sample.timeStamp):
            part_s = min(_SAMPLE_S, (each.timeStamp - self._seen_us) / 1e6)
            self._seconds = (self._seconds or 0.0) + part_s * each.smUtil / 100
            self._seen_us = each.timeStamp
        return self._seconds

    def _own(self, question: str, *arguments: int) -> list[Any]:
        """This process's entries in NVML's answer; empty if NVML does not answer."""
        if self.total_bytes:
            with suppress(self._nvml.NVMLError):
                answer = getattr(self._nvml, question)(self._gpu, *arguments)
                return [each for each in answer if each.pid == self._pid]
        return []


@cache
def load_nvml() -> Any:
    """NVML's module, initialised; None if it or the driver is missing."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml
