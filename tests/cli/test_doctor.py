"""`clevrhope doctor`: what it finds here, and what it says where something is missing or broken."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement

from clevrhope.__main__ import run_command
from clevrhope.doctor import blender, machine, software
from clevrhope.doctor.finding import BROKEN, NOTE, OK, Finding
from clevrhope.errors import RenderError


def findings(capsys: pytest.CaptureFixture[str], *, code: int = 0) -> dict[str, dict[str, Any]]:
    assert run_command(["doctor", "--json"]) == code
    said = json.loads(capsys.readouterr().out)
    assert said["works"] == (code == 0)
    return {each.pop("name"): each for each in said["findings"]}


def test_what_is_installed_here_works(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(capsys)
    assert found["Python"]["value"].endswith(sys.executable)
    assert found["engine"]["state"] == OK
    assert "an image was rendered" in found["engine"]["value"]
    assert "numpy 1." in found["libraries"]["value"]
    assert found["Blender"]["value"].endswith("in this environment")
    assert {"cores", "memory", "disk", "GPUs", "torch", "browsers", "extra render"} <= set(found)
    assert all(bool(each["remedy"]) == (each["state"] != OK) for each in found.values())


def test_it_loads_nothing_heavy() -> None:
    code = """
import sys
from clevrhope.__main__ import run_command
assert run_command(["doctor"]) == 0
heavy = {"torch", "bpy", "matplotlib", "scipy", "pyarrow", "ray", "transformers", "skimage"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The versions of a made-up environment, which a test may change."""
    versions = {"core": "1.5", "one": "1.0", "two": "2.0"}
    needs = {
        "clevrhope": [
            "core>=1,<2",
            "one>=1; extra == 'first'",
            "core<1.2; extra == 'first'",
            "two<3; python_version >= '3.0' and extra == 'second'",
            "nowhere; python_version < '3.0' and extra == 'second'",
            "absent>=2; extra == 'third'",
            "absent<9; extra == 'third'",
            "tool; extra == 'dev'",
        ],
        "two": ["core>=1.5", "absent>=9"],
    }
    monkeypatch.setattr(software, "_version", versions.get)
    monkeypatch.setattr(software, "_requirements", lambda name: needs.get(name, []))
    monkeypatch.setattr(software, "import_module", lambda name: sys)
    monkeypatch.setattr(software, "_engine", lambda: Finding("engine", ""))
    return versions


def software_found() -> Mapping[str, Finding]:
    return {each.name: each for each in software.software_findings()}


def test_versions_that_do_not_fit_are_named(installed: dict[str, str]) -> None:
    found = software_found()
    assert "extra dev" not in found
    assert found["libraries"] == Finding("libraries", "core 1.5")
    assert found["extra second"] == Finding("extra second", "two 2.0")
    assert found["extra third"].value == "not here: absent"  # once, though two lines ask for it
    assert found["extra first"].state == BROKEN
    assert found["extra first"].value == "core 1.5 does not fit <1.2"
    del installed["one"]  # then the extra is not here, and core may be of any version
    assert software_found()["extra first"] == Finding(
        "extra first", "core 1.5; not here: one", NOTE, "pip install 'clevrhope[first]'"
    )
    installed["core"] = "2.0"
    assert software_found()["libraries"].remedy == "pip install 'core<2,>=1'"
    installed["core"] = "1.4"
    assert software_found()["extra second"].value == "two 2.0 needs core>=1.5, but 1.4 is here"
    del installed["core"]
    assert software_found()["libraries"].value == "core is not installed"


def test_a_library_that_cannot_be_imported_is_broken(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> None:
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(software, "import_module", refuse)
    found = software_found()["libraries"]
    assert found.state == BROKEN
    assert found.value == "core cannot be imported (ImportError: numpy.core.multiarray failed to import)"
    assert found.remedy == "pip install --force-reinstall 'core<2,>=1'"


@pytest.mark.slow
def test_an_engine_of_another_version_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(software, "software_version", lambda: "9.9")
    assert run_command(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (number,) = (k for k, line in enumerate(lines) if "the package is 9.9" in line)
    assert lines[number].startswith("broken")
    assert lines[number + 1].strip().startswith("-> pip install --force-reinstall clevrhope")
    assert lines[-1] == "Something that is installed does not work."


@pytest.mark.slow
def test_blender_missing_is_no_failure_and_blender_broken_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(blender, "find_blender", lambda: None)
    none = findings(capsys)["Blender"]
    assert none["state"] == NOTE
    assert none["remedy"].startswith("clevrhope blender install")
    monkeypatch.undo()

    def unfit() -> None:
        raise RenderError("Blender needs the system library libSM.so.6: apt-get install libsm6")

    monkeypatch.setattr(blender, "check_blender", unfit)
    found = findings(capsys, code=1)["Blender"]
    assert found["value"] == "installed, but it cannot be used"
    assert found["remedy"].endswith("apt-get install libsm6")


@pytest.mark.slow
def test_a_named_interpreter_without_blender_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["doctor", "--blender-python", "/nowhere/python"]) == 1
    assert "-> CLEVRHOPE_BLENDER_PYTHON or --blender-python: /nowhere/python: " in capsys.readouterr().out


def test_gpus_are_those_of_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = SimpleNamespace(
        NVMLError=ValueError,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetMemoryInfo=lambda gpu: SimpleNamespace(total=(gpu + 1) << 33),
        nvmlDeviceGetName=lambda gpu: f"Card {gpu}".encode(),
        nvmlSystemGetDriverVersion=lambda: "570.1",
    )
    monkeypatch.setattr(machine, "load_nvml", lambda: nvml)
    found = {each.name: each for each in machine.machine_findings()}
    assert found["GPUs"].value == "Card 0 (8 GiB), Card 1 (16 GiB); driver 570.1"
    monkeypatch.setattr(machine, "load_nvml", lambda: None)
    monkeypatch.setattr(machine, "gpus_are_possible", lambda: True)
    monkeypatch.setattr(machine, "find_spec", lambda _: None)
    found = {each.name: each for each in machine.machine_findings()}
    assert found["GPUs"].remedy == "pip install nvidia-ml-py; clevrhope devices"
    assert found["torch"].remedy == "pip install 'clevrhope[train]'"


def test_a_full_disk_and_no_browser_are_remarks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: SimpleNamespace(free=5e8))
    monkeypatch.setattr(machine.shutil, "which", lambda _: None)
    found = {each.name: each for each in machine.machine_findings()}
    assert found["disk"].value == f"0.5 GB free in {tmp_path}"
    assert found["disk"].remedy.startswith("free some space")
    assert found["browsers"].state == NOTE
    assert found["browsers"].value.startswith("no known browser was found; ")


def test_a_current_folder_that_is_gone_is_a_remark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    (found,) = (each for each in machine.machine_findings() if each.name == "disk")
    assert found == Finding("disk", "unknown: the current folder is gone", NOTE, "cd to a folder of yours")


def test_torchs_gpus_are_read_from_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        machine, "find_spec", lambda _: SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    )
    file = tmp_path / "version.py"
    for line, words in (("cuda: Optional[str] = '13.2'", "CUDA 13.2"), ("cuda = None", "the CPU")):
        file.write_text(f"__version__ = '2.15.0'\n{line}\nhip: Optional[str] = None\n")
        assert machine._torch().value == f"2.15.0, built for {words}"
    file.unlink()
    assert machine._torch().state == BROKEN


def test_markers_are_read_as_pip_reads_them() -> None:
    both = Requirement("a; python_version >= '3.0' and (extra == 'x' or extra == 'y')")
    assert list(software._extras_of(both)) == ["x", "y"]
    assert software._holds(both, "y")
    assert not software._holds(both)
