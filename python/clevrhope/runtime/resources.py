"""Cores and memory available to this process, and their use and that of a GPU by a process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

CGROUPS_OF_THIS_PROCESS = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")
#: For systems that do not report a limit: in practice, no limit.
UNKNOWN_BYTES = 1 << 40
#: A GPU's bus address, in Cycles' identity of it and in NVML's.
_PLACE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}")
#: NVML averages over at most this time.
_SAMPLE_S = 1.0


def available_cores() -> int:
    """Cores on which the system lets this process run; all cores if it does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_bytes() -> int:
    """Memory of this machine, or the lower limit of a container or cluster job."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):
        total = UNKNOWN_BYTES
    return min([total, *_limits()])


def resident_bytes(pid: int | None = None) -> int:
    """Memory that a process uses now, by default this one; 0 if the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float | None:
    """Processor time of a process and of its terminated children; None if the system does not say."""
    try:
        # Skips the name, which may contain spaces: utime, stime, cutime and cstime are columns 14 to 17.
        columns = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    except OSError:
        return None
    return sum(map(int, columns)) / os.sysconf("SC_CLK_TCK")


def _limits() -> Iterator[int]:
    """The limits of this process's control groups and of the groups that contain them."""
    try:
        lines = CGROUPS_OF_THIS_PROCESS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds == "":  # version 2, with one tree for all kinds
            root, name = CGROUPS, "memory.max"
        elif "memory" in kinds.split(","):
            root, name = CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        for each in (group, *group.parents):
            with suppress(OSError, ValueError):  # no such file, or "max"
                yield int((each / name).read_text())
            if each == root or root not in each.parents:
                break


class GpuUse:
    """The use of an NVIDIA GPU by a process, as its driver reports it through NVML.

    Nothing is known without NVML's module (pynvml) or a driver, on other makers' GPUs, and in containers in
    which the driver sees other process numbers than the processes themselves.

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
