"""Waiting for other processes and threads, which take long on a busy machine."""

import time
from collections.abc import Callable

import pytest

HANG_S = 900
"""Only a hang takes so long, however busy the machine is."""


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Returns when `holds()` is true; fails with `what`, which should have happened, if that never comes."""
    end = time.monotonic() + HANG_S
    while not holds():
        if time.monotonic() > end:
            pytest.fail(f"{what}: not within {HANG_S} s")
        time.sleep(0.02)
