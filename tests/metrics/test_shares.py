"""One score for all kinds of questions: formulas over flags, groups, units, and what they are shown as."""

import json
from pathlib import Path

import numpy as np
import pytest
from made_folder import make_folder, right_answers, write_lines
from made_suite import MadePair, write_suite

from clevrhope.__main__ import run_command
from clevrhope.metrics import Interval, Measure, Part, collector, score
from clevrhope.metrics.measures import ACCURACY, PAIRS
from clevrhope.metrics.pairs import Relation
from clevrhope.metrics.shares import Flags, GroupFigures, Kind, score_flags, share
from clevrhope.metrics.suites import score_suite

HOP = "rubber_cylinder"


def accuracy(right: Flags, images: np.ndarray, groups: np.ndarray | None = None) -> dict[int, GroupFigures]:
    flags = {"given": np.ones_like(right), "right": right}
    by = {"": np.zeros(len(images), np.int32) if groups is None else groups}
    return score_flags(flags, ACCURACY, by, images, bootstrap=500, seed=(1,))[""]


def test_a_group_is_scored_in_the_mean_over_runs_and_drawn_by_units() -> None:
    right = np.asarray([[1, 1, 0, 0, 1], [1, 0, 0, 0, 1]], bool)
    images, groups = np.asarray([5, 5, 6, 5, 9]), np.asarray([1, 1, 1, 1, 3])
    found = {group: each.scored() for group, each in accuracy(right, images, groups).items()}
    assert list(found) == [1, 3]
    assert [run["accuracy"].value for run in found[1].runs] == [50.0, 25.0]
    mean = found[1].mean["accuracy"]
    assert (mean.value, mean.n, mean.deviation) == (37.5, 8, pytest.approx(12.5 * 2**0.5))
    assert mean.interval == Interval(0, 50)  # image 6 alone, image 5 alone
    assert found[3].mean["accuracy"] == Measure(100.0, 2, Interval(100, 100), 0.0)


def test_a_new_measure_is_one_row_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in the results, in their rows and in the JSON, with its interval, and in results.csv."""
    questions = {HOP: {"train": [(0, 0, "yes")], "complex_iid": [(4, 0, "yes"), (7, 0, "no")]}}
    folder = make_folder(tmp_path / "data", questions)
    write_suite(folder, HOP, "complex_iid", [MadePair(k, "yes", "order", Relation.SAME) for k in (0, 1)][:1])
    both_wrong = Kind("wrong", lambda s: (1 - share("original", "pairs")(s)[0], s["pairs"]))
    monkeypatch.setattr("clevrhope.metrics.pairs.PAIRS", {**PAIRS, "original_wrong": both_wrong})
    place = {"hop": HOP, "split": "complex_iid", "suite": "mine", "question_index": 1}
    rows = [*right_answers(questions), {**place, "answer": "yes"}]
    file = write_lines(tmp_path / "p.jsonl", rows)
    scores = score_suite(folder, "mine", file, seed=1, bootstrap=20)
    expected = Measure(0.0, 1, Interval(0.0, 0.0))
    assert scores.condition(HOP).splits["complex_iid"].mean["original_wrong"] == expected
    found = [row for row in scores.rows() if row.measure == "original_wrong"]
    assert {row.part.by for row in found} == {"", "test", "type", "tier", "asks"}
    assert run_command(["score", str(folder), str(file), "--suite", "mine", "--seed", "1", "--json"]) == 0
    overall = json.loads(capsys.readouterr().out)["conditions"][0]["splits"]["complex_iid"]["overall"]
    assert overall["mean"]["original_wrong"]["value"] == 0.0
    # The file is read once for the report, though its rows are about test sets and about a suite.
    read: list[Path] = []
    whole = collector.read_predictions
    monkeypatch.setattr(collector, "read_predictions", lambda path: [read.append(path), *whole(path)][1:])
    out = tmp_path / "report"
    assert (
        run_command(["report", f"mine={file}", "--dataset", str(folder), "--out", str(out), "--quiet"]) == 0
    )
    assert ",original_wrong," in (out / "results.csv").read_text()
    assert read == [file]


def test_every_result_has_the_same_long_rows(tmp_path: Path) -> None:
    questions = {HOP: {"complex_iid": [(4, 0, "yes"), (7, 0, "no")], "complex_ood": [(1, 0, "no")]}}
    folder = make_folder(tmp_path / "data", questions)
    file = write_lines(tmp_path / "p.jsonl", right_answers(questions, run="a"))
    rows = list(score(folder, file, seed=1, by=["answer"], bootstrap=20).rows())
    assert {(row.split, row.part, row.run, row.is_mean, row.measure) for row in rows} == {
        (split, part, run, run is None, "gap" if split == "complex" else "accuracy")
        for split in ("complex_iid", "complex_ood", "complex")
        for part, run in ((Part(), "a"), (Part(), None), (Part("answer", "yes/no"), None))
    }
    assert {row.n for row in rows if row.split == "complex_iid"} == {2}
    assert all(row.interval is not None and row.value is not None for row in rows)
    assert {kind.heading for kind in PAIRS.values()} >= {"ACC", "CONS", "RAD"}
