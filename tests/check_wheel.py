"""Installs a wheel into an environment of its own, and runs the tests there that need no Blender or torch.

    python tests/check_wheel.py dist/*.whl --numpy 2

The environment has the Python that runs this, and neither cargo nor the checkout's package. The tests are the
checkout's own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
#: What tests need beside the wheel and its extras.
TEST_LIBRARIES = (
    "datasets>=3",
    "hypothesis>=6.100",
    "pytest>=8.3",
    "pytest-xdist>=3.6",
    "pyyaml>=6",
    "syrupy>=5",
    "webdataset>=0.2.86",
)
EXTRAS = "export,plots"
TESTS = ("bindings", "config", "dataset", "export", "metrics", "programs", "questions", "splits")
#: What builds the package, which a wheel must not need.
BUILD_TOOLS = ("cargo", "maturin", "rustc")


def make_environment(folder: Path, wheel: Path, *, numpy: str, libraries: tuple[str, ...] = ()) -> Path:
    """Makes an environment with a wheel and a release of numpy, such as "2"; gives its interpreter."""
    venv.create(folder, with_pip=True, symlinks=sys.platform != "win32")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = (f"{wheel}[{EXTRAS}]", f"numpy=={numpy}.*", *libraries)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
    subprocess.run(command, check=True, env=clean_environment())
    return python


def clean_environment() -> dict[str, str]:
    """This process's variables without those that lead to what is not in the environment."""
    folders = os.environ["PATH"].split(os.pathsep)
    kept = [each for each in folders if not any(any(Path(each).glob(f"{tool}*")) for tool in BUILD_TOOLS)]
    # Names of processor features are those of one release of numpy.
    unwanted = ("PYTHON", "VIRTUAL_ENV", "NPY_DISABLE_CPU_FEATURES")
    own = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    return {**own, "PATH": os.pathsep.join(kept), "PYTHONNOUSERSITE": "1"}


def run_tests(python: Path, *arguments: str) -> int:
    """Runs the tests in an environment; gives pytest's exit code."""
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, env=clean_environment(), check=False).returncode


def main() -> int:
    """Reads the command line, makes the environment, runs the tests; gives the exit code."""
    parser = argparse.ArgumentParser(description="Runs the tests that need no Blender against a wheel.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--numpy", default="2", help="its release: 1 or 2 (default 2)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = chosen.wheel.resolve(strict=True)
        python = make_environment(Path(folder), wheel, numpy=chosen.numpy, libraries=TEST_LIBRARIES)
        subprocess.run(
            [str(python), "-m", "clevrhope", "doctor"], cwd=folder, env=clean_environment(), check=True
        )
        page = python.parents[1] / "share/man/man1/clevrhope.1"
        if not page.read_text("utf-8").startswith(".TH CLEVRHOPE 1"):
            sys.exit(f"{page}: not the man page")
        return run_tests(python, "-n", "auto", "--dist", "loadfile", *(f"tests/{each}" for each in TESTS))


if __name__ == "__main__":
    sys.exit(main())
