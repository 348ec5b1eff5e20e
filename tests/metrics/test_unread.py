"""Unread replies: how many there are, by right answer, and what the accuracy would be if they were right."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from building import Cli
from made_folder import make_folder, right_answers, write_lines

from clevrhope.metrics.results import Unread
from clevrhope.metrics.scoring import unread_replies

HOP = "rubber_cylinder"
ANSWERS = ("yes", "yes", "yes", "yes", "no", "no", "3", "red")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    asked = [(k, 0, answer) for k, answer in enumerate(ANSWERS)]
    return make_folder(tmp_path / "data", {HOP: {"complex_iid": asked}})


def predictions(path: Path, answers: dict[int, str], **columns: Any) -> Path:
    """Right answers to all questions, but for some."""
    asked = [(k, 0, answers.get(k, answer)) for k, answer in enumerate(ANSWERS)]
    return write_lines(path, right_answers({HOP: {"complex_iid": asked}}, **columns))


def test_score_gives_both_bounds_and_the_unread_share_by_right_answer(
    cli: Cli, folder: Path, tmp_path: Path
) -> None:
    file = predictions(tmp_path / "p.jsonl", {0: "<UNK>", 1: "no", 4: "<UNK>", 6: "<UNK>"})
    found = json.loads(cli("score", folder, file, "--by", "none", "--json").out)
    assert found["conditions"][0]["mean"]["splits"]["complex_iid"]["percent"] == 50.0
    assert found["conditions"][0]["unread"]["complex_iid"] == {
        "n": 3,
        "share": 37.5,
        "share_yes": 25.0,
        "share_no": 50.0,
        "if_wrong": 50.0,
        "if_right": 87.5,
    }
    lines = cli("score", folder, file, "--by", "none").out.splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith("not read"))
    assert [line.split()[-1] for line in lines[begin : begin + 5]] == ["37.5", "25.0", "50.0", "50.0", "87.5"]


def test_scores_say_nothing_of_unread_replies_where_all_were_read(
    cli: Cli, folder: Path, tmp_path: Path
) -> None:
    assert "not read" not in cli("score", folder, predictions(tmp_path / "p.jsonl", {}), "--by", "none").out


def test_shares_are_means_over_runs_and_leave_out_missing_answers() -> None:
    """Of the first run, 1 of 2 answers is unread, and the other is right; of the second, all 4 are right."""
    given = np.array([[True, True, False, False], [True] * 4])
    unread = np.array([[True, False, False, False], [False] * 4])
    yes, no = np.array([True, False, False, True]), np.zeros(4, dtype=bool)
    found = unread_replies(given, given & ~unread, unread, yes, no)
    assert found == Unread(n=1, share=25.0, share_yes=50.0, share_no=None, if_wrong=75.0, if_right=100.0)
