"""The package's names and modules, which are imported when they are first used."""

import subprocess
import sys

import pytest

import clevrhope


def test_a_bare_import_is_light_and_gives_every_module() -> None:
    code = (
        "import sys, clevrhope\n"
        "light = 'numpy' not in sys.modules\n"
        "help(clevrhope.scenes.World)\n"
        "sys.exit(0 if light else 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "class World" in done.stdout


def test_a_name_that_there_is_not_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'clevrhope' has no attribute 'nothing'"):
        _ = clevrhope.nothing
