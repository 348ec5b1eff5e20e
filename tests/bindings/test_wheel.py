"""The wheel holds templates and look: installed alone, outside the checkout, it builds a dataset."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import h5py
import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the checkout, with cargo's own target folder so that little is compiled anew."""
    folder = tmp_path_factory.mktemp("wheel")
    beside_python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    maturin = shutil.which("maturin", path=beside_python)
    assert maturin is not None
    command = [maturin, "build", "--release", "--interpreter", sys.executable, "--out", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_what_the_checkout_holds(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("blender_assets", "experiments", "question_templates"):
        files = [path for path in (REPOSITORY / folder).rglob("*") if path.is_file()]
        assert files
        for file in files:
            assert f"clevrhope/_assets/{file.relative_to(REPOSITORY).as_posix()}" in names
    assert {"clevrhope/py.typed", "clevrhope/_core.pyi", "clevrhope/_core.abi3.so"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_installed_alone_it_builds_a_dataset(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True, with_pip=False)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    subprocess.run([*pip, "--quiet", "--no-index", "--no-deps", str(wheel)], check=True)
    # numpy and its like from where these tests have them, without a network; the checkout is not among them.
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(str(Path(h5py.__file__).parents[1]))

    def run(*command: str) -> str:
        clean = {"PATH": os.environ["PATH"], "PYTHONNOUSERSITE": "1"}
        done = subprocess.run(command, cwd=tmp_path, env=clean, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    where = run(str(python), "-c", "import clevrhope; print(clevrhope.__file__)")
    assert Path(where).is_relative_to(packages)
    run(
        str(environment / "bin" / "clevrhope"),
        *("build", "--hop", "rubber_cylinder", "--seed", "1", "--out", "out", "--no-render", "--quiet"),
        *("--train-questions", "9", "--test-questions", "9"),
    )
    assert (tmp_path / "out" / "hops" / "rubber_cylinder" / "train.h5").is_file()
    assert (tmp_path / "out" / "manifest.json").is_file()
