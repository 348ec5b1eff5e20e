"""`clevrhope doctor`: what it finds here, and what it says where something is missing or broken."""

import json
import subprocess
import sys
from typing import Any

import pytest
from building import Cli

from clevrhope import doctor
from clevrhope.doctor import Finding
from clevrhope.errors import RenderError


def findings(cli: Cli, *, code: int = 0) -> dict[str, dict[str, Any]]:
    said = json.loads(cli("doctor", "--json", code=code).out)
    assert said["works"] == (code == 0)
    return {each.pop("name"): each for each in said["findings"]}


def test_what_is_installed_here_works_and_nothing_heavy_is_loaded() -> None:
    code = """
import sys
from clevrhope.__main__ import run_command
assert run_command(["doctor", "--json"]) == 0
heavy = {"torch", "bpy", "matplotlib", "scipy", "pyarrow", "ray", "transformers", "skimage"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    found = {each["name"]: each for each in json.loads(said)["findings"]}
    assert found["Python"]["value"].endswith(sys.executable)
    assert found["engine"]["state"] == "ok"
    assert "numpy 1." in found["libraries"]["value"]
    assert found["Blender"]["value"].endswith(sys.executable)
    assert {"cores", "memory", "extra train", "extra render"} <= set(found)
    assert all(bool(each["remedy"]) == (each["state"] != "ok") for each in found.values())


NEEDS = {
    "clevrhope": [
        "core>=1,<2",
        "one>=1; extra == 'first'",
        "core<1.2; extra == 'first'",
        "two<3; python_version >= '3.0' and (extra == 'second' or extra == 'more')",
        "nowhere; python_version < '3.0' and extra == 'second'",
        "absent>=2; extra == 'third'",
        "absent<9; extra == 'third'",
        "tool; extra == 'dev'",
    ]
}


@pytest.mark.parametrize(
    ("versions", "name", "state", "value"),
    [
        ({}, "libraries", "ok", "core 1.5"),
        ({}, "extra second", "ok", "two 2.0"),
        ({}, "extra more", "ok", "two 2.0"),
        ({}, "extra third", "note", "not here: absent"),  # once, though two lines ask for it
        ({}, "extra first", "broken", "core 1.5 does not fit <1.2"),
        ({"one": None}, "extra first", "note", "core 1.5; not here: one"),  # core may be of any version then
        ({"core": "2.0"}, "libraries", "broken", "core 2.0 does not fit <2,>=1"),
        ({"core": None}, "libraries", "broken", "not here: core"),
    ],
)
def test_versions_that_do_not_fit_are_named(
    versions: dict[str, str | None], name: str, state: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"core": "1.5", "one": "1.0", "two": "2.0", **versions}
    monkeypatch.setattr(doctor, "_version", there.get)
    monkeypatch.setattr(doctor, "_requirements", lambda name: NEEDS.get(name, []))
    monkeypatch.setattr(doctor, "import_module", lambda name: sys)
    monkeypatch.setattr(doctor, "_engine", lambda: Finding("engine", ""))
    found = {each.name: each for each in doctor.examine()}
    assert "extra dev" not in found
    assert (found[name].state, found[name].value) == (state, value)
    if name.startswith("extra") and state != "ok":
        assert found[name].remedy == f"pip install 'clevrhope[{name.partition(' ')[2]}]'"


@pytest.mark.slow
def test_an_engine_of_another_version_and_a_library_that_cannot_be_imported_are_broken(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    def refuse(name: str) -> None:
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(doctor, "software_version", lambda: "9.9")
    assert "the package is 9.9" in findings(cli, code=1)["engine"]["value"]
    monkeypatch.setattr(doctor, "import_module", refuse)
    lines = cli("doctor", code=1).out.splitlines()
    for name in ("engine", "libraries"):
        (number,) = (k for k, line in enumerate(lines) if line.split()[1] == name)
        assert lines[number].startswith("broken")
        assert "numpy.core.multiarray failed to import" in lines[number]
        assert "--force-reinstall clevrhope" in lines[number + 1]


@pytest.mark.slow
def test_blender_missing_is_no_failure_and_blender_broken_is(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    def unfit() -> None:
        raise RenderError("Blender needs the system library libSM.so.6: apt-get install libsm6")

    with monkeypatch.context() as missing:
        missing.setattr(doctor, "find_blender", lambda: None)
        none = findings(cli)["Blender"]
    assert none["state"] == "note"
    assert none["remedy"].startswith("--blender-python PATH")
    monkeypatch.setattr(doctor, "check_blender", unfit)
    assert findings(cli, code=1)["Blender"]["remedy"].endswith("apt-get install libsm6")
    said = cli("doctor", "--blender-python", "/nowhere/python", code=1).out
    assert "-> CLEVRHOPE_BLENDER_PYTHON or --blender-python: /nowhere/python: " in said
