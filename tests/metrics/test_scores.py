"""Accuracies, gaps and breakdowns of small folders against numbers worked out by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from building import Cli
from made_folder import Rows, make_folder, right_answers, write_lines

from clevrhope.errors import PredictionsError
from clevrhope.metrics import Condition, Interval, Measure, Part, Results, Scores, score
from clevrhope.metrics.score_tables import scores_lines
from wording import check_refused, check_words

HOP = "rubber_cylinder"

QUESTIONS = {
    HOP: {
        "train": [(0, 0, "yes")],
        "complex_iid": [
            (4, 0, "yes"),
            (4, 1, "3"),
            (4, 11, "red"),
            (7, 0, "no"),
            (7, 1, "2"),
            (7, 10, "cube"),
            (9, 0, "yes"),
            (9, 1, "10"),
        ],
        "complex_ood": [(1, 0, "yes"), (2, 1, "3"), (3, 11, "blue"), (5, 0, "no")],
        "minimal_iid": [(0, 2, "yes"), (0, 2, "no"), (1, 2, "no"), (1, 2, "no"), (2, 2, "no")],
        "minimal_ood": [(0, 2, "no"), (1, 2, "no"), (2, 2, "no"), (3, 2, "yes")],
    }
}
OBJECTS = {
    "test_iid": {3: 8, 4: 3, 7: 3, 9: 10},
    "test_ood": {1: 6, 2: 6, 3: 3, 5: 10},
    "minimal_material_shape": dict.fromkeys(range(4), 1),
}

Score = Callable[..., Results]


@pytest.fixture
def scored(tmp_path: Path) -> Score:
    """Scores rows on the folder of `QUESTIONS`."""
    folder = make_folder(tmp_path / "data", QUESTIONS, objects=OBJECTS)

    def run(rows: Rows, **more: Any) -> Results:
        return score(
            folder, write_lines(tmp_path / "given.jsonl", rows), **{"seed": 3, "bootstrap": 50, **more}
        )

    return run


def wrong(rows: Rows, *places: tuple[str, int]) -> Rows:
    """The rows with wrong answers at some questions, by split and place."""
    return [
        {**row, "answer": "purple"} if (row["split"], row["question_index"]) in places else row
        for row in rows
    ]


def names(condition: Condition, by: str) -> list[str]:
    return [part.name for part in condition.breakdowns[by]]


def gaps(condition: Condition) -> dict[str, Measure]:
    return {name: each.mean["gap"] for name, each in condition.gaps.items()}


def accuracy(value: float, n: int, n_images: int) -> Scores:
    """The scores of one run, whose interval is as narrow as can be."""
    counts = {"n_questions": n, "n_images": n_images}
    return Scores({"accuracy": Measure(value, n, Interval(value, value))}, counts)


def test_accuracies_and_gaps(scored: Score) -> None:
    """Of 8 and 4 complex ones 6 and 1 are right, of 5 and 4 minimal ones 5 and 3."""
    rows = wrong(
        right_answers(QUESTIONS),
        ("complex_iid", 0), ("complex_iid", 5),
        ("complex_ood", 0), ("complex_ood", 1), ("complex_ood", 3),
        ("minimal_ood", 3),
    )  # fmt: skip
    scores = scored(rows, bootstrap=0)
    (condition,) = scores.conditions
    assert (condition.hop, condition.train_size, scores.n_predictions) == (HOP, None, 21)
    assert condition.accuracies == {
        "complex_iid": 75.0,
        "complex_ood": 25.0,
        "minimal_iid": 100.0,
        "minimal_ood": 75.0,
    }
    assert gaps(condition) == {"complex": Measure(-50.0, 4), "minimal": Measure(-25.0, 4)}
    for gap in gaps(scored(rows, bootstrap=200).condition(HOP)).values():
        assert gap.interval.low < (gap.value or 0.0) < gap.interval.high < 65


def test_means_over_runs_and_train_sizes(scored: Score) -> None:
    """Runs of 100%, 75% and 50% on complex_ood: mean 75; the gap's is the same, negative.

    The deviation is that of a sample: the root of (625 + 0 + 625) / 2.
    """
    oracle = right_answers(QUESTIONS)
    rows = [{**row, "run": 10, "train_size": "25k"} for row in oracle]
    rows += [{**row, "run": "9", "train_size": 25_000} for row in wrong(oracle, ("complex_ood", 1))]
    rows += [
        {**row, "run": 2.0, "train_size": 25_000.0}
        for row in wrong(oracle, ("complex_ood", 1), ("complex_ood", 2))
    ]
    rows += [{**row, "run": "a", "train_size": 200_000, "note": "ignored"} for row in oracle]
    scores = scored(rows)
    assert [(each.train_size, each.runs) for each in scores.conditions] == [
        (25_000, ("2", "9", "10")),
        (200_000, ("a",)),
    ]
    condition = scores.condition(HOP, 25_000)
    ood = condition.splits["complex_ood"]
    assert [run["accuracy"].value for run in ood.runs] == [50.0, 75.0, 100.0]
    assert (ood.mean["accuracy"].value, ood.mean.counts["n_questions"]) == (75.0, 4)
    assert ood.mean["accuracy"].deviation == pytest.approx(25)
    gap = gaps(condition)["complex"]
    assert gap.value == -25.0
    assert gap.deviation == pytest.approx(25)
    assert gaps(condition)["minimal"].deviation == 0.0
    assert gaps(scores.condition(HOP, 200_000))["complex"].value == 0.0
    with pytest.raises(KeyError):
        scores.condition(HOP, 560_000)


def test_a_second_palettes_splits_give_the_gap_from_one_to_the_other(tmp_path: Path) -> None:
    """As from condition A of CoGenT to B; a gap needs both of its splits."""
    asked = [(k, 0, "yes") for k in range(4)]
    questions = {"none": {"val": asked, "test": asked, "test_b": asked}}
    folder = make_folder(tmp_path / "data", questions)
    rows = wrong(right_answers(questions), ("test", 0), ("test_b", 0), ("test_b", 1), ("test_b", 3))
    scores = score(folder, write_lines(tmp_path / "p.jsonl", rows), seed=1, by=(), bootstrap=0)
    assert gaps(scores.condition("none")) == {"test": Measure(25.0 - 75.0, 4)}
    lines = list(scores_lines(scores))
    head, accuracy = (next(each for each in lines if word in each) for word in ("test gap", "accuracy  "))
    assert head.split()[-2:] == ["test", "gap"]
    assert accuracy.split()[-1] == "-50.0"


def test_the_split_for_tuning_is_scored_where_it_was_answered_and_not_missed_elsewhere(
    tmp_path: Path,
) -> None:
    asked = [(image, 2, "yes") for image in range(5)]
    questions = {HOP: {"val_iid": asked, "complex_iid": asked}}
    folder = make_folder(tmp_path / "data", questions)
    rows = right_answers(questions)
    for more, splits in ((rows, ["val_iid", "complex_iid"]), (rows[5:], ["complex_iid"])):
        (condition,) = score(folder, write_lines(tmp_path / "p.jsonl", more), seed=1, by=()).conditions
        assert list(condition.splits) == splits
        assert condition.missing == {}
    check_refused(PredictionsError, score, folder, write_lines(tmp_path / "p.jsonl", rows[1:]), seed=1)


WILSON_10_OF_20 = 29.9
"""The lower end of Wilson's 95% interval for 10 in 20, in per cent."""


