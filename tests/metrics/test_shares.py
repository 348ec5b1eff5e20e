"""One score for all kinds of questions: formulas over flags, groups, units, and what they are shown as."""

import json
from pathlib import Path

import numpy as np
import pytest
from made_folder import make_folder, right_answers, write_lines
from made_suite import MadePair, write_suite

from clevrhope.__main__ import run_command
from clevrhope.metrics import Interval, Part, collector, score
from clevrhope.metrics.measures import ACCURACY, PAIRS
from clevrhope.metrics.pairs import Relation
from clevrhope.metrics.shares import Flags, GroupFigures, Kind, score_flags, share
from clevrhope.metrics.suites import score_suite

HOP = "rubber_cylinder"


def accuracy(
    right: Flags, images: np.ndarray, groups: np.ndarray | None = None, *, seed: int = 1
) -> dict[int, GroupFigures]:
    flags = {"given": np.ones_like(right), "right": right}
    by = {"": np.zeros(len(images), np.int32) if groups is None else groups}
    return score_flags(flags, ACCURACY, by, images, bootstrap=500, seed=(seed,))[""]


def test_a_group_is_scored_in_the_mean_over_runs_and_drawn_by_units() -> None:
    right = np.asarray([[1, 1, 0, 0, 1], [1, 0, 0, 0, 1]], bool)
    images, groups = np.asarray([5, 5, 6, 5, 9]), np.asarray([1, 1, 1, 1, 3])
    found = {group: each.scored() for group, each in accuracy(right, images, groups).items()}
    assert list(found) == [1, 3]
    assert [run["accuracy"].value for run in found[1].runs] == [50.0, 25.0]
    mean = found[1].mean["accuracy"]
    assert (mean.value, mean.n, mean.deviation) == (37.5, 8, pytest.approx(12.5 * 2**0.5))
    first = found[1].runs[0]["accuracy"]
    assert first.interval == Interval(0, pytest.approx(200 / 3))  # image 6 alone, image 5 alone
    # Two runs that are 25 points apart leave everything open: Student's t with one degree of freedom.
    assert mean.interval == Interval(0, 100)
    alone = found[3].mean["accuracy"]
    assert (alone.value, alone.n, alone.deviation) == (100.0, 2, 0.0)
    assert alone.interval.low == pytest.approx(20.6, abs=0.2), "Wilson's interval of one in one"


@pytest.mark.parametrize(("right", "of", "low", "high"), [(20, 20, 83.9, 100), (0, 20, 0, 16.1)])
def test_no_interval_has_a_zero_width(right: int, of: int, low: float, high: float) -> None:
    """All right or all wrong: Wilson's interval, as in any table of it; and a difference is as uncertain."""
    flags = np.arange(of)[np.newaxis] < right
    figure = accuracy(flags, np.arange(of))[0].figures["accuracy"]
    found = figure.measure()
    assert (found.value, found.n) == (100 * right / of, of)
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=0.1)
    other = accuracy(flags, np.arange(of), seed=2)[0].figures["accuracy"]
    gap = figure.minus(other).measure().interval
    # Newcombe's interval of 20 in 20 minus 20 in 20 is from -16.1 to 16.1.
    assert (gap.low, gap.high) == pytest.approx((-14, 14), abs=2.5)
    same = figure.minus(figure).measure().interval
    assert (same.low, same.high) == pytest.approx((-16.1, 16.1), abs=0.1)


def coverage(units: np.ndarray, place: np.ndarray, split: np.ndarray, n: int = 300) -> dict[str, float]:
    """How often intervals hold the truth, if each place is as hard for all of its questions, by figure.

    Places of each of `n` simulated models have chances from Beta(1, 1), lower by a fifth in the second split.
    """
    rng = np.random.default_rng(5)
    hit = {"iid": 0, "ood": 0, "gap": 0}
    truth = {"iid": 50.0, "ood": 40.0, "gap": -10.0}
    for k in range(n):
        chance = rng.random(place.max() + 1)[place] * np.where(split == 1, 0.8, 1.0)
        # All questions of a place share what decides them.
        right = (rng.random(place.max() + 1)[place] < chance)[np.newaxis]
        flags = {"given": np.ones_like(right), "right": right}
        found = score_flags(flags, ACCURACY, {"": split}, units, bootstrap=400, seed=(k,))[""]
        iid, ood = (found[number].figures["accuracy"] for number in (0, 1))
        figures = {"iid": iid, "ood": ood, "gap": ood.minus(iid)}
        for name, figure in figures.items():
            interval = figure.measure().interval
            hit[name] += interval.low <= truth[name] <= interval.high
    return {name: 100 * count / n for name, count in hit.items()}


