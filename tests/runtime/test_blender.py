"""Which interpreter has Blender; and one sentence with the remedy where it is missing or unfit."""

import json
import os
import stat
import subprocess
import sys
import venv
from pathlib import Path

import h5py
import numpy as np
import pytest
from building import Cli

from benchmarks.reference_images import reference_scenes
from clevrhope.errors import RenderError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.images.settings import BlenderSettings
from clevrhope.runtime import blender as libraries
from wording import check_refused, check_words


@pytest.mark.parametrize(
    ("version", "absent"),
    [(None, ()), ("4.2.1", ()), ("4.5.3", ("libXrender.so.1", "libXi.so.6", "libXi.so.6"))],
    ids=["all of it", "its version", "libraries"],
)
def test_what_is_missing_is_named_with_what_installs_it(
    version: str | None, absent: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "__init__.so").touch()
    lines = ["libm.so.6 => /lib/libm.so.6 (0x00007f00)", *(f"{name} => not found" for name in absent)]
    ldd = program(tmp_path / "ldd", "\n".join(f"echo '\t{line}'" for line in lines))
    monkeypatch.setattr(libraries, "blender_folder", lambda: tmp_path if version else None)
    monkeypatch.setattr(libraries, "version", lambda _: version)
    monkeypatch.setattr(libraries.shutil, "which", lambda _: str(ldd))
    with pytest.raises(RenderError) as error:
        CyclesRenderer()
    check_words(str(error.value))


@pytest.mark.parametrize(
    "problem",
    [
        "ImportError: libSM.so.6: cannot open shared object file: No such file or directory",
        "ModuleNotFoundError: No module named 'bpy'",
        "ImportError: undefined symbol: x",
        "KeyError: 'lights'",
    ],
)
def test_what_a_worker_said_becomes_a_sentence(problem: str) -> None:
    check_words(libraries.explain_start(problem))


def test_checking_blender_does_not_load_blender() -> None:
    code = (
        "import sys; from clevrhope.runtime import blender; "
        "blender.check_blender(); sys.exit('bpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def made_environment(folder: Path) -> Path:
    """An environment of its own that has this one's libraries, Blender among them; gives its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "libraries.pth").write_text(str(Path(h5py.__file__).parents[1]))
    return folder / "bin" / "python"


def program(path: Path, text: str) -> Path:
    """A program that stands for an interpreter."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def says(version: str | None, folder: Path = Path("/there/bpy")) -> str:
    """What an interpreter does that has this version of bpy."""
    return f"echo '{json.dumps([f'{folder}/__init__.so', version])}'"


def found() -> libraries.Blender:
    blender = libraries.find_blender()
    assert blender is not None
    return blender


def test_the_variable_goes_first_then_this_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(libraries, "blender_folder", lambda: tmp_path)
    monkeypatch.setattr(libraries, "version", lambda _: "4.5.1")
    assert found() == libraries.Blender(Path(sys.executable), tmp_path, "4.5.1")
    monkeypatch.setattr(libraries, "blender_folder", lambda: None)
    assert libraries.find_blender() is None
    monkeypatch.setattr(libraries, "blender_folder", lambda: tmp_path)
    other = program(tmp_path / "other", says(None))
    monkeypatch.setenv(libraries.VARIABLE, str(other))
    assert found() == libraries.Blender(other, Path("/there/bpy"), None)
    assert found().command("some.module")[:3] == (str(other), "-E", "-P")
    program(other, says("4.2.0"))
    check_refused(RenderError, libraries.check_blender)


@pytest.mark.parametrize("named", ["some-python", "./some-python"])
def test_a_name_on_the_path_and_a_relative_path_are_found(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = program(tmp_path / "some-python", says("4.5.3"))
    if named.startswith("."):
        monkeypatch.chdir(tmp_path)
    else:
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv(libraries.VARIABLE, named)
    assert found().python == python


@pytest.mark.parametrize(
    "text",
    [None, "echo 'Unknown option: -P' >&2; exit 2", "echo '[null, null]'"],
    ids=["none", "old", "bare"],
)
def test_an_interpreter_without_blender_is_named(text: str | None, tmp_path: Path, cli: Cli) -> None:
    named = tmp_path / "python" if text is None else program(tmp_path / "python", text)
    before = dict(os.environ)
    check_words(cli("devices", "--blender-python", named, code=2).err)
    assert dict(os.environ) == before


@pytest.mark.slow
def test_images_of_another_environment_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = list(enumerate(reference_scenes()[:2]))
    settings = BlenderSettings(width=48, height=32, samples=2)
    with CyclesRenderer(settings=settings, workers=1) as renderer:
        here = dict(renderer.render(scenes))
        annotated = dict(renderer.passes(scenes[:1]))
    python = made_environment(tmp_path / "there")
    monkeypatch.setenv(libraries.VARIABLE, str(python))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "of_this_environment"))
    (tmp_path / "of_this_environment" / "bpy").mkdir(parents=True)  # would be found first, and is not Blender
    (tmp_path / "of_this_environment" / "bpy" / "__init__.py").touch()
    with CyclesRenderer(settings=settings, workers=1) as renderer:
        there = dict(renderer.render(scenes))
        (pid,) = renderer.pool.pids
        assert str(python) in Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        again = dict(renderer.passes(scenes[:1]))
    assert all(np.array_equal(here[key], there[key]) for key, _ in scenes)
    assert all(np.array_equal(getattr(annotated[0], name), each) for name, each in vars(again[0]).items())


def test_the_launcher_brings_this_package_and_nothing_beside_it(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    venv.create(bare, symlinks=True, with_pip=False)
    python = bare / "bin" / "python"
    command = libraries.Blender(python, tmp_path, None).command("clevrhope.runtime.extras")
    assert subprocess.run(command, check=False).returncode == 0  # imported, though not installed there
    code = "import json, sys; sys.argv[1:] = ['clevrhope.runtime.extras']; import runpy; "
    code += f"runpy.run_path({command[3]!r}, run_name='__main__'); print(json.dumps(sys.path))"
    done = subprocess.run([python, "-E", "-P", "-c", code], capture_output=True, text=True, check=True)
    assert str(Path(h5py.__file__).parents[1]) not in json.loads(done.stdout)