def test_questions_about_one_image_are_drawn_together(tmp_path: Path) -> None:
    """Each image has one right answer of two, so every draw has half, and the interval is Wilson's."""
    asked = [(image, 2, answer) for image in range(20) for answer in ("yes", "no")]
    folder = make_folder(tmp_path / "data", {"none": {"test": asked}})
    always_no = [{**row, "answer": "no"} for row in right_answers({"none": {"test": asked}})]
    given = write_lines(tmp_path / "p.jsonl", always_no)
    found = score(folder, given, seed=1, by=["answer"]).condition("none")
    test = found.splits["test"]
    (mean, by_answer) = (each.mean["accuracy"] for each in (test, test.parts[Part("answer", "yes/no")]))
    assert mean.interval.low == by_answer.interval.low == pytest.approx(WILSON_10_OF_20, abs=0.1)
    assert (mean.value, mean.n, test.mean.counts) == (50.0, 40, {"n_questions": 40, "n_images": 20})
    # If the two questions were drawn apart, the interval would be that of 20 in 40.
    assert mean.interval.high == pytest.approx(100 - WILSON_10_OF_20, abs=0.1)


def test_images_of_a_minimal_place_are_drawn_together(tmp_path: Path) -> None:
    """Two of the four images of each place are answered right, so every draw of places has half."""
    asked = [(image, 2, "no") for image in range(80)]
    questions = {HOP: {"minimal_iid": asked, "minimal_ood": asked}}
    folder = make_folder(tmp_path / "data", questions)
    rows = wrong(right_answers(questions), *(("minimal_ood", k) for k in range(80) if k % 4 in (0, 3)))
    found = score(folder, write_lines(tmp_path / "p.jsonl", rows), seed=1, by=()).condition(HOP)
    iid, ood = (found.splits[name].mean["accuracy"] for name in questions[HOP])
    assert ood.interval.low == pytest.approx(WILSON_10_OF_20, abs=0.1), "of 20 places"
    assert (iid.value, iid.interval.high) == (100, 100)
    assert iid.interval.low == pytest.approx(100 * 20 / (20 + 1.96**2), abs=0.1)


