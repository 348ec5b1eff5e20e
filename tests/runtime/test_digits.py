"""Whole numbers in texts of any source: of any length, and as schedulers write them."""

import json
from pathlib import Path

import pytest

from clevrhope.cli.request import _parse_diversity
from clevrhope.errors import ConfigError, PredictionsError
from clevrhope.export.covr import _answer
from clevrhope.images.native import NativeRenderer
from clevrhope.metrics.collector import runs_of
from clevrhope.metrics.predictions import read_predictions
from clevrhope.metrics.rows import Target
from clevrhope.pipeline import parse_shard
from clevrhope.runtime.digits import MOST_DIGITS, read_digits
from clevrhope.splits.hops import name_order
from wording import check_refused, check_words, refused

LONG = "7" * 5000
"""More digits than Python's own int() reads."""


def test_a_long_number_is_none() -> None:
    assert read_digits("0" * (MOST_DIGITS - 1) + "7") == 7
    assert [read_digits(each) for each in (LONG, "", "-1", "2.0", "2(x3)", " 2")] == [None] * 6


def test_long_numbers_are_read_or_refused_wherever_numbers_are_texts(tmp_path: Path) -> None:
    assert _answer(LONG) == LONG
    assert sorted(["b", f"a{LONG}", "a10", "a9"], key=name_order) == ["a9", "a10", f"a{LONG}", "b"]
    targets = [Target("none", "test", run, None) for run in (LONG, "10", "9", "x", None)]
    assert runs_of(targets, "none", None) == [None, "9", "10", LONG, "x"]
    rows = tmp_path / "rows.jsonl"
    row = {"hop": "none", "split": "test", "question_index": 0, "answer": "yes", "train_size": f"{LONG}k"}
    rows.write_text(json.dumps(row))
    with refused(PredictionsError):
        [*read_predictions(rows)]


@pytest.mark.parametrize(
    "text", ["/16", "3/", "0/16", "17/16", "0/0", "2(x3)/16", "1,3/16", "3", LONG, f"1/{LONG}"]
)
def test_a_shard_that_is_none_says_what_is_odd(text: str) -> None:
    check_refused(ConfigError, parse_shard, text)


def test_a_shard_may_have_spaces() -> None:
    assert str(parse_shard(" 3 / 16\n")) == "3/16"


@pytest.mark.parametrize("text", ["2(x3)", "4,4", "-1", "all", LONG])
def test_a_variable_that_is_no_number_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", text)
    check_refused(ConfigError, NativeRenderer)


@pytest.mark.parametrize(("text", "n"), [("3", 3), (" 3 ", 3), ("", 5), ("0", 5)])
def test_a_variable_that_is_empty_is_unset(text: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrhope.images.native.available_cores", lambda: 5)
    monkeypatch.setenv("RAYON_NUM_THREADS", text)
    assert NativeRenderer().workers == n


def test_a_diversity_of_any_length_is_refused() -> None:
    with pytest.raises(Exception, match="--diversity") as told:
        _parse_diversity(LONG)
    check_words(str(told.value))
