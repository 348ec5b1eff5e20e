"""`clevrhope families`: what authors of suites need to know of the templates."""

import json
from pathlib import Path

import pytest

from clevrhope.__main__ import run_command
from clevrhope.errors import TemplateError
from clevrhope.questions import read_templates
from clevrhope.questions.families import family_lines, read_families
from clevrhope.scenes import read_world
from wording import refused

PAGE = Path(__file__).parents[2] / "docs/suites.md"


def test_all_families_of_the_package_are_there_by_the_names_that_entries_use() -> None:
    families = read_templates(read_world()).families
    known = [f"{file.removesuffix('.json')} {place}" for file, place, _ in families]
    assert sorted(family.name for family in read_families()) == sorted(known)


def test_the_page_on_suites_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["families", "one_hop 3"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("one_hop 3: ")
    assert f"```text\n{printed}```" in PAGE.read_text()


def test_some_families_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["families", "zero_hop", "one_hop 0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = [each["name"] for each in found]
    assert names[0] == "one_hop 0"
    assert {name.split()[0] for name in names[1:]} == {"zero_hop"}
    assert found[0]["params"][4] == ["<R>", "Relation"]
    assert found[0]["nodes"][2] == "relate_filter_count(1; <R>, <Z2>, <C2>, <M2>, <S2>)"


def test_templates_of_ones_own(tmp_path: Path) -> None:
    template = {"text": ["Is it there?"], "nodes": [{"type": "scene", "inputs": []}], "params": []}
    (tmp_path / "mine.json").write_text(json.dumps([template]))
    (family,) = read_families(tmp_path)
    assert family_lines([family]) == ["mine 0: Is it there?", "  parameters: none", "  nodes: 0 scene()"]
    for name in (
        "mien",
        "mine 1",
    ):
        with refused(TemplateError):
            read_families(tmp_path, [name])
    (tmp_path / "mine.json").write_text(json.dumps([{**template, "nodes": 3}]))
    with refused(TemplateError):
        read_families(tmp_path)
