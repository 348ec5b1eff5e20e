"""CARETS's six scores: each is over all of its tests, and is what counts by hand give."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from clevrhope.__main__ import commands
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.suite_questions import suite_columns
from clevrhope.dataset.vocab import read_vocab
from clevrhope.metrics.published import papers_tests
from clevrhope.metrics.results import Scored
from clevrhope.metrics.suite_groups import CAPABILITY
from clevrhope.metrics.suites import score_suite

HOP, SPLIT = "rubber_cylinder", "complex_iid"
FIVE = {"REPHRASE-INV", "ORDER-INV", "ONTOLOGICAL-INV", "NEGATION-DIR", "ANTONYM-DIR"}
"""Those of the suite carets; the sixth, VISUAL-INV, is the suite visual's."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("capabilities") / "data"
    build = ["build", "--hop", HOP, "--preset", "small", "--no-render", "--seed", "3", "--out", str(out)]
    for command in ([*build, "--quiet"], ["suite", "carets", str(out), "--quiet"]):
        result = CliRunner().invoke(commands, command)
        assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def pairs(folder: Path) -> QuestionTable:
    return read_table(Layout(folder).suite_h5(HOP, "carets", SPLIT), PAIRS)


def scored(folder: Path, pairs: QuestionTable, path: Path, answer: Callable[[int], str]) -> dict[str, Scored]:
    """The scores by CARETS's tests of a model that answers row k of a suite's file so."""
    place = {"hop": HOP, "split": SPLIT, **suite_columns("carets", pairs.path)}
    rows = [{**place, "question_index": k, "answer": answer(k)} for k in range(len(pairs))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (condition,) = score_suite(folder, "carets", [path], seed=1, bootstrap=0).conditions
    return dict(condition.splits[SPLIT].by(CAPABILITY))


def of_capability(pairs: QuestionTable, name: str) -> np.ndarray:
    """(K,) whether each pair is of one of the tests of a capability."""
    tests = papers_tests("carets")
    return np.array([tests.get(pairs.tests[number]) == name for number in pairs.test[::2]])


def test_an_oracle_has_a_hundred_in_each(folder: Path, pairs: QuestionTable, tmp_path: Path) -> None:
    answers = read_vocab(Layout(folder).suite_vocab(HOP, "carets")).answers()
    found = scored(folder, pairs, tmp_path / "o.jsonl", lambda k: answers[pairs.answers[k]])
    assert {*found} == FIVE
    for name, of in found.items():
        assert [of.mean[measure].value for measure in ("accuracy", "consistency", "both_right")] == [100] * 3
        assert of.mean.n == of_capability(pairs, name).sum()


def test_always_yes_has_what_counts_by_hand_give(folder: Path, pairs: QuestionTable, tmp_path: Path) -> None:
    answers = read_vocab(Layout(folder).suite_vocab(HOP, "carets")).answers()
    is_yes = pairs.answers == answers.index("yes")
    found = scored(folder, pairs, tmp_path / "yes.jsonl", lambda k: "yes")
    for name, of in found.items():
        mine = of_capability(pairs, name)
        originals, partners = is_yes[::2][mine], is_yes[1::2][mine]
        expected = {
            "accuracy": 50 * (originals.mean() + partners.mean()),
            "consistency": 100.0 if name.endswith("INV") else 0.0,
            "both_right": 100 * (originals & partners).mean(),
        }
        assert {measure: of.mean[measure].value for measure in expected} == pytest.approx(expected)


def test_tests_of_this_projects_own_are_in_none(pairs: QuestionTable) -> None:
    own = {"synonyms", "converse", "fewer_more", "extension_color", "choice_color", "opposite_relation"}
    assert own <= {*pairs.tests}
    assert not own & {*papers_tests("carets")}
    assert {*papers_tests("visual").values()} == {"VISUAL-INV"}
    assert papers_tests("holdout") == {}
