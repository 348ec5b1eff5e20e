"""Checks that Blender is installed with all that it needs, without loading it.

`python -m clevrhope.runtime.blender` prints one sentence on what is missing and how to install it, and exits
with 1; or it prints nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import clevrhope
from clevrhope.errors import RenderError

#: The release series that the look was made and measured with.
BLENDER_SERIES = (4, 5)
INSTALL_LINE = 'pip install "clevrhope[render]"'
OR_NATIVE = "or use --renderer native, which needs no Blender"
NOT_INSTALLED = (
    f"rendering needs Blender's module bpy, which is not installed: {INSTALL_LINE} "
    f"(Blender 4.5 exists for Python 3.11 alone), {OR_NATIVE}"
)

#: Shared object that Blender expects on a system -> its package in Debian and Ubuntu.
DEBIAN_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libglx0",
    "libICE.so.6": "libice6",
    "libOpenGL.so.0": "libopengl0",
    "libSM.so.6": "libsm6",
    "libX11.so.6": "libx11-6",
    "libXcursor.so.1": "libxcursor1",
    "libXext.so.6": "libxext6",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libXinerama.so.1": "libxinerama1",
    "libXrandr.so.2": "libxrandr2",
    "libXrender.so.1": "libxrender1",
    "libXt.so.6": "libxt6",
    "libXxf86vm.so.1": "libxxf86vm1",
    "libdrm.so.2": "libdrm2",
    "libgomp.so.1": "libgomp1",
    "libstdc++.so.6": "libstdc++6",
    "libwayland-client.so.0": "libwayland-client0",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon.so.0": "libxkbcommon0",
}
#: Prefixes of variables that would change images, or keep a worker from starting.
UNWANTED_ENVIRONMENT = ("BLENDER_", "CYCLES_", "OCIO", "PYTHONWARNINGS", "PYTHONSTARTUP", "PYTHONINSPECT")


def check_blender() -> None:
    """Checks that a worker will be able to import Blender.

    Raises:
        RenderError: it is not installed, has another version, or lacks libraries of the system.
    """
    folder = blender_folder()
    if folder is None:
        raise RenderError(NOT_INSTALLED)
    try:
        found = version("bpy")
    except PackageNotFoundError:
        found = None  # built from source: its version is unknown until it is loaded
    if found is not None and tuple(map(int, found.split(".")[:2])) != BLENDER_SERIES:
        wanted = ".".join(map(str, BLENDER_SERIES))
        raise RenderError(
            f"rendering needs Blender {wanted}, but bpy {found} is installed: {INSTALL_LINE}, {OR_NATIVE}"
        )
    missing = missing_libraries(folder)
    if missing:
        raise RenderError(missing_message(missing))


def worker_environment() -> dict[str, str]:
    """The environment of this process without what would change images, and with this package importable."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(UNWANTED_ENVIRONMENT)}
    package_root = str(Path(clevrhope.__path__[0]).parent)
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (package_root, kept.get("PYTHONPATH"))))
    return kept


def blender_folder() -> Path | None:
    """The folder of the module bpy; None if it is not installed."""
    try:
        spec = find_spec("bpy")
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def missing_libraries(folder: Path) -> list[str]:
    """Names of the shared objects that bpy is linked to and that the system lacks, according to `ldd`.

    Empty where there is no `ldd`, as on macOS and Windows; there the worker reports it when it imports bpy.
    """
    ldd = shutil.which("ldd")
    module = folder / "__init__.so"
    if ldd is None or not module.is_file():
        return []
    answer = subprocess.run([ldd, str(module)], capture_output=True, text=True, check=False)
    lines = answer.stdout.splitlines()
    return sorted({line.split()[0] for line in lines if "not found" in line and "=>" in line})


def missing_message(libraries: list[str]) -> str:
    """One sentence that names the libraries and the packages that hold them."""
    noun = "library" if len(libraries) == 1 else "libraries"
    sentence = f"Blender needs the system {noun} {', '.join(libraries)}"
    packages = sorted({DEBIAN_PACKAGES[name] for name in libraries if name in DEBIAN_PACKAGES})
    if packages:
        sentence += (
            f": apt-get install {' '.join(packages)} (Debian, Ubuntu), or their equivalents on your system"
        )
    return f"{sentence}; {OR_NATIVE}"


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


def main() -> int:
    """Prints what is missing, if anything."""
    try:
        check_blender()
    except RenderError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
