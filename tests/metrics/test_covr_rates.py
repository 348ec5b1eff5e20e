"""COVR's scores: the paper's own, recomputed from its tables, and those of answers that are made up."""

import csv
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from clevrhope.dataset.offered_answers import offered_answers
from clevrhope.errors import MismatchedRunsError
from clevrhope.metrics.covr import (
    accuracy_by_template,
    covr_accuracy,
    frequent_answers,
    generalisation,
    generalisation_score,
    source_images,
)

EXPECTED = {
    "HAS-QUANT": 18,
    "HAS-QUANT-ALL": 76,
    "HAS-COMPAR": 14,
    "HAS-NUM-3": 92,
    "HAS-NUM-3-ANS-3": -1,
    "HAS-LOGIC-AND": 111,
    "HAS-QUANT-COMPSCOPE & HAS-QUANT-ALL": 26,
    "TPL-VERIFYCOUNT \N{UNION} TPL-VERIFYCOUNTGROUPBY": -29,
}

Flags = npt.NDArray[np.bool_]
RNG = np.random.default_rng(7)


def flags(n_runs: int, n_questions: int, share: float) -> Flags:
    return RNG.random((n_runs, n_questions)) < share


def test_the_papers_scores_follow_from_its_tables(test_data: Path) -> None:
    table = test_data.parent / "facts" / "covr_tables.csv"
    if not table.is_file():
        pytest.skip(f"needs the facts beside the test data: no {table}")
    accuracies: dict[str, dict[str, str]] = {}
    with table.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["table"] in ("7", "8"):
                accuracies.setdefault(row["row"], {})[row["column"]] = row["value"]
    scores = {}
    for split, columns in accuracies.items():
        model = columns.get("VB_250") or columns["VB_0"]
        score = generalisation_score(
            model=float(model), text=float(columns["VB_TEXT"]), iid_size=float(columns["VB_iid-size"])
        )
        assert score is not None
        scores[split] = round(score)
    assert {split: scores[split] for split in EXPECTED} == EXPECTED
    assert (len(scores), sum(score <= 70 for score in scores.values())) == (21, 10)


def test_a_score_is_not_clipped_and_not_always_defined() -> None:
    assert generalisation_score(model=60, text=50, iid_size=70) == 50
    assert generalisation_score(model=80, text=50, iid_size=70) == 150
    assert generalisation_score(model=40, text=50, iid_size=70) == -50
    assert generalisation_score(model=60, text=50, iid_size=50) is None
    assert generalisation_score(model=60, text=50, iid_size=40) is None


def test_the_source_is_the_image_at_its_place() -> None:
    images = np.asarray([[7, 8, -1, -1, -1], [3, 4, 5, 6, 9]], np.int32)
    assert source_images(images, np.asarray([1, 4], np.int8)).tolist() == [8, 9]


def test_baselines_answer_what_is_frequent_in_train() -> None:
    answers = np.asarray([0, 1, 1, 5, 5, 5, 2, 2], np.int32)
    templates = np.asarray([0, 0, 0, 2, 2, 2, 3, 3], np.int32)
    found = frequent_answers(answers, templates, n_templates=4, n_answers=7)
    asked = np.asarray([3, 0, 1, 2], np.int32)
    none = np.full((4, 2), -1)
    assert found.maj(asked).tolist() == [5, 5, 5, 5]
    # Train asks no question of template 1.
    assert found.maj_templ(asked, none).tolist() == [2, 1, 5, 5]
    # Of two offered answers, the more frequent one is given, or the first.
    offered = np.asarray([[6, 2], [0, 6], [5, 1], [3, 4]])
    assert found.maj_templ(asked, offered).tolist() == [2, 0, 5, 3]
    tied = frequent_answers(np.asarray([4, 3]), np.asarray([0, 0]), n_templates=1, n_answers=5)
    assert (tied.answer, tied.maj_templ(asked[1:2], none[:1]).tolist()) == (3, [3])


def test_what_a_question_of_choice_offers_is_read_off_its_program() -> None:
    functions = [
        "<NULL>",
        "choose_color[red]",
        "option_color[blue]",
        "choose_relation[left]",
        "unique",
        "exist",
    ]
    answers = {"red": 4, "blue": 5, "left": 6, "right": 7}
    programs = np.asarray([[1, 4, 5, 2, 0], [3, 4, 5, 0, 0], [4, 5, 0, 0, 0]])
    assert offered_answers(programs, functions, answers).tolist() == [[4, 5], [6, 7], [-1, -1]]


def test_maj_is_right_where_half_of_eight_templates_of_fifteen_say_yes() -> None:
    """MajTempl is right on half of 8 yes/no templates, and on a quarter of 7 with four answers each."""
    templates = np.repeat(np.arange(15), 400)
    answers = np.where(templates < 8, np.arange(6_000) % 2, 2 + 4 * templates + np.arange(6_000) % 4)
    found = frequent_answers(answers, templates, n_templates=15, n_answers=64)
    assert np.mean(found.maj(templates) == answers) == pytest.approx(8 / 15 / 2)
    assert np.mean(found.maj_templ(templates, np.full((6_000, 2), -1)) == answers) == pytest.approx(
        8 / 15 / 2 + 7 / 15 / 4
    )


