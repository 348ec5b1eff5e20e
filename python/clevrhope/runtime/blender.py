"""Finds the interpreter that has Blender, checks it without loading Blender, or makes an environment for it.

Blender's module bpy exists for one version of Python and of numpy only. So it may be installed with this
package, or in a separate environment: that of the Python that the variable CLEVRHOPE_BLENDER_PYTHON names, or
one made by `clevrhope blender install`. The variable comes first, then this environment, then the one
made by that command.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from clevrhope.errors import ConfigError, RenderError
from clevrhope.runtime import launcher
from clevrhope.runtime.atomic import disk_errors

#: The release series with which the look was made and measured.
BLENDER_SERIES = (4, 5)
#: The version of Python for which this release exists.
BLENDER_PYTHON = (3, 11)
#: Names the interpreter that has Blender; the option --blender-python sets it for one command.
VARIABLE = "CLEVRHOPE_BLENDER_PYTHON"
INSTALL_LINE = 'pip install "clevrhope[render]"'
OWN_ENVIRONMENT_LINE = "clevrhope blender install"
OR_NATIVE = "or use --renderer native, which needs no Blender"
NOT_INSTALLED = (
    f"rendering needs Blender's module bpy, which is not installed: {INSTALL_LINE} "
    f"(Blender 4.5 exists for Python 3.11 alone), {OWN_ENVIRONMENT_LINE} (an environment of its own, beside "
    f"any Python), {OR_NATIVE}"
)

#: Prefixes of variables that would change images, or prevent a worker from starting.
UNWANTED_ENVIRONMENT = ("BLENDER_", "CYCLES_", "OCIO", "PYTHONWARNINGS", "PYTHONSTARTUP", "PYTHONINSPECT")


#: Run in an interpreter to get the folder and the version of its bpy.
_QUESTION = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
spec = find_spec("bpy")
if spec and not find_spec("PIL"):
    sys.exit("it has no Pillow, which Blender's images are read with: pip install pillow")
try:
    found = version("bpy")
except PackageNotFoundError:
    found = None
print(json.dumps([spec and spec.origin, found]))
"""
#: An interpreter on a slow, uncached disk answers within this time.
_ANSWER_TIMEOUT_S = 60.0

#: The requirements to install, as in the extra `render` and in the core.
REQUIREMENTS = (
    "bpy>={0}.{1},<{0}.{2}".format(*BLENDER_SERIES, BLENDER_SERIES[1] + 1),
    "numpy<2",
    "pillow>=10",
)
#: The file that marks a folder as one that `install_blender` has made, or begun to make.
MARK = ".clevrhope-blender"

_VERSION = ".".join(map(str, BLENDER_PYTHON))
_VERSION_QUESTION = "import sys, ensurepip; print(*sys.version_info[:2], sep='.')"


@dataclass(frozen=True)
class Blender:
    """An interpreter that has Blender's module.

    Attributes:
        python: the path of the interpreter.
        folder: the folder of the module bpy.
        version: the version of bpy; None if it was built from source, since its version is then unknown until
            it is loaded.
    """

    python: Path
    folder: Path
    version: str | None

    def command(self, module: str) -> tuple[str, ...]:
        """The command line that runs a module of this package there, to which arguments may be added.

        `-P` ignores modules in the current folder. Another environment also ignores the variables that are
        meant for this environment's Python, such as PYTHONPATH.
        """
        flags = ("-P",) if self.python == Path(sys.executable) else ("-E", "-P")
        return (str(self.python), *flags, launcher.__file__, module)


def check_blender() -> Blender:
    """Finds the interpreter that has Blender, and checks that a worker there can import it.

    Raises:
        RenderError: it is not installed, has another version, or lacks system libraries.
        ConfigError: CLEVRHOPE_BLENDER_PYTHON names no interpreter that has Blender.
    """
    blender = find_blender()
    if blender is None:
        raise RenderError(NOT_INSTALLED)
    found = blender.version
    if found is not None and tuple(map(int, found.split(".")[:2])) != BLENDER_SERIES:
        wanted = ".".join(map(str, BLENDER_SERIES))
        is_here = blender.python == Path(sys.executable)
        where = "is installed" if is_here else f"is what {blender.python} has"
        remedy = INSTALL_LINE if is_here else f"{blender.python} -m pip install 'bpy=={wanted}.*'"
        raise RenderError(f"rendering needs Blender {wanted}, but bpy {found} {where}: {remedy}, {OR_NATIVE}")
    missing = missing_libraries(blender.folder)
    if missing:
        raise RenderError(missing_message(missing))
    return blender


