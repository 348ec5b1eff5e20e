"""`import clevrhope` does next to nothing; its public names load when asked for."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import clevrhope

LISTS = """
import sys
before = set(sys.modules)
import clevrhope
print(*sorted(set(sys.modules) - before))
"""


def test_importing_loads_the_errors_and_small_parts_of_the_standard_library() -> None:
    done = subprocess.run([sys.executable, "-c", LISTS], check=True, capture_output=True, text=True)
    loaded = done.stdout.split()
    assert [name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names] == [
        "clevrhope",
        "clevrhope.errors",
    ]
    assert len(loaded) < 60  # 35 at the time of writing


def test_a_bare_import_gives_every_module() -> None:
    code = "import clevrhope; help(clevrhope.scenes.World)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "class World" in done.stdout
    assert done.stderr == ""
    with pytest.raises(AttributeError, match="module 'clevrhope' has no attribute 'nothing'"):
        _ = clevrhope.nothing


def test_every_public_name_loads() -> None:
    for name in clevrhope.__all__:
        assert getattr(clevrhope, name) is not None
    assert dir(clevrhope) == sorted(clevrhope.__all__)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert clevrhope.__version__ == version("clevrhope")
