"""Baselines, requests and replies for suites of paired tests."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli, build_demo
from simulated import rows_of_file, write_rows

from clevrhope.dataset.clevr_json import read_row_lines
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import read_table
from clevrhope.metrics.results import SplitScores
from clevrhope.metrics.suites import score_suite
from clevrhope.pipeline.suites import make_suite

HOP = "rubber_cylinder"
SPLITS = ("complex_iid", "complex_ood")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("baselines") / "data"
    build_demo(out, sizes={"train": 300, "complex_iid": 120, "complex_ood": 30})
    make_suite(out, "carets")
    make_suite(out, "rad")
    return out


@cache
def texts(path: Path) -> dict[int, dict[str, Any]]:
    """The rows of a JSON file of questions by their index."""
    return {row["question_index"]: row for row in map(json.loads, read_row_lines(path))}


def scored(folder: Path, suite: str, *files: Path) -> dict[str, SplitScores]:
    (condition,) = score_suite(folder, suite, files, seed=1, bootstrap=0).conditions
    return dict(condition.splits)


@pytest.mark.parametrize("suite", ["carets", "rad"])
def test_baselines_answer_both_questions_of_every_pair(
    cli: Cli, folder: Path, tmp_path: Path, suite: str
) -> None:
    out = tmp_path / "p.jsonl"
    found = {}
    learning = ("majority", "majority_by_family")
    for kind in ("symbolic", "always_no", "coin", *learning):
        told = cli("baseline", folder, "--kind", kind, "--suite", suite, "--out", out).out
        assert told.rstrip().endswith(f"score {folder} {out} --suite {suite}")
        found[kind] = scored(folder, suite, out)
        rows = rows_of_file(out)
        assert {row["suite"] for row in rows} == {suite}
        assert ("train_size" in rows[0]) == (kind in learning)
    for split in SPLITS:
        assert found["symbolic"][split].mean["both_right"].value == 100.0
        assert all(each[split].n_missing == 0 for each in found.values())
        assert 20.0 < found["coin"][split].mean["partner_accuracy"].value < 80.0
        same = found["always_no"][split].by("test")
        assert all(
            same[test].mean["consistency"].value == 100.0 for test in same if test in ("rephrase", "order")
        )
    told = cli("baseline", folder, "--kind", "always_no", "--suite", "mine", "--out", out, code=2).err
    assert f'no suite "mine"; to make it: clevrhope suite mine {folder}' in told


@pytest.mark.slow
def test_requests_and_replies_there_and_back(cli: Cli, folder: Path, tmp_path: Path) -> None:
    files = []
    layout = Layout(folder)
    for name, more in (("splits", []), ("suite", ["--suite", "carets"])):
        requests, replies = tmp_path / f"{name}.jsonl", tmp_path / f"{name}_replies.jsonl"
        cli("ask", folder, "--split", ",".join(SPLITS), *more, "--out", requests)
        said = []
        for row in rows_of_file(requests):
            split = row["split"]
            of_suite = layout.suite_json(HOP, "carets", split)
            own = texts(of_suite if more else layout.questions_json(HOP, split))[row["question_index"]]
            assert row["question"].lower() == own["question"].lower()
            assert row.get("suite") == ("carets" if more else None)
            said.append({"id": row["id"], "reply": own["answer"]})
        write_rows(replies, said)
        files.append(tmp_path / f"{name}_predictions.jsonl")
        cli("answers", replies, "--requests", requests, "--out", files[-1])
    asked = rows_of_file(tmp_path / "suite.jsonl")
    first = asked[0]
    place, _, of_dataset = first["id"].partition("@")
    assert place == f"{HOP}/carets/complex_iid/{first['question_index']}"
    assert of_dataset
    for split, each in scored(folder, "carets", *files).items():
        assert (each.n_missing, each.mean["both_right"].value) == (0, 100.0)
        made = read_table(Layout(folder).suite_h5(HOP, "carets", split), PAIRS).orig_idxs < 0
        of_split = [row["question_index"] for row in asked if row["split"] == split]
        assert of_split == made.nonzero()[0].tolist()


def test_a_limit_takes_questions_of_all_tests(cli: Cli, folder: Path, tmp_path: Path) -> None:
    """As evenly as there are questions, and the same ones as with a larger limit."""
    layout = Layout(folder)
    pairs = read_table(layout.suite_h5(HOP, "carets", "complex_iid"), PAIRS)
    tests = pairs.test
    taken: set[int] = set()
    for limit in (5, 12, 40):
        out = tmp_path / f"{limit}.jsonl"
        command = ["ask", folder, "--hop", HOP, "--suite", "carets", "--split", "complex_iid"]
        cli(*command, "--limit", limit, "--seed", "3", "--out", out)
        rows = [row["question_index"] for row in rows_of_file(out)]
        assert rows == sorted(set(rows))
        assert len(rows) == limit
        assert taken <= set(rows)
        taken = set(rows)
        counts = np.bincount(tests[rows], minlength=len(pairs.tests))
        there = np.bincount(tests[pairs.orig_idxs < 0], minlength=len(pairs.tests))
        assert (counts >= np.minimum(there, counts.max() - 1)).all()
        assert (counts > 0).sum() == min(limit, (there > 0).sum())


def test_some_requests_of_a_suite(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "requests.jsonl"
    command = ["ask", folder, "--suite", "rad", "--hop", HOP, "--out", out]
    cli(*command, "--split", "complex_ood", "--limit", "2")
    assert [(row["suite"], row["split"]) for row in rows_of_file(out)] == [("rad", "complex_ood")] * 2
    told = cli(*command, "--split", "minimal_ood", code=2).err
    assert 'no split "minimal_ood" of the suite rad' in told