@pytest.mark.slow
def test_intervals_cover_the_truth_where_errors_go_by_place() -> None:
    """A minimal set: 160 places of four images, all asked about in one split, every second in the other."""
    place = np.concatenate([np.repeat(np.arange(160), 4), np.repeat(np.arange(0, 160, 2), 4)])
    image = 4 * place + np.arange(len(place)) % 4
    split = np.repeat([0, 1], [640, 320])
    of_places = coverage(image // 4, place, split)
    assert all(93 <= share <= 97.5 for share in of_places.values()), of_places
    of_images = coverage(image, place, split)
    assert all(share < 88 for share in of_images.values()), of_images


@pytest.mark.slow
@pytest.mark.parametrize("percent", [50, 90, 97])
def test_intervals_cover_the_truth_where_errors_go_by_image(percent: int) -> None:
    """Suites' pairs and COVR's questions share images: 150 images of one to five questions, as hard alike."""
    rng, n, hits = np.random.default_rng(percent), 400, 0
    image = np.repeat(np.arange(150), rng.integers(1, 6, 150))
    for _ in range(n):
        chance = rng.beta(percent / 10, 10 - percent / 10, 150)
        right = (rng.random(len(image)) < chance[image])[np.newaxis]
        interval = accuracy(right, image)[0].figures["accuracy"].measure().interval
        hits += interval.low <= percent <= interval.high
    assert 92 <= 100 * hits / n <= 97.5, hits


@pytest.mark.slow
@pytest.mark.parametrize("n_runs", [2, 3, 5])
def test_intervals_of_means_over_runs_cover_the_truth(n_runs: int) -> None:
    """Runs whose accuracies differ with a deviation of 5 points around 70%, on 300 images."""
    rng, n, hits = np.random.default_rng(n_runs), 400, 0
    for _ in range(n):
        chance = np.clip(0.7 + 0.05 * rng.standard_normal(n_runs), 0, 1)
        interval = accuracy(rng.random((n_runs, 300)) < chance[:, None], np.arange(300))[0]
        found = interval.figures["accuracy"].measure().interval
        hits += found.low <= 70 <= found.high
    assert 93 <= 100 * hits / n <= 99.5, hits


def test_a_new_measure_is_one_row_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in the results, in their rows and in the JSON, with its interval, and in results.csv."""
    questions = {HOP: {"train": [(0, 0, "yes")], "complex_iid": [(4, 0, "yes"), (7, 0, "no")]}}
    folder = make_folder(tmp_path / "data", questions)
    write_suite(folder, HOP, "complex_iid", [MadePair(k, "yes", "order", Relation.SAME) for k in (0, 1)][:1])
    both_wrong = Kind("wrong", lambda s: (1 - share("original", "pairs")(s)[0], s["pairs"]))
    monkeypatch.setattr("clevrhope.metrics.measures.PAIRS", {**PAIRS, "original_wrong": both_wrong})
    place = {"hop": HOP, "split": "complex_iid", "suite": "mine", "question_index": 1}
    rows = [*right_answers(questions), {**place, "answer": "yes"}]
    file = write_lines(tmp_path / "p.jsonl", rows)
    scores = score_suite(folder, "mine", file, seed=1, bootstrap=20)
    measure = scores.condition(HOP).splits["complex_iid"].mean["original_wrong"]
    assert (measure.value, measure.n, measure.interval.low) == (0.0, 1, pytest.approx(0.0))
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
