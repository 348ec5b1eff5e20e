"""Workflow files, citation and metadata agree with each other, as far as that shows without running them."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from clevrhope.runtime.blender import BLENDER_PYTHON, DEBIAN_PACKAGES
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
        assert ("runs-on" in job) != ("uses" in job)
        yield from job.get("steps", ())


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
                ["sudo", "apt-get", "update", "&&"],
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


def test_nothing_is_published_without_the_tests() -> None:
    jobs = read(ROOT / ".github/workflows/wheels.yml")["jobs"]
    assert "tests" in jobs["publish"]["needs"]
    assert jobs["tests"] == {"uses": "./.github/workflows/test.yml"}
    # PyYAML reads the key "on" as true.
    assert "workflow_call" in read(ROOT / ".github/workflows/test.yml")[True]


def test_what_is_published_is_there_and_the_program_that_publishes_it_is_fixed() -> None:
    uses = [step for step in steps(ROOT / ".github/workflows/wheels.yml") if "uses" in step]
    uploads = [step["with"] for step in uses if "upload-artifact" in step["uses"]]
    assert len(uploads) == 3
    assert all(each["if-no-files-found"] == "error" for each in uploads)
    (publisher,) = (step["uses"] for step in uses if "pypi-publish" in step["uses"])
    assert re.fullmatch(r"[0-9a-f]{40}", publisher.partition("@")[2])


def test_blenders_system_libraries_are_installed_before_the_tests() -> None:
    jobs = read(ROOT / ".github/workflows/test.yml")["jobs"]
    for name in ("checks", "slow-checks"):
        install, tests, *_ = (step["run"] for step in jobs[name]["steps"] if "run" in step)
        assert tests.startswith("make test")
        packages = shlex.split(install.partition("install --yes ")[2])
        assert packages == sorted(DEBIAN_PACKAGES.values())


def test_click_is_one_that_has_what_the_command_line_uses() -> None:
    """NoArgsIsHelpError and a context for `get_missing_message` are new in 8.2."""
    (click,) = (each for each in map(Requirement, PROJECT["dependencies"]) if each.name == "click")
    assert "8.1.8" not in click.specifier
    assert "8.2.0" in click.specifier


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
    *of_blender, pillow = REQUIREMENTS
    assert [f"{each}{marker}" for each in of_blender] == extra[:2]
    assert pillow in PROJECT["dependencies"]


WITHOUT = """
import sys
from importlib.abc import MetaPathFinder


class Refuse(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in sys.argv[1:]:
            raise ModuleNotFoundError(f"no module {name}")


sys.meta_path.insert(0, Refuse())
from clevrhope.images.blender import scene, worker
"""


@pytest.mark.slow
def test_blenders_processes_import_nothing_else() -> None:
    pytest.importorskip("bpy")
    of_blender = {Requirement(each).name for each in REQUIREMENTS}
    extras = PROJECT["optional-dependencies"].values()
    wanted = {
        Requirement(each).name for each in [*PROJECT["dependencies"], *chain.from_iterable(extras)]
    } - of_blender
    assert {"h5py", "click", "torch"} <= wanted
    modules = [each.replace("-", "_") for each in wanted]
    command = [sys.executable, "-c", WITHOUT, *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_documentation_names_the_package_where_it_names_an_extra() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    found = [
        (page.name, extra)
        for page in pages
        for extra in re.findall(r"'\.\[(\w+)\]'", page.read_text("utf-8"))
    ]
    assert found == []
    lists = [
        extras for page in pages for extras in re.findall(r"clevrhope\[([^\]]+)\]", page.read_text("utf-8"))
    ]
    assert any("," in extras for extras in lists)
    named = {extra for extras in lists for extra in extras.split(",")}
    assert named <= set(PROJECT["optional-dependencies"])