def test_accuracy_is_of_each_template_in_the_mean_over_runs() -> None:
    right = np.asarray([[1, 1, 0, 0, 1], [1, 0, 0, 0, 1]], bool)
    images, templates = np.asarray([5, 5, 6, 5, 9]), np.asarray([1, 1, 1, 1, 3])
    found = accuracy_by_template(
        right, images, templates, template_names=["a", "b", "c", "d"], bootstrap=50, seed=1
    )
    assert list(found) == ["b", "d"]
    assert (found["b"].percent, found["b"].deviation) == (37.5, pytest.approx(12.5 * 2**0.5))
    assert (found["b"].n_questions, found["b"].n_pictures) == (4, 2)
    assert found["b"].interval is not None
    assert (found["b"].interval.low, found["b"].interval.high) == (0, 50)  # image 6 alone, image 5 alone
    assert found["d"].interval is not None
    assert (found["d"].percent, found["d"].interval.low) == (100, 100)


def test_no_bootstrap_is_no_interval_and_one_run_has_no_deviation() -> None:
    found = covr_accuracy(flags(1, 10, 0.5), np.arange(10), bootstrap=0, seed=1)
    assert (found.interval, found.deviation) == (None, None)


def test_an_interval_draws_whole_source_images() -> None:
    """Ten questions an image with one fate are as good as one: the interval is as wide as with one each."""
    alone = flags(1, 300, 0.5)
    ten = np.repeat(alone, 10, axis=1)
    one = covr_accuracy(alone, np.arange(300), bootstrap=500, seed=1)
    assert covr_accuracy(ten, np.repeat(np.arange(300), 10), bootstrap=500, seed=1).interval == one.interval
    narrow = covr_accuracy(ten, np.arange(3_000), bootstrap=500, seed=1)
    assert narrow.interval is not None
    assert one.interval is not None
    assert narrow.interval.high - narrow.interval.low < (one.interval.high - one.interval.low) / 2


def test_generalisation_is_the_score_of_the_means() -> None:
    model, text, iid_size = flags(3, 400, 0.6), flags(2, 400, 0.5), flags(1, 400, 0.8)
    images = np.arange(400) // 2
    found = generalisation(model=model, text=text, iid_size=iid_size, images=images, bootstrap=300, seed=5)
    assert (found.model, found.text) == pytest.approx((100 * model.mean(), 100 * text.mean()))
    assert found.score == pytest.approx(100 * (model.mean() - text.mean()) / (iid_size.mean() - text.mean()))
    assert (found.n_questions, found.n_images) == (400, 200)
    assert found.interval is not None
    assert found.score is not None
    assert found.interval.low < found.score < found.interval.high
    again = generalisation(model=model, text=text, iid_size=iid_size, images=images, bootstrap=300, seed=5)
    assert again == found


def test_models_share_the_draws() -> None:
    """A model that answers as the one with the property scores 100 in every sample."""
    iid_size, text = flags(1, 400, 0.8), flags(1, 400, 0.4)
    named = {"images": np.arange(400), "bootstrap": 200, "seed": 1}
    found = generalisation(model=iid_size, text=text, iid_size=iid_size, **named)
    assert found.interval is not None
    assert (found.score, found.interval.low, found.interval.high) == pytest.approx((100, 100, 100))
    worse = generalisation(model=text, text=iid_size, iid_size=text, **named)
    assert (worse.score, worse.interval) == (None, None)
    # Without a score there is no interval, though some samples would have a score.
    near = generalisation(model=text, text=text, iid_size=text[:, ::-1], **named)
    assert (near.score, near.interval) == (None, None)


def test_shapes_that_do_not_go_together_are_refused() -> None:
    right = flags(2, 4, 0.5)
    for images in (np.arange(3), np.arange(5)):
        with pytest.raises(
            MismatchedRunsError, match=r"answers of shape \(2, 4\) to questions on \d source images"
        ):
            covr_accuracy(right, images, bootstrap=0, seed=1)
    with pytest.raises(MismatchedRunsError, match=r"shape \(2, 0\)"):
        covr_accuracy(right[:, :0], np.arange(0), bootstrap=0, seed=1)
    with pytest.raises(MismatchedRunsError, match=r"shape \(4,\)"):
        covr_accuracy(right[0], np.arange(4), bootstrap=0, seed=1)
    with pytest.raises(MismatchedRunsError, match=r"shape \(2, 3\)"):
        generalisation(
            model=right, text=right[:, :3], iid_size=right, images=np.arange(4), bootstrap=0, seed=1
        )
