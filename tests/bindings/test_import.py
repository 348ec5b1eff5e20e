"""`import clevrhope` is quick and does nothing; its public names load when asked for."""

import json
import statistics
import subprocess
import sys
from importlib.metadata import version

import clevrhope

CLOCK = """
import json, sys, time
began = time.perf_counter()
import clevrhope
seconds = time.perf_counter() - began
heavy = {"numpy", "h5py", "PIL", "rich", "click", "clevrhope._core"}
print(json.dumps([seconds, sorted(heavy & set(sys.modules))]))
"""


def test_importing_takes_under_a_tenth_of_a_second_and_loads_nothing_heavy() -> None:
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", CLOCK], check=True, capture_output=True).stdout)
        for _ in range(5)
    ]
    assert statistics.median(seconds for seconds, _ in runs) < 0.1
    assert all(loaded == [] for _, loaded in runs)


def test_every_public_name_loads() -> None:
    for name in clevrhope.__all__:
        assert getattr(clevrhope, name) is not None
    assert dir(clevrhope) == sorted(clevrhope.__all__)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert clevrhope.__version__ == version("clevrhope")
