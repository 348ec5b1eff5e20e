"""Cores and memory available to this process, and their use by a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CGROUPS_OF_THIS_PROCESS = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")
#: For systems that do not report a limit: in practice, no limit.
UNKNOWN_BYTES = 1 << 40


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
