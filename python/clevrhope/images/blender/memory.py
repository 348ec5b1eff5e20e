"""Nothing in, the memory that this process may use out; a process number in, what it holds out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

#: Where Linux says which limits a process is under, and what the limits are.
CGROUPS_OF_THIS_PROCESS = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")
#: Of a system that does not tell: no limit in practice.
UNKNOWN_BYTES = 1 << 40


def available_bytes() -> int:
    """Memory of this machine, or less where a container or a job of a cluster is limited to less."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):
        total = UNKNOWN_BYTES
    return min([total, *_limits()])


def resident_bytes(pid: int | None = None) -> int:
    """Memory that a process holds now, by default this one; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _limits() -> Iterator[int]:
    """The limits of the control groups that this process is in, and of those around them."""
    try:
        lines = CGROUPS_OF_THIS_PROCESS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds == "":  # version 2, one tree for all kinds
            root, name = CGROUPS, "memory.max"
        elif "memory" in kinds.split(","):
            root, name = CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        while True:
            try:
                text = (group / name).read_text().strip()
            except OSError:
                text = "max"
            if text.isdecimal():
                yield int(text)
            if group == root or root not in group.parents:
                break
            group = group.parent
