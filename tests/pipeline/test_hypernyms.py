"""Hypernyms of one's own: tests along their levels, and tables that cannot be used."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clevrhope.audit import audit
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import TemplateError
from clevrhope.metrics.suite_groups import STEPS, steps
from clevrhope.pipeline.suites import make_suite
from clevrhope.questions.hypernyms import read_hypernyms
from wording import check_refused

HOP = "rubber_cylinder"
TESTS = ["ontology_solid", "ontology_solid_thing"]


def table(folder: Path, content: Any) -> Path:
    """Writes a suite that is a table of hypernyms alone; returns its folder."""
    folder.mkdir(exist_ok=True)
    (folder / "hypernyms.json").write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def paired(plain_suites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that gets the pairs of a suite."""
    return Path(shutil.copytree(plain_suites, tmp_path_factory.mktemp("hypernyms") / "data"))


@pytest.fixture(scope="module")
def suite(paired: Path) -> Path:
    """The folder of a suite, of which the dataset has the pairs."""
    own = table(paired.with_name("levels"), {"cube": "solid", "cylinder": "solid", "solid": "thing"})
    make_suite(paired, "levels", suite_files=own, origin="search", per_cell=8)
    return own


def texts(folder: Path, split: str) -> list[tuple[str, str, str, str]]:
    """Test, and for original and partner the question and the answer."""
    rows = json.loads(Layout(folder).suite_json(HOP, "levels", split).read_text())["questions"]
    assert all(a["test"] == b["test"] for a, b in zip(rows[::2], rows[1::2], strict=True))
    return [
        (a["test"], a["question"], b["question"], a["answer"] if a["answer"] == b["answer"] else "differ")
        for a, b in zip(rows[::2], rows[1::2], strict=True)
    ]


def test_pairs_ask_from_a_shape_to_its_hypernym_and_on_to_thing(paired: Path, suite: Path) -> None:
    pairs = texts(paired, "complex_iid")
    assert {test for test, *_ in pairs} == {*TESTS}
    answers: dict[str, set[str]] = {test: set() for test in TESTS}
    sides: dict[str, set[bool]] = {test: set() for test in TESTS}
    for test, original, partner, answer in pairs:
        has_word = [" solid" in text.replace("?", "") for text in (original, partner)]
        assert sorted(has_word) == [False, True]
        other = (original, partner)[has_word[0]]
        if " the " not in other:  # it describes one object alone
            assert any(word in other for word in ("cube", "block", "cylinder")) == (test == TESTS[0])
        answers[test].add(answer)
        sides[test].add(has_word[0])
    assert answers == {test: {"yes", "no"} for test in TESTS}
    assert sides == {test: {True, False} for test in TESTS}


def test_both_directions_are_told_apart(paired: Path, suite: Path) -> None:
    table = read_table(Layout(paired).suite_h5(HOP, "levels", "complex_iid"), PAIRS)
    directions = [STEPS[number] for number in steps(table).tolist()]
    for (test, original, _, _), direction in zip(texts(paired, "complex_iid"), directions, strict=True):
        begins_with_hypernym = " solid" in original
        is_up = begins_with_hypernym == (test == TESTS[1])
        assert direction == STEPS[not is_up]


def test_no_pair_mentions_the_held_out_pair_where_it_is_held_out(paired: Path, suite: Path) -> None:
    """Rubber solids would be rubber cylinders, too."""
    vocab = read_vocab(Layout(paired).suite_vocab(HOP, "levels"))
    pairs: QuestionTable = read_table(Layout(paired).suite_h5(HOP, "levels", "complex_iid"), PAIRS)
    rubber, cylinder = (
        vocab.programs().index(f"filter_{of}") for of in ("material[rubber]", "shape[cylinder]")
    )
    # In zero-hop questions, all filters are of the object that is looked for.
    of_one = ~np.isin(pairs.programs, [vocab.programs().index("unique")]).any(axis=1)
    both = np.isin(pairs.programs, rubber).any(axis=1) & np.isin(pairs.programs, cylinder).any(axis=1)
    assert of_one.any()
    assert not (both & of_one).any()
    assert {pair[0] for pair in texts(paired, "complex_ood")} == {*TESTS}


def test_the_audit_proves_the_pairs(paired: Path, suite: Path) -> None:
    report = audit(paired, templates=suite)
    assert report.ok
    assert not any("were not read" in note for check in report.checks for note in check.notes)


def test_the_shapes_of_a_hypernym_may_be_levels_below_it(tmp_path: Path) -> None:
    of = {"cube": "solid", "prism": "solid", "solid": "body", "sphere": "body", "body": "thing"}
    found = read_hypernyms(table(tmp_path, of) / "hypernyms.json")
    assert found == {"solid": ("cube", "prism"), "body": ("cube", "prism", "sphere")}


@pytest.mark.parametrize(
    "content",
    [
        {"cube": "solid", "solid": "body", "body": "solid"},
        {"cube": "cube"},
        {"cubbe": "solid", "cylinder": "solid"},
        {"red": "solid", "cylinder": "solid"},
        {"cube": "block", "cylinder": "block"},
        {"cube": "sphere", "cylinder": "sphere"},
        {"cube": "solid"},
        {"cube": "solid", "cylinder": "solid", "sphere": "solid"},
        {"cube": "Solid body", "cylinder": "Solid body"},
        {"cube": ["solid"]},
        {"cube": "solid", "cylinder": "solid", "sphre": "thing"},
        ["cube"],
        {},
    ],
    ids=str,
)
def test_a_table_that_cannot_be_used_is_an_error(content: Any, plain_suites: Path, tmp_path: Path) -> None:
    own = table(tmp_path / "levels", content)
    check_refused(TemplateError, make_suite, plain_suites, "levels", suite_files=own)
