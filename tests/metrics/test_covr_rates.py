"""COVR's scores: the paper's own, recomputed from its tables, and those of answers that are made up."""

import numpy as np
import numpy.typing as npt
import pytest

from clevrhope.dataset.answer_counts import answer_counts, maj, maj_templ
from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.metrics import Measure
from clevrhope.metrics.answer_key import drawn_images
from clevrhope.metrics.measures import GENERALISATION
from clevrhope.metrics.published import covr_results
from clevrhope.metrics.shares import score_flags
from clevrhope.report.covr import published_table
from clevrhope.splits.covr.aliases import covr_paper

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


def generalisation_score(model: float, text: float, iid_size: float) -> float | None:
    """The score of three accuracies in per cent."""
    flags = {"questions": 100, "held_out": model, "text": text, "iid_size": iid_size}
    sums = {name: np.asarray([value], dtype=float) for name, value in flags.items()}
    score = 100 * float(GENERALISATION["score"].formula(sums)[0][0])
    return None if np.isnan(score) else score


def test_the_papers_scores_follow_from_its_tables() -> None:
    scores = {}
    for split, columns in {**covr_results()[7], **covr_results()[8]}.items():
        model = columns.get("VB_250") or columns["VB_0"]
        score = generalisation_score(float(model), float(columns["VB_TEXT"]), float(columns["VB_iid-size"]))
        assert score is not None
        scores[split] = round(score)
    assert {split: scores[split] for split in EXPECTED} == EXPECTED
    assert (len(scores), sum(score <= 70 for score in scores.values())) == (21, 10)
    shown = {row[0]: int(row[-1]) for row in published_table().rows}
    assert shown == scores
    assert {*covr_paper()["splits"]} == {*scores}
    printed = {**covr_results()[7], **covr_results()[8]}
    for split, (_, n_filtered) in covr_paper()["splits"].items():
        assert f"{n_filtered / 1000:g}k" == printed[split]["Filtered"]


@pytest.mark.parametrize(
    ("split", "templates", "score"),
    [
        ("HAS-QUANT", ["VERIFYQUANTIFIER", "VERIFYQUANTIFIER-ATTR"], 18),
        ("HAS-GROUPBY", ["COUNTGROUPBY", "VERIFYCOUNT-GROUPBY"], 75),
        ("HAS-LOGIC", ["VERIFYLOGIC"], 76),
        ("ANS-NUM", ["COUNT", "COUNTGROUPBY"], 15),
        ("TPL-CHOOSEOBJECT", ["CHOOSEOBJECT"], -475),
    ],
)
def test_the_papers_text_is_the_one_trained_on_all_questions(
    split: str, templates: list[str], score: int
) -> None:
    """Its text baseline of a split is the mean over templates of table 12, where nothing was held out."""
    text = np.mean([float(covr_results()[12][name]["VB_TEXT"]) for name in templates])
    of_split = {**covr_results()[7], **covr_results()[8]}[split]
    assert text == pytest.approx(float(of_split["VB_TEXT"]), abs=0.051)
    model = float(of_split.get("VB_250") or of_split["VB_0"])
    found = generalisation_score(model, float(text), float(of_split["VB_iid-size"]))
    assert found == pytest.approx(score, abs=0.6)


@pytest.mark.parametrize(
    ("accuracies", "score"),
    [
        ((60, 50, 70), 50),
        ((80, 50, 70), 150),
        ((40, 50, 70), -50),
        ((60, 50, 50), None),
        ((60, 50, 40), None),
    ],
)
def test_a_score_is_not_clipped_and_not_always_defined(
    accuracies: tuple[float, float, float], score: float | None
) -> None:
    assert generalisation_score(*accuracies) == pytest.approx(score)


def test_models_share_the_draws() -> None:
    """A model that answers as the one with the property scores 100 in every sample."""
    generator = np.random.default_rng(7)
    iid_size, text = (generator.random((1, 400)) < share for share in (0.8, 0.4))
    images = np.arange(400)

    def score(
        held_out: npt.NDArray[np.bool_], text: npt.NDArray[np.bool_], iid: npt.NDArray[np.bool_]
    ) -> Measure:
        flags = {"questions": np.ones((1, 400), int), "held_out": held_out, "text": text, "iid_size": iid}
        groups = {"": np.zeros(400, np.int32)}
        found = score_flags(flags, GENERALISATION, groups, images, bootstrap=200)[""][0]
        return found.scores()["score"]

    found = score(iid_size, text, iid_size)
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((100, 100, 100))
    # The score is a quotient without bounds, and so are the ends of its interval.
    better, worse = (generator.random((1, 400)) < share for share in (0.95, 0.3))
    above, below = score(better, text, iid_size), score(worse, text, iid_size)
    assert above.interval.low < above.value < above.interval.high
    assert above.value > 100
    assert below.interval.low < below.value < 0
    # Without a score there is no interval, though some samples would have a score.
    assert score(text, text, text[:, ::-1]) == score(text, iid_size, text) == Measure(None, 400)


def test_the_source_is_the_image_at_its_place() -> None:
    images = np.asarray([[7, 8, -1, -1, -1], [3, 4, 5, 6, 9]], np.int32)
    columns = {"image_idxs": images, "sources": np.asarray([1, 4], np.int8)}
    assert drawn_images(QuestionTable(SETS, columns)).tolist() == [8, 9]


def test_baselines_answer_what_is_frequent_in_train() -> None:
    answers = np.asarray([0, 1, 1, 5, 5, 5, 2, 2], np.int32)
    templates = np.asarray([0, 0, 0, 2, 2, 2, 3, 3], np.int32)
    counts = answer_counts(answers, templates, 4, 7)
    asked = np.asarray([3, 0, 1, 2], np.int32)
    none = np.full((4, 2), -1)
    assert maj(counts) == 5
    # Train asks no question of template 1.
    assert maj_templ(counts, asked, none).tolist() == [2, 1, 5, 5]
    # Of two offered answers, the more frequent one is given, or the first.
    offered = np.asarray([[6, 2], [0, 6], [5, 1], [3, 4]])
    assert maj_templ(counts, asked, offered).tolist() == [2, 0, 5, 3]
    tied = answer_counts(np.asarray([4, 3]), np.asarray([0, 0]), 1, 5)
    assert (maj(tied), maj_templ(tied, asked[1:2], none[:1]).tolist()) == (3, [3])
