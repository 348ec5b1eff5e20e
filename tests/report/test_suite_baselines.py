"""Baselines, requests and replies for suites of paired tests."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Make

from clevrhope.__main__ import run_command
from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.metrics.results import SplitScores
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline.suites import make_suite

HOP = "rubber_cylinder"
SPLITS = ("complex_iid", "complex_ood")


@pytest.fixture
def folder(make: Make, tmp_path: Path) -> Path:
    make(tmp_path / "data", sizes={"train": 300, "complex_iid": 120, "complex_ood": 30})
    make_suite(tmp_path / "data", "carets")
    make_suite(tmp_path / "data", "rad")
    return tmp_path / "data"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def scored(folder: Path, suite: str, *files: Path) -> dict[str, SplitScores]:
    (condition,) = score_suite(folder, suite, files, seed=1, bootstrap=0).conditions
    return dict(condition.splits)


@pytest.mark.parametrize("suite", ["carets", "rad"])
def test_baselines_answer_both_questions_of_every_pair(
    folder: Path, tmp_path: Path, suite: str, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.jsonl"
    found = {}
    learning = ("majority", "majority_by_family")
    for kind in ("symbolic", "always_no", "coin", "majority_by_value", *learning):
        command = ["baseline", str(folder), "--kind", kind, "--suite", suite, "--out", str(out)]
        assert run_command(command) == 0
        assert capfd.readouterr().out.rstrip().endswith(f"score {folder} {out} --suite {suite}")
        found[kind] = scored(folder, suite, out)
        assert {row["suite"] for row in lines(out)} == {suite}
        assert ("train_size" in lines(out)[0]) == (kind in learning)
    for split in SPLITS:
        assert found["symbolic"][split].mean["both_right"].value == 100.0
        assert all(each[split].n_missing == 0 for each in found.values())
        guessed = found["majority_by_value"][split].by("test")
        balanced = [test for test in guessed if test == "exactly" or test.startswith(("is_there", "verify_"))]
        assert suite == "rad" or not balanced
        assert all(guessed[test].mean["partner_accuracy"].value == 50.0 for test in balanced)
        coin = found["coin"][split].mean["partner_accuracy"].value
        assert coin is not None
        assert 20.0 < coin < 80.0
        same = found["always_no"][split].by("test")
        assert all(
            same[test].mean["consistency"].value == 100.0 for test in same if test in ("rephrase", "order")
        )
    command = ["baseline", str(folder), "--kind", "always_no", "--suite", "mine", "--out", str(out)]
    assert run_command(command) == 2
    assert f'no suite "mine"; to make it: clevrhope suite mine {folder}' in capfd.readouterr().err


def test_guesses_by_value_are_about_suites_alone(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["baseline", str(folder), "--kind", "majority_by_value", "--out", "p.jsonl"]) == 2
    assert (
        "--kind majority_by_value is about paired tests; name a suite with --suite" in capfd.readouterr().err
    )


@pytest.mark.slow
def test_requests_and_replies_there_and_back(folder: Path, tmp_path: Path) -> None:
    files = []
    for name, more in (("splits", []), ("suite", ["--suite", "carets"])):
        requests, replies = tmp_path / f"{name}.jsonl", tmp_path / f"{name}_replies.jsonl"
        command = ["ask", str(folder), "--split", ",".join(SPLITS), *more, "--out", str(requests)]
        assert run_command(command) == 0
        right = {}
        for split in SPLITS:
            layout = Layout(folder)
            of_suite = layout.suite_json(HOP, "carets", split)
            path = of_suite if more else layout.questions_json(HOP, split)
            for row in map(json.loads, read_row_lines(path)):
                right[split, row["question_index"]] = row
        rows = lines(requests)
        for row in rows:
            own = right[row["split"], row["question_index"]]
            assert row["question"].lower() == own["question"].lower()
            assert row.get("suite") == ("carets" if more else None)
        replies.write_text(
            "".join(
                json.dumps({"id": row["id"], "reply": right[row["split"], row["question_index"]]["answer"]})
                + "\n"
                for row in rows
            )
        )
        files.append(tmp_path / f"{name}_predictions.jsonl")
        given = ["answers", str(replies), "--requests", str(requests), "--out", str(files[-1])]
        assert run_command(given) == 0
    first = lines(tmp_path / "suite.jsonl")[0]
    assert first["id"] == f"{HOP}/carets/complex_iid/{first['question_index']}"
    for split, each in scored(folder, "carets", *files).items():
        assert (each.n_missing, each.mean["both_right"].value) == (0, 100.0)
        made = read_table(Layout(folder).suite_h5(HOP, "carets", split), PAIRS).orig_idxs < 0
        asked = [row for row in lines(tmp_path / "suite.jsonl") if row["split"] == split]
        assert [row["question_index"] for row in asked] == made.nonzero()[0].tolist()


def test_a_limit_takes_questions_of_all_tests(folder: Path, tmp_path: Path) -> None:
    """As evenly as there are questions, and the same ones as with a larger limit."""
    layout = Layout(folder)
    pairs = read_table(layout.suite_h5(HOP, "carets", "complex_iid"), PAIRS)
    tests = pairs.test
    taken: set[int] = set()
    for limit in (5, 12, 40):
        out = tmp_path / f"{limit}.jsonl"
        command = ["ask", str(folder), "--hop", HOP, "--suite", "carets", "--split", "complex_iid"]
        assert run_command([*command, "--limit", str(limit), "--seed", "3", "--out", str(out)]) == 0
        rows = [json.loads(line)["question_index"] for line in out.read_text().splitlines()]
        assert rows == sorted(set(rows))
        assert len(rows) == limit
        assert taken <= set(rows)
        taken = set(rows)
        counts = np.bincount(tests[rows], minlength=len(pairs.tests))
        there = np.bincount(tests[pairs.orig_idxs < 0], minlength=len(pairs.tests))
        assert (counts >= np.minimum(there, counts.max() - 1)).all()
        assert (counts > 0).sum() == min(limit, (there > 0).sum())


def test_some_requests_of_a_suite(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "requests.jsonl"
    command = ["ask", str(folder), "--suite", "rad", "--hop", HOP, "--out", str(out)]
    assert run_command([*command, "--split", "complex_ood", "--limit", "2"]) == 0
    assert [(row["suite"], row["split"]) for row in lines(out)] == [("rad", "complex_ood")] * 2
    assert run_command([*command, "--split", "minimal_ood"]) == 2
    assert 'no split "minimal_ood" of the suite rad' in capfd.readouterr().err
