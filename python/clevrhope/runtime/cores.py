"""Number of CPU cores available to this process."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Cores that the system lets this process run on; all cores where it does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
