"""CARETS's six scores and its tables 3, 4 and 13 to 17: all are what counts by hand give."""

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
from clevrhope.metrics.results import Results, Scored
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.metrics.scores_json import scores_json
from clevrhope.metrics.suite_groups import CAPABILITY, CHOICES, CONNECTIVE, COVERAGE
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


Answer = Callable[[int], str]
"""What a model answers to row k of a suite's file."""


def results(folder: Path, pairs: QuestionTable, path: Path, **models: Answer) -> Results:
    """The scores of models, each a run of its name."""
    place = {"hop": HOP, "split": SPLIT, **suite_columns("carets", pairs.path)}
    rows = [
        {**place, "run": name, "question_index": k, "answer": answer(k)}
        for name, answer in models.items()
        for k in range(len(pairs))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return score_suite(folder, "carets", [path], seed=1, bootstrap=0)


def scored(
    folder: Path, pairs: QuestionTable, path: Path, answer: Answer, by: str = CAPABILITY
) -> dict[str, Scored]:
    """The scores of a model by CARETS's tests, or by another breakdown."""
    (condition,) = results(folder, pairs, path, model=answer).conditions
    return dict(condition.splits[SPLIT].by(by))


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


def test_table_3_has_conjunctions_and_disjunctions(
    folder: Path, pairs: QuestionTable, tmp_path: Path
) -> None:
    """A model that replies "red" to every fifth question, and else yes to originals and no to partners."""
    answers = read_vocab(Layout(folder).suite_vocab(HOP, "carets")).answers()
    oracle = scored(folder, pairs, tmp_path / "o.jsonl", lambda k: answers[pairs.answers[k]], CONNECTIVE)
    tests = {"conjunction": "order_and", "disjunction": "order_or"}
    assert [*oracle] == [*tests]

    def reply(k: int) -> str:
        return "red" if k % 5 == 0 else ("yes", "no")[k % 2]

    found = scored(folder, pairs, tmp_path / "r.jsonl", reply, CONNECTIVE)
    for name, test in tests.items():
        rows = [2 * k for k, number in enumerate(pairs.test[::2].tolist()) if pairs.tests[number] == test]
        right = [answers[pairs.answers[row]] for row in rows]
        assert right.count("yes") + right.count("no") == len(rows) > 0
        of = oracle[name].mean
        assert (of.n, of["both_right"].value, of["other"].value) == (len(rows), 100.0, 0.0)
        assert of["yes"].value == pytest.approx(100 * right.count("yes") / len(rows))
        of = found[name].mean
        replies = [reply(k) for row in rows for k in (row, row + 1)]
        for measure, answer in (("yes", "yes"), ("no", "no"), ("other", "red")):
            assert of[measure].value == pytest.approx(100 * replies.count(answer) / len(replies))
        # Both questions of a pair have one answer, and this model never gives them the same.
        assert (of["both_right"].value, of["consistency"].value) == (0.0, 0.0)


def test_table_4_has_questions_for_yes_or_no_and_choices_of_two_and_three(
    folder: Path, pairs: QuestionTable, tmp_path: Path
) -> None:
    """An oracle, and a model that always says red."""
    answers = read_vocab(Layout(folder).suite_vocab(HOP, "carets")).answers()
    tests = np.asarray(pairs.tests)[pairs.test]  # (2K,)
    of_paper = of_capability(pairs, "REPHRASE-INV") | of_capability(pairs, "ORDER-INV")
    rows = np.arange(len(pairs))[::2][of_paper]
    right = np.asarray(answers)[pairs.answers]
    kinds = {
        "binary": [row for row in rows if right[row] in ("yes", "no")],
        "2-choice": [row for row in rows if "_choice2_" in tests[row]],
        "3-choice": [row for row in rows if "_choice3_" in tests[row]],
    }
    kinds["multi-choice"] = [*kinds["2-choice"], *kinds["3-choice"]]

    oracle = scored(folder, pairs, tmp_path / "o.jsonl", lambda k: str(right[k]), CHOICES)
    assert {name: of.mean.n for name, of in oracle.items()} == {name: len(of) for name, of in kinds.items()}
    assert all(of.mean["both_right"].value == 100.0 and of.mean.n for of in oracle.values())
    red = scored(folder, pairs, tmp_path / "r.jsonl", lambda k: "red", CHOICES)
    for name, of_kind in kinds.items():
        is_red = [right[row] == "red" for row in of_kind]
        expected = {"accuracy": 100 * np.mean(is_red), "both_right": 100 * np.mean(is_red)}
        assert {measure: red[name].mean[measure].value for measure in expected} == pytest.approx(expected)
        # A constant answer from the vocabulary is always consistent with itself.
        assert red[name].mean["consistency"].value == 100.0


def test_coverage_is_the_share_of_what_another_run_has_right(
    folder: Path, pairs: QuestionTable, tmp_path: Path
) -> None:
    right = np.asarray(read_vocab(Layout(folder).suite_vocab(HOP, "carets")).answers())[pairs.answers]
    models: dict[str, Answer] = {
        "oracle": lambda k: str(right[k]),
        "yes": lambda k: "yes",
        "third": lambda k: str(right[k]) if k % 3 == 0 else "<UNK>",
    }
    scores = results(folder, pairs, tmp_path / "three.jsonl", **models)
    found = scores.condition(HOP).splits[SPLIT].by(COVERAGE)
    assert {*found} == FIVE
    for name, of in found.items():
        mine = np.repeat(of_capability(pairs, name), 2)
        has = {
            model: np.asarray([answer(k) for k in range(len(pairs))])[mine] == right[mine]
            for model, answer in models.items()
        }
        by_model = dict(zip(scores.condition(HOP).runs, of.runs, strict=True))
        for one in models:
            for other in models:
                measure = by_model[one][other]
                if one == other:
                    assert measure.value is None
                else:
                    both = (has[one] & has[other]).sum()
                    assert measure.value == pytest.approx(100 * both / has[other].sum())
                    assert measure.n == has[other].sum()
    lines = list(scores_lines(scores))
    assert sum(line.startswith("  coverage, ") for line in lines) == 5
    (condition,) = scores_json(scores)["conditions"]
    content = condition["splits"][SPLIT]
    assert {each["name"] for each in content["coverage"]} == FIVE
    assert [each["name"] for each in content["connective"]] == ["conjunction", "disjunction"]
    assert {*content["parts"]} >= {CAPABILITY, CHOICES}
    assert not {COVERAGE, CONNECTIVE} & {*content["parts"]}


def test_tests_of_this_projects_own_are_in_none(pairs: QuestionTable) -> None:
    own = {"synonyms", "converse", "fewer_more", "extension_color", "choice_color", "opposite_relation"}
    assert own <= {*pairs.tests}
    assert not own & {*papers_tests("carets")}
    assert {*papers_tests("visual").values()} == {"VISUAL-INV"}
    assert papers_tests("holdout") == {}
