"""Makes a separate environment for Blender, with the Python and the numpy that its module needs."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from clevrhope.errors import ConfigError, RenderError
from clevrhope.runtime.atomic import disk_errors
from clevrhope.runtime.blender import BLENDER_PYTHON, BLENDER_SERIES, Blender, ask_for_blender, python_of

#: The requirements to install, as in the extra `render` and in the core.
REQUIREMENTS = (
    "bpy>={0}.{1},<{0}.{2}".format(*BLENDER_SERIES, BLENDER_SERIES[1] + 1),
    "numpy<2",
    "pillow>=10",
)
#: The file that marks a folder as one that `install_blender` has made, or begun to make.
MARK = ".clevrhope-blender"

_VERSION = ".".join(map(str, BLENDER_PYTHON))
_QUESTION = "import sys, ensurepip; print(*sys.version_info[:2], sep='.')"


def install_blender(folder: Path, *, python: Path | None, say: Callable[[str], None]) -> Blender:
    """Makes an environment in `folder` with Blender; keeps an existing one.

    Args:
        folder: where the environment is made.
        python: a Python 3.11 to make it with; by default the first that is found.
        say: called with a line before each step that takes long.

    Raises:
        ConfigError: there is no Python 3.11, or the folder holds something that this function did not make.
        DatasetError: the folder cannot be written to.
        RenderError: the environment cannot be made; a new folder is removed, and an existing one can be
            continued.
    """
    made, mark = python_of(folder), folder / MARK
    if made.exists():
        with suppress(ConfigError):
            return ask_for_blender(made)
    with disk_errors(folder, option="--into"):
        is_new = not folder.exists()
        if not is_new and not mark.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(
                f"{folder}: it holds something that clevrhope blender install did not make; "
                "choose another folder with --into, or remove this one"
            )
    base = find_python(python)
    with disk_errors(folder, option="--into"):
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
    try:
        say(f"Making an environment with {base} in {folder} ...")
        _run([str(base), "-E", "-m", "venv", str(folder)], "the environment cannot be made")
        say(f"Installing {', '.join(REQUIREMENTS)}, about 400 MB to download ...")
        pip = [str(made), "-E", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *REQUIREMENTS], "Blender cannot be installed")
        return ask_for_blender(made)
    except BaseException:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def find_python(named: Path | None = None) -> Path:
    """Finds a Python of the version that Blender needs: the named one, this one, or one on the system.

    Raises:
        ConfigError: there is none, or it has another version or lacks ensurepip, which makes environments.
    """
    if named is not None:
        found = _version_of([str(named)])
        if found == _VERSION:
            return named
        raise ConfigError(
            f"--python: {named}: {found or 'no Python'}; it should be a Python {_VERSION} with ensurepip"
        )
    for command in ([sys.executable], [f"python{_VERSION}"], ["py", f"-{_VERSION}"]):
        if _version_of(command) == _VERSION:
            where = _output([*command, "-c", "import sys; print(sys.executable)"])
            return Path(where)
    managed = _output(["uv", "python", "find", _VERSION])
    if managed and _version_of([managed]) == _VERSION:
        return Path(managed)
    raise ConfigError(
        f"Blender needs Python {_VERSION} with ensurepip, and none was found: apt-get install "
        f"python{_VERSION}-venv (Debian 12), brew install python@{_VERSION} (macOS), uv python install "
        f"{_VERSION} (any system); or name one with --python"
    )


def _version_of(command: Sequence[str]) -> str:
    return _output([*command, "-E", "-c", _QUESTION])


def _output(command: Sequence[str]) -> str:
    """The output of a command; "" if it fails or does not exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except (OSError, ValueError):
        return ""
    return "" if done.returncode else done.stdout.strip()


def _run(command: Sequence[str], problem: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise RenderError(f"{problem}: {command[0]}: {error.strerror}") from error
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        last = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "no output")
        raise RenderError(f"{problem}: {last[:300]}")
