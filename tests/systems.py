"""What not every system has, for the tests that need it: such a test is skipped elsewhere, with the reason.

No test may import `fcntl`, `resource` or their like before it is known that the system has them.
"""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

needs_limits = pytest.mark.skipif(
    find_spec("resource") is None, reason="this system has no limits for a process"
)
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
needs_flock = pytest.mark.skipif(find_spec("fcntl") is None, reason="this system locks in another way")
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
needs_sys = pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="only Linux has a /sys without room")
