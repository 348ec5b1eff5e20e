"""The wheel holds templates and look: installed alone, outside the checkout, it builds a dataset.

It does so without Rust, with numpy 2, and with Blender in another environment than its own.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import h5py
import pytest

import build_wheel
from check_wheel import TEST_LIBRARIES, clean_environment, make_environment, run_tests

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]


def maturin() -> str:
    """The program beside this Python, or on the path."""
    beside_python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which("maturin", path=beside_python)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the checkout, with cargo's own target folder so that little is compiled anew."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, build_wheel.__file__, "--interpreter", sys.executable, "--out", str(folder)]
    subprocess.run(command, check=True)
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
    assert len([name for name in names if name.endswith(".data/data/share/man/man1/clevrhope.1")]) == 1
    unwanted = ("__pycache__", "ruff.toml", "tests/")
    assert not [name for name in names if any(each in name for each in unwanted)]


def test_the_wheel_has_licences_and_no_path_of_the_machine_that_built_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (licences,) = {name.rpartition("/")[0] for name in archive.namelist() if "/licenses/" in name}
        crates = archive.read(f"{licences}/{build_wheel.NOTICES.name}").decode()
        standard_library = archive.read(f"{licences}/{build_wheel.STANDARD_LIBRARY.name}").decode()
        module = archive.read("clevrhope/_core.abi3.so")
        assert f"{licences}/LICENSE" in archive.namelist()
    # One that is linked, C code in one, and none of macros or of tests.
    assert "rayon 1." in crates
    assert "Microsoft Corporation" in crates  # mimalloc
    assert "proc-macro2" not in crates
    assert "proptest" not in crates
    assert "The Rust Standard Library" in standard_library
    metadata = build_wheel.read_metadata()
    own = [metadata["workspace_root"], metadata["target_directory"], str(Path.home()), "/.cargo/"]
    assert [path for path in own if path.encode() in module] == []
    assert b"/cargo/registry/" in module  # where panics say that they were


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


@pytest.fixture(scope="module")
def numpy2(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and numpy 2, without Blender and without Rust."""
    folder = tmp_path_factory.mktemp("numpy2")
    return make_environment(folder, wheel, numpy="2", libraries=TEST_LIBRARIES)


def test_with_numpy_2_the_doctor_finds_all_well(numpy2: Path, tmp_path: Path) -> None:
    command = [str(numpy2), "-m", "clevrhope", "doctor", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=clean_environment(), check=True, capture_output=True, text=True
    )
    found = {each["name"]: each for each in json.loads(done.stdout)["findings"]}
    assert "numpy 2." in found["libraries"]["value"]
    assert found["engine"]["state"] == found["extra export"]["state"] == "ok"
    assert found["Blender"]["state"] == "note"
    assert not shutil.which("cargo", path=clean_environment()["PATH"])


def test_with_numpy_2_the_tests_of_the_core_pass(numpy2: Path) -> None:
    assert run_tests(numpy2, "tests/bindings", "tests/programs", "tests/dataset", "tests/metrics") == 0


PIXELS = """
import hashlib, numpy
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.settings import BlenderSettings

thing = {"shape": "cube", "size": "large", "color": "red", "material": "metal", "rotation": 30.0}
scenes = [(k, {"objects": [{**thing, "3d_coords": [k / 2, 0.0, 0.7]}]}) for k in range(2)]
with CyclesRenderer(settings=BlenderSettings(width=96, height=64, samples=4), workers=1) as renderer:
    made = dict(renderer.render(scenes))
    annotated = dict(renderer.passes(scenes[:1]))[0]
arrays = [made[0], made[1], *vars(annotated).values()]
print(numpy.__version__[0], *(hashlib.sha256(each.tobytes()).hexdigest() for each in arrays))
"""


def test_with_blender_in_another_environment_the_pixels_are_the_same(numpy2: Path, tmp_path: Path) -> None:
    def pixels(python: str, **variables: str) -> list[str]:
        done = subprocess.run(
            [python, "-c", PIXELS],
            cwd=tmp_path,
            env={**clean_environment(), **variables},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    here, *expected = pixels(sys.executable)
    there, *found = pixels(str(numpy2), CLEVRHOPE_BLENDER_PYTHON=sys.executable)
    assert (here, there) == ("1", "2")
    assert found == expected
    assert len(set(found)) == 7  # two images and six arrays, of which two are alike


def test_the_source_distribution_builds_a_wheel(tmp_path: Path) -> None:
    """As pip does it for a system without a wheel: with the build tools of pyproject.toml, from PyPI."""
    subprocess.run([maturin(), "sdist", "--out", str(tmp_path)], cwd=REPOSITORY, check=True)
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Cargo.lock", "LICENSE", "README.md", "pyproject.toml", ".cargo/config.toml"} <= names
    assert {"CHANGELOG.md", "CITATION.cff", "tests/conftest.py", "tests/data/kept_folder/vocab.json"} <= names
    # Cargo goes by dates, and all files of a source distribution have one old date: with it, what is built
    # already would stand for other sources.
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / source.name.removesuffix(".tar.gz")
    for path in folder.rglob("*.rs"):
        path.touch()
    environment = {**os.environ, "CARGO_TARGET_DIR": str(REPOSITORY / "target")}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path)]
    subprocess.run([*command, str(folder)], env=environment, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "clevrhope/_assets/blender_assets/look.json" in zipfile.ZipFile(wheel).namelist()