def test_a_group_is_right_if_all_of_its_answers_are(tmp_path: Path) -> None:
    """Groups of four in minimal_ood; in minimal_iid also one of three, which are counted apart."""
    minimal_ood = [(image, 2, "no" if image % 4 else "yes") for image in range(12)]
    minimal_iid = [(image, 2, "no" if image % 4 else "yes") for image in range(12) if image != 2]
    questions = {HOP: {"minimal_iid": minimal_iid, "minimal_ood": minimal_ood}}
    folder = make_folder(tmp_path / "data", questions)
    rows = wrong(right_answers(questions), ("minimal_ood", 5), ("minimal_ood", 7), ("minimal_iid", 0))
    found = score(folder, write_lines(tmp_path / "p.jsonl", rows), seed=1, by=(), bootstrap=0)
    iid, ood = (found.condition(HOP).splits[name].mean for name in questions[HOP])
    assert (ood["group_accuracy"].value, ood["group_accuracy"].n) == (pytest.approx(200 / 3), 3)
    assert "smaller_group_accuracy" not in ood.measures
    assert (iid["group_accuracy"].value, iid["group_accuracy"].n) == (100, 2)
    assert (iid["smaller_group_accuracy"].value, iid["smaller_group_accuracy"].n) == (0, 1)
    always_no = write_lines(tmp_path / "no.jsonl", [{**row, "answer": "no"} for row in rows])
    ood = score(folder, always_no, seed=1, by=()).condition(HOP).splits["minimal_ood"].mean
    assert (ood["accuracy"].value, ood["group_accuracy"].value) == (75, 0)


def test_splits_on_one_pool_share_the_draws(tmp_path: Path) -> None:
    """A model that errs on the same images in both minimal sets has the same gap in every draw: none.

    The interval is then what Wilson's allows for 8 places that could have differed.
    """
    asked = [(image, 2, "no") for image in range(30)]
    questions = {
        HOP: {"minimal_iid": asked, "minimal_ood": asked, "complex_iid": asked, "complex_ood": asked}
    }
    folder = make_folder(tmp_path / "data", questions)
    rows = wrong(right_answers(questions), *((split, k) for split in questions[HOP] for k in range(10)))
    found = score(folder, write_lines(tmp_path / "p.jsonl", rows), seed=1, by=()).condition(HOP)
    minimal = gaps(found)["minimal"].interval
    assert (minimal.low, minimal.high) == pytest.approx((-32.4, 32.4), abs=0.3)
    complex_gap = gaps(found)["complex"].interval
    assert complex_gap.low < -10 < 10 < complex_gap.high
    iid, ood = (found.splits[name].mean["accuracy"] for name in ("minimal_iid", "minimal_ood"))
    assert iid == ood


def test_families_have_numbers_without_measurements(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "data", QUESTIONS, measured=False)
    given = write_lines(tmp_path / "p.jsonl", right_answers(QUESTIONS))
    (condition,) = score(folder, given, seed=1, by=["family"]).conditions
    assert names(condition, "family") == [f"family {k}" for k in (0, 1, 2, 10, 11)]


def test_the_command_prints_tables_or_one_json_object(cli: Cli, scored: Score, tmp_path: Path) -> None:
    """Of 8 and 4 complex ones 6 and 3 are right: one question for a shape and two for yes or no are not."""
    rows = wrong(right_answers(QUESTIONS), ("complex_iid", 0), ("complex_iid", 5), ("complex_ood", 3))
    expected = scored(rows, seed=9, bootstrap=100).condition(HOP)

    def shown(*more: str) -> str:
        ask = ["score", tmp_path / "data", tmp_path / "given.jsonl", "--hop", HOP, "--seed", "9"]
        said = cli(*ask, *more)
        assert ("Reading predictions" in said.err) == ("--quiet" not in more)
        return said.out

    found = json.loads(shown("--bootstrap", "100", "--json", "--quiet"))
    assert (found["seed"], found["bootstrap"], found["hops_missing"]) == (9, 100, [])
    (condition,) = found["conditions"]
    assert condition["mean"]["splits"]["complex_ood"]["percent"] == 75.0
    assert set(condition["breakdowns"]) == {"family", "answer", "objects"}
    interval = gaps(expected)["complex"].interval
    assert condition["mean"]["gaps"]["complex"]["interval"] == {"low": interval.low, "high": interval.high}

    check_words(shown("--bootstrap", "0", "--families"))
    assert "  by " not in shown("--by", "none", "--quiet")
    in_short = shown("--quiet")
    assert "  by family" not in in_short
    assert "add --families" in in_short
    assert "seed 9" in in_short
    for more in (["--families", "--by", "none"], ["--by", "family"]):
        assert "  by family" in shown(*more, "--quiet")
