"""Finds the interpreter that has Blender, and checks it without loading Blender.

Blender's module bpy exists for one version of Python and of numpy only. So it may be installed with this
package, or in a separate environment: that of the Python that the variable CLEVRHOPE_BLENDER_PYTHON names,
which comes first.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from clevrhope.errors import ConfigError, RenderError
from clevrhope.runtime import launcher

#: The release series with which the look was made and measured.
BLENDER_SERIES = (4, 5)
#: Names the interpreter that has Blender; the option --blender-python sets it for one command.
VARIABLE = "CLEVRHOPE_BLENDER_PYTHON"
INSTALL_LINE = 'pip install "clevrhope[render]"'
OWN_ENVIRONMENT_LINE = "--blender-python PATH (a Python 3.11 with bpy, numpy 1 and Pillow)"
OR_NATIVE = "or use --renderer native, which needs no Blender"
NOT_INSTALLED = (
    f"rendering needs Blender's module bpy, which is not installed: {INSTALL_LINE} "
    f"(Blender 4.5 exists for Python 3.11 alone), {OWN_ENVIRONMENT_LINE}, {OR_NATIVE}"
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
    """The interpreter that has Blender: the named one, or else this one; None if this one has none.

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
    return None


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
        raise ConfigError(f"{place}: this Python has no module bpy; name one that has")
    return Blender(python.absolute(), Path(origin).parent, found)


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


def _finished(command: Sequence[str], *, timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
    )
