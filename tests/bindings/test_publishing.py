"""Metadata, citation and documentation agree with each other, and Blender's processes with its extra."""

import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from clevrhope.runtime.blender import BLENDER_SERIES
from clevrhope.version import DATASET_VERSION

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]


def pythons() -> list[str]:
    named = (each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each)
    return sorted(named, key=lambda each: int(each.split(".")[1]))


def test_the_classifiers_begin_with_the_first_python_that_is_required() -> None:
    assert PROJECT["requires-python"] == f">={pythons()[0]}"
    assert pythons() == ["3.11", "3.12", "3.13", "3.14"]


def test_click_is_one_that_has_what_the_command_line_uses() -> None:
    """NoArgsIsHelpError and a context for `get_missing_message` are new in 8.2."""
    (click,) = (each for each in map(Requirement, PROJECT["dependencies"]) if each.name == "click")
    assert "8.1.8" not in click.specifier
    assert "8.2.0" in click.specifier


def test_the_citation_names_this_version_and_the_paper() -> None:
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    required = {"cff-version", "message", "title", "authors"}
    assert required <= set(content) <= required | {"type", "version", "license", "keywords", "references"}
    assert content["cff-version"] == "1.2.0"
    assert content["version"] == VERSION
    assert content["license"] == PROJECT["license"]
    assert content["keywords"] == PROJECT["keywords"]
    (paper,) = content["references"]
    assert {"type", "title", "authors"} <= set(paper)
    names = ["Berlot-Attwell", "Agrawal", "Carrell", "Sharma", "Saphra"]
    assert [each["family-names"] for each in paper["authors"]] == names
    assert paper["title"] in (ROOT / "README.md").read_text("utf-8").replace("\n", " ")


def test_blenders_own_environment_gets_what_the_extra_has() -> None:
    (major, minor), marker = BLENDER_SERIES, "; python_version == '3.11'"
    extra = PROJECT["optional-dependencies"]["render"]
    assert extra[:2] == [f"bpy>={major}.{minor},<{major}.{minor + 1}{marker}", f"numpy<2{marker}"]
    of_blender = [each.removesuffix(marker) for each in extra[:2]]
    page = (ROOT / "docs/installation.md").read_text("utf-8")
    assert " ".join(f"'{each}'" for each in (*of_blender, "pillow>=10")) in page
    assert "pillow>=10" in PROJECT["dependencies"]


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
    of_blender = {"bpy", "numpy", "pillow"}
    extras = PROJECT["optional-dependencies"].values()
    needed = [*PROJECT["dependencies"], *chain.from_iterable(extras)]
    wanted = {Requirement(each).name for each in needed} - of_blender
    assert {"h5py", "click", "torch"} <= wanted
    modules = [each.replace("-", "_") for each in wanted]
    command = [sys.executable, "-c", WITHOUT, *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_documentation_names_the_package_where_it_names_an_extra() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    texts = {page: page.read_text("utf-8") for page in pages}
    assert [page.name for page, text in texts.items() if re.search(r"'\.\[(\w+)\]'", text)] == []
    lists = [extras for text in texts.values() for extras in re.findall(r"clevrhope\[([^\]]+)\]", text)]
    assert any("," in extras for extras in lists)
    named = {extra for extras in lists for extra in extras.split(",")}
    assert named <= set(PROJECT["optional-dependencies"])


def test_the_page_on_versions_names_the_dataset_version_and_the_modules_that_say_what_is_public() -> None:
    package = ROOT / "python" / "clevrhope"
    files = {path.relative_to(package): path.read_text("utf-8") for path in package.rglob("*.py")}
    saying = {path for path, text in files.items() if re.search(r"^__all__ = ", text, re.MULTILINE)}
    modules = {path.as_posix().removesuffix("/__init__.py").removesuffix(".py") for path in saying}
    page = (ROOT / "docs" / "versions.md").read_text("utf-8")
    (listed,) = re.findall(r"modules that have one \(([^)]*)\)", page)
    assert set(re.findall(r"`(\w+)`", listed)) == modules - {"__init__"}
    assert f"this release makes version {DATASET_VERSION}." in page


def test_actions_of_others_are_pinned_and_jobs_are_bounded() -> None:
    folder = ROOT / ".github"
    workflows = [yaml.safe_load(path.read_text("utf-8")) for path in folder.glob("workflows/*.yml")]
    texts = [path.read_text("utf-8") for path in folder.rglob("*.yml")]
    used = [name for text in texts for name in re.findall(r"uses: (.+)", text)]
    own = [name for name in used if name.startswith("$/")]
    assert all((ROOT / name[2:]).exists() for name in own)
    pinned = [name for name in used if re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", name)]
    assert set(used) == set(own + pinned)
    assert len(set(pinned)) == len({name.partition("@")[0] for name in pinned})
    for workflow in workflows:
        assert workflow["permissions"] == {}
        jobs = {name: job for name, job in workflow["jobs"].items() if "uses" not in job}
        assert [name for name, job in jobs.items() if "timeout-minutes" not in job] == []
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert len(set(re.findall(r"maturin==[\d.]+", "".join([makefile, *texts])))) == 1
