"""Workflow files, citation and metadata agree with each other, as far as that shows without running them."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clevrhope.runtime.blender import BLENDER_PYTHON
from clevrhope.runtime.blender_environment import REQUIREMENTS

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]


def read(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(content, dict)
    return content


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in read(path)["jobs"].values():
        assert job["runs-on"]
        yield from job["steps"]


def pythons() -> list[str]:
    named = (each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each)
    return sorted(named, key=lambda each: int(each.split(".")[1]))


def test_the_classifiers_begin_with_the_first_python_that_is_required() -> None:
    assert PROJECT["requires-python"] == f">={pythons()[0]}"
    assert pythons() == ["3.11", "3.12", "3.13", "3.14"]


def test_the_wheel_is_tested_on_every_system_and_python() -> None:
    matrix = read(ROOT / ".github/workflows/test.yml")["jobs"]["wheel"]["strategy"]["matrix"]
    assert matrix["python"] == pythons()
    assert [each.split("-")[0] for each in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert {*matrix["numpy"], *(each["numpy"] for each in matrix["include"])} == {"1", "2"}
    systems = {
        each.split(" :: ")[-1] for each in PROJECT["classifiers"] if each.startswith("Operating System")
    }
    assert systems == {"Linux", "MacOS", "Windows"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_runs_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))
    n_commands = 0
    for step in steps(path):
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@\S+", step["uses"])
            continue
        words = shlex.split(step["run"])
        n_commands += 1
        if words[0] == "make":
            assert set(words[1:]) <= targets, step
        elif words[0] == "python" and words[1] != "-m":
            assert (ROOT / words[1]).is_file(), step
        else:
            assert words[:4] in (
                ["python", "-m", "pip", "install"],
                ["git", "config", "--global", "core.symlinks"],
                ["maturin", "build", "--release", "--locked"],
            ), step
    assert n_commands > 1


def test_only_the_job_that_publishes_may_ask_for_a_token() -> None:
    for path in WORKFLOWS:
        content = read(path)
        assert content["permissions"] == {"contents": "read"}
        asking = [name for name, job in content["jobs"].items() if "permissions" in job]
        assert asking == (["publish"] if path.name == "wheels.yml" else [])
    publish = read(ROOT / ".github/workflows/wheels.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert set(publish["needs"]) == set(read(ROOT / ".github/workflows/wheels.yml")["jobs"]) - {"publish"}


def test_the_citation_names_this_version_and_the_paper() -> None:
    content = read(ROOT / "CITATION.cff")
    required = {"cff-version", "message", "title", "authors"}
    assert required <= set(content) <= required | {"type", "version", "license", "keywords", "references"}
    assert content["cff-version"] == "1.2.0"
    assert content["version"] == VERSION
    assert content["license"] == PROJECT["license"]
    assert content["keywords"] == PROJECT["keywords"]
    (paper,) = content["references"]
    assert {"type", "title", "authors"} <= set(paper)
    assert [each["family-names"] for each in paper["authors"]] == [
        "Berlot-Attwell",
        "Agrawal",
        "Carrell",
        "Sharma",
        "Saphra",
    ]
    assert paper["title"] in (ROOT / "README.md").read_text("utf-8").replace("\n", " ")


def test_blenders_own_environment_gets_what_the_extra_has() -> None:
    marker = f"; python_version == '{BLENDER_PYTHON[0]}.{BLENDER_PYTHON[1]}'"
    extra = PROJECT["optional-dependencies"]["render"]
    assert [f"{each}{marker}" for each in REQUIREMENTS] == extra[:2]


def test_documentation_names_the_package_where_it_names_an_extra() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    found = [
        (page.name, extra)
        for page in pages
        for extra in re.findall(r"'\.\[(\w+)\]'", page.read_text("utf-8"))
    ]
    assert found == []
    named = {
        extra for page in pages for extra in re.findall(r"'clevrhope\[(\w+)\]'", page.read_text("utf-8"))
    }
    assert named
    assert named <= set(PROJECT["optional-dependencies"])
