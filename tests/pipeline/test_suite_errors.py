"""What `clevrhope suite` says of wrong names, folders, templates and entries; the folder stays as it was."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from building import Cli, request, tree
from suite_folders import ASKED, ENTRY, own_suite

from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.pipeline import build
from clevrhope.pipeline.suites import make_suite
from clevrhope.runtime import assets
from wording import check_words


@pytest.fixture
def suite_refused(cli: Cli) -> Callable[..., None]:
    """Runs `clevrhope suite`, which has to end with a code and one sentence."""

    def run(*words: object, code: int = 2) -> None:
        seen = cli("suite", *words, code=code)
        assert seen.out == ""
        check_words(seen.err)

    return run


@pytest.mark.parametrize(
    "words",
    [
        "caret {0}",
        "covr {0}",
        "../carets {0}",
        "rad {0} --hop rubber_cylinders",
        "mine {0} --templates {0}/hops",
        "carets {0} --visual 3",
    ],
)
def test_bad_input_is_an_error_in_a_sentence(
    words: str, plain_copy: Path, suite_refused: Callable[..., None]
) -> None:
    before = tree(plain_copy)
    suite_refused(*words.format(plain_copy).split())
    assert tree(plain_copy) == before


def test_a_folder_that_is_not_finished_gets_no_suites(
    plain_copy: Path, suite_refused: Callable[..., None]
) -> None:
    path = Layout(plain_copy).manifest
    path.write_text(path.read_text().replace('"complete": true', '"complete": false'))
    suite_refused("rad", plain_copy, code=1)


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
    tmp_path: Path, suite_refused: Callable[..., None]
) -> None:
    own = own_templates(tmp_path / "own")
    out = tmp_path / "out"
    build(request(out, **ASKED, templates=own))
    suite_refused("rad", out)
    make_suite(out, "rad", suite_files=own / "suites" / "rad")
    assert audit(out, templates=own).ok


def test_a_suite_of_ones_own_does_not_take_the_name_of_another(
    plain_copy: Path, tmp_path: Path, suite_refused: Callable[..., None]
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps([ENTRY]))
    suite_refused("carets", plain_copy, "--templates", tmp_path)


WRONG: dict[str, dict[str, Any]] = {
    "source": {"source": ["zero_hops 0"]},
    "family": {"family": "zero_hop 11"},
    "change": {"change": {"<C>": "foils"}},
    "relation": {"relation": {"is": "<Q>"}},
    "when": {"when": {"answer": ["jes"]}},
    "key": {"sourc": ["all"]},
    "number of a family": {"source": ["one_hop 9"]},
    "text": {
        "source": ["zero_hop 0"],
        "then": [{"type": "exist", "inputs": [0]}],
        "text": ["Is there a thing?"],
    },
    "refuted": {"relation": "flip"},
}


@pytest.mark.parametrize("changes", WRONG.values(), ids=WRONG)
def test_a_wrong_entry_is_named_with_file_and_place(
    changes: dict[str, Any], plain_copy: Path, tmp_path: Path, suite_refused: Callable[..., None]
) -> None:
    before = tree(plain_copy)
    suite_refused("mine", plain_copy, "--templates", own_suite(tmp_path, {**ENTRY, **changes}))
    assert {name for name in tree(plain_copy) if not name.startswith(".")} == before.keys()
