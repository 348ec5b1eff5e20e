"""What `clevrhope suite` says of wrong names, folders, templates and entries; the folder stays as it was."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from building import request, tree
from suite_folders import ASKED, ENTRY, HOP

from clevrhope.__main__ import run_command
from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.pipeline import build
from clevrhope.runtime import assets


@pytest.fixture
def folder(plain_suites: Path, tmp_path: Path) -> Path:
    shutil.copytree(plain_suites, tmp_path / "out")
    return tmp_path / "out"


def suite_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command(["suite", *arguments]) in (1, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def unfinished(out: Path) -> list[str]:
    path = Layout(out).manifest
    path.write_text(path.read_text().replace('"complete": true', '"complete": false'))
    return ["rad", str(out)]


BAD_INPUT: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "a near name": (lambda out: ["caret", str(out)], 'no suite "caret" (did you mean "carets"?)'),
    "the name of other questions": (lambda out: ["covr", str(out)], 'a suite cannot be called "covr"'),
    "no name": (lambda out: ["../carets", str(out)], "cannot be the name of a suite; use letters, digits"),
    "no such pair": (
        lambda out: ["rad", str(out), "--hop", "rubber_cylinders"],
        f'no HOP "rubber_cylinders" (did you mean "{HOP}"?); there are: ',
    ),
    "not a dataset": (
        lambda out: ["rad", str(out / "hops")],
        "not a dataset of clevrhope (it has no manifest.json)",
    ),
    "no folder": (lambda out: ["rad", str(out / "none")], "no such folder"),
    "no entries": (lambda out: ["mine", str(out), "--templates", str(out / "hops")], "no JSON files"),
    "unfinished": (unfinished, "not finished yet; run the dataset's build again"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_an_error_in_a_sentence(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_arguments, said = BAD_INPUT[name]
    arguments = make_arguments(folder)
    before = tree(folder)
    assert said in suite_refused(arguments, capsys)
    assert tree(folder) == before


def own_templates(to: Path) -> Path:
    """The package's templates with another phrasing of their own."""
    shutil.copytree(assets.question_templates(), to)
    path = to / "zero_hop.json"
    raw = json.loads(path.read_text())
    raw[0]["text"].append("Exactly how many <Z> <C> <M> <S>s are there?")
    path.write_text(json.dumps(raw))
    return to


@pytest.mark.slow
def test_a_dataset_of_other_templates_needs_the_suite_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = own_templates(tmp_path / "own")
    out = tmp_path / "out"
    build(request(out, **ASKED, templates=own))
    err = suite_refused(["rad", str(out)], capsys)
    assert "the dataset was made with other templates (own, fingerprint " in err
    assert "such as own/suites/rad" in err
    assert run_command(["suite", "rad", str(out), "--templates", str(own / "suites" / "rad"), "--quiet"]) == 0
    assert audit(out, templates=own).ok


def test_a_suite_of_ones_own_does_not_take_the_name_of_another(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps([ENTRY]))
    err = suite_refused(["carets", str(folder), "--templates", str(tmp_path)], capsys)
    assert f"carets is a suite of the package; give the one in {tmp_path} another name" in err


EXIST = [{"type": "exist", "inputs": [0]}]

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "source": ({"source": ["zero_hops 0"]}, 'mine.json[0]: source: unknown family "zero_hops 0"'),
    "family": ({"family": "zero_hop 11"}, 'mine.json[0]: family: unknown family "zero_hop 11"'),
    "change": ({"change": {"<C>": "foils"}}, 'mine.json[0].change.<C>: "foils" is not an expression'),
    "relation": ({"relation": {"is": "<Q>"}}, "mine.json[0].relation: "),
    "when": ({"when": {"answer": ["jes"]}}, 'mine.json[0].when: unknown answer "jes"'),
    "key": ({"sourc": ["all"]}, 'mine.json[0]: unknown key "sourc" (did you mean "source"?); known: test, '),
    "number of a family": ({"source": ["one_hop 9"]}, "one_hop has the families 0 to 5"),
    "text": (
        {"source": ["zero_hop 0"], "then": EXIST, "text": ["Is there a thing?"]},
        'mine.json[0]: text: "Is there a thing?" does not name <Z>',
    ),
    "refuted": ({"relation": "flip"}, "mine.json[0]: the relation does not hold: "),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_entry_is_named_with_file_and_place(
    folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, said = WRONG[name]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.json").write_text(json.dumps([{**ENTRY, **changes}]))
    before = tree(folder)
    assert said in suite_refused(["mine", str(folder), "--templates", str(tmp_path / "mine")], capsys)
    assert {name for name in tree(folder) if not name.startswith(".")} == before.keys()
