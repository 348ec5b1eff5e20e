"""Blender missing, of another release, or without libraries of the system: one sentence with the remedy."""

import subprocess
import sys
from pathlib import Path

import pytest

from clevrhope.errors import RenderError
from clevrhope.images.blender.cycles import CyclesRenderer
from clevrhope.runtime import blender as libraries


def test_a_missing_bpy_is_said_with_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda _: None)
    with pytest.raises(RenderError, match=r'not installed: pip install "clevrhope\[render\]"'):
        CyclesRenderer()


def test_another_release_of_bpy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "blender_folder", lambda: Path("somewhere"))
    monkeypatch.setattr(libraries, "version", lambda _: "4.2.1")
    with pytest.raises(
        RenderError, match=r'needs Blender 4\.5, but bpy 4\.2\.1 is installed: pip install "clev'
    ):
        CyclesRenderer()


def test_missing_libraries_are_named_with_their_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "__init__.so").touch()
    ldd = tmp_path / "ldd"
    ldd.write_text(
        "#!/bin/sh\n"
        "echo '\tlibm.so.6 => /lib/libm.so.6 (0x00007f00)'\n"
        "echo '\tlibXrender.so.1 => not found'\n"
        "echo '\tlibXi.so.6 => not found'\n"
        "echo '\tlibXi.so.6 => not found'\n"
    )
    ldd.chmod(0o755)
    monkeypatch.setattr(libraries, "blender_folder", lambda: tmp_path)
    monkeypatch.setattr(libraries, "version", lambda _: "4.5.3")
    monkeypatch.setattr(libraries.shutil, "which", lambda _: str(ldd))
    with pytest.raises(RenderError) as error:
        libraries.check_blender()
    assert str(error.value) == (
        "Blender needs the system libraries libXi.so.6, libXrender.so.1: "
        "apt-get install libxi6 libxrender1 (Debian, Ubuntu), or their equivalents on your system; "
        "or use --renderer native, which needs no Blender"
    )


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (
            "ImportError: libSM.so.6: cannot open shared object file: No such file or directory",
            "Blender needs the system library libSM.so.6: apt-get install libsm6",
        ),
        ("ModuleNotFoundError: No module named 'bpy'", "rendering needs Blender's module bpy, which is not"),
        (
            "ImportError: undefined symbol: x",
            "Blender's module bpy cannot be imported (ImportError: undefined",
        ),
        ("KeyError: 'lights'", "a render worker could not be set up: KeyError: 'lights'"),
    ],
)
def test_what_a_worker_said_becomes_a_sentence(problem: str, sentence: str) -> None:
    assert libraries.explain_start(problem).startswith(sentence)


def test_asking_for_the_libraries_does_not_load_blender() -> None:
    code = "import sys; from clevrhope.runtime import blender; blender.main(); sys.exit('bpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_bpy_is_imported_by_what_runs_in_processes_of_its_own_alone() -> None:
    package = Path(libraries.__file__).parents[1]
    users = {path.name for path in package.rglob("*.py") if "\nimport bpy" in path.read_text()}
    assert users == {"scene.py", "blend_reader.py"}