def find_blender() -> Blender | None:
    """The first interpreter that has Blender, in the order given above; None if there is none.

    Raises:
        ConfigError: CLEVRHOPE_BLENDER_PYTHON names no interpreter that has Blender.
    """
    if named := os.environ.get(VARIABLE):
        on_path = shutil.which(named)
        return ask_for_blender(Path(on_path).absolute() if on_path else Path(named))
    folder = blender_folder()
    if folder is not None:
        try:
            found = version("bpy")
        except PackageNotFoundError:
            found = None
        return Blender(Path(sys.executable), folder, found)
    made = python_of(own_environment())
    return ask_for_blender(made) if made.exists() else None


def ask_for_blender(python: Path) -> Blender:
    """Asks an interpreter about its Blender; raises ConfigError if it cannot be run, or has none."""
    place = f"{VARIABLE} or --blender-python: {python}" if os.environ.get(VARIABLE) else str(python)
    try:
        done = _finished([str(python), "-E", "-P", "-c", _QUESTION], timeout_s=_ANSWER_TIMEOUT_S)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{place}: this Python cannot be run ({reason})") from error
    if done.returncode:
        raise ConfigError(
            f"{place}: not a Python that Blender can run in ({last_line(done.stderr) or 'no output'}); "
            "name a Python 3.11 that has its module bpy"
        )
    origin, found = json.loads(done.stdout)
    if origin is None:
        raise ConfigError(
            f"{place}: this Python has no module bpy; name one that has, or run {OWN_ENVIRONMENT_LINE}"
        )
    return Blender(python.absolute(), Path(origin).parent, found)


def own_environment() -> Path:
    """The folder in which `clevrhope blender install` creates an environment by default."""
    if sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "clevrhope" / "blender"


def python_of(environment: Path) -> Path:
    """The interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def worker_environment() -> dict[str, str]:
    """The environment variables of this process, without those that would change images."""
    return {key: value for key, value in os.environ.items() if not key.startswith(UNWANTED_ENVIRONMENT)}


def blender_folder() -> Path | None:
    """The folder of the module bpy in this environment; None if it is not installed here."""
    try:
        spec = find_spec("bpy")
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def missing_libraries(folder: Path) -> list[str]:
    """Names of the shared objects that bpy is linked to and the system lacks, according to `ldd`.

    Empty if there is no `ldd`, as on macOS and Windows; there, the worker reports the problem when it imports
    bpy.
    """
    ldd = shutil.which("ldd")
    module = folder / "__init__.so"
    if ldd is None or not module.is_file():
        return []
    lines = _finished([ldd, str(module)]).stdout.splitlines()
    return sorted({line.split()[0] for line in lines if "not found" in line and "=>" in line})


def missing_message(libraries: list[str]) -> str:
    """One sentence that names the libraries and the packages that contain them."""
    noun = "library" if len(libraries) == 1 else "libraries"
    sentence = f"Blender needs the system {noun} {', '.join(libraries)}"
    packages = " ".join(sorted(set(map(debian_package, libraries))))
    sentence += f": apt-get install {packages} (Debian, Ubuntu), or their equivalents on your system"
    return f"{sentence}; {OR_NATIVE}"


def debian_package(library: str) -> str:
    """The package of a shared object in Debian and Ubuntu, by their rule: libX11.so.6 is in libx11-6."""
    name, _, number = library.lower().partition(".so.")
    return f"{name}-{number}" if name[-1].isdigit() else f"{name}{number}"


def how_ended(code: int) -> str:
    """What an exit status says of a process, to follow its name."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def last_line(text: str) -> str:
    """The last line of a process's output that is not empty, shortened; "" if there is none."""
    return next((line.strip()[:200] for line in reversed(text.splitlines()) if line.strip()), "")


def explain_start(problem: str) -> str:
    """A sentence for a worker's report that it could not import Blender or build the look."""
    if "cannot open shared object file" in problem:
        return missing_message([problem.split(": cannot open")[0].split()[-1]])
    if problem.startswith("ModuleNotFoundError") and "bpy" in problem:
        return NOT_INSTALLED
    if problem.startswith("ImportError"):
        remedy = f"try {INSTALL_LINE} --force-reinstall, {OR_NATIVE}"
        return f"Blender's module bpy cannot be imported ({problem}); {remedy}"
    return f"a render worker could not be set up: {problem}"


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
    return _output([*command, "-E", "-c", _VERSION_QUESTION])


def _output(command: Sequence[str]) -> str:
    """The output of a command; "" if it fails or does not exist."""
    try:
        done = _finished(command)
    except (OSError, ValueError):
        return ""
    return "" if done.returncode else done.stdout.strip()


def _run(command: Sequence[str], problem: str) -> None:
    try:
        done = _finished(command)
    except OSError as error:
        raise RenderError(f"{problem}: {command[0]}: {error.strerror}") from error
    if done.returncode:
        said = done.stderr + done.stdout
        errors = (line[:300] for line in said.splitlines() if line.startswith("ERROR"))
        raise RenderError(f"{problem}: {next(errors, last_line(said)) or 'no output'}")


def _finished(command: Sequence[str], *, timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
    )
