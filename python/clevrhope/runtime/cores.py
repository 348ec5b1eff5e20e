"""Nothing in, the number of cores that this process may use out."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Cores that the system lets this process run on; all there are where it does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
