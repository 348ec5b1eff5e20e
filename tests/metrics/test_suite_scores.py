"""Predictions about paired tests: scores against numbers worked out by hand, and simulated models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_folder import Rows, make_folder, right_answers, write_lines
from made_suite import MadePair, n_pairs, percents, write_suite

from clevrhope.dataset.layout import Layout
from clevrhope.errors import ConfigError, DatasetError, PredictionsError
from clevrhope.metrics import Condition, Part, Results, score
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.pairs import AnswerSet, Relation
from clevrhope.metrics.score_tables import scores_lines
from clevrhope.metrics.suite_groups import ASKS, asked_for
from clevrhope.metrics.suites import score_suite
from wording import check_refused, check_words, refused

HOP = "rubber_cylinder"

QUESTIONS = {
    HOP: {
        "train": [(0, 0, "yes")],
        "complex_iid": [(4, 0, "yes"), (4, 1, "3"), (7, 11, "red"), (7, 0, "no")],
        "complex_ood": [(1, 0, "yes"), (2, 1, "3")],
    },
    "none": {"test": [(2, 0, "no"), (2, 1, "1")]},
}

IID_PAIRS = [
    MadePair(0, "yes", "rephrase", Relation.SAME),
    MadePair(1, "3", "rephrase", Relation.SAME),
    MadePair(3, "no", "rephrase", Relation.SAME),
    MadePair(0, "no", "antonym", Relation.FLIP, swapped=True, program=1),
    MadePair(2, "yes", "is_there", Relation.IS, value="red", program=1),
    MadePair(2, "no", "is_there", Relation.IS, value="blue", tier="beyond", program=1),
]
OOD_PAIRS = [
    MadePair(0, "yes", "rephrase", Relation.SAME, cell="11"),
    MadePair(1, "yes", "any", Relation.POSITIVE, cell="10", program=1),
]

Score = Callable[..., Results]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = make_folder(tmp_path / "data", QUESTIONS)
    write_suite(root, HOP, "complex_iid", IID_PAIRS, types={"is_there": "color"})
    write_suite(root, HOP, "complex_ood", OOD_PAIRS)
    return root


def made_answers(**more: Any) -> Rows:
    """The right answers to the questions that the suite made, with `suite`."""
    return [
        {
            "hop": HOP,
            "split": split,
            "suite": "mine",
            "question_index": 2 * k + (not pair.swapped),
            "answer": pair.answer,
            **more,
        }
        for split, pairs in (("complex_iid", IID_PAIRS), ("complex_ood", OOD_PAIRS))
        for k, pair in enumerate(pairs)
    ]


def all_right(**more: Any) -> Rows:
    return [row for row in right_answers(QUESTIONS, **more) if row["hop"] == HOP] + made_answers(**more)


@pytest.fixture
def scored(folder: Path, tmp_path: Path) -> Score:
    """Scores rows on the pairs of `folder`."""

    def run(rows: Rows, **more: Any) -> Results:
        given = write_lines(tmp_path / "given.jsonl", rows)
        return score_suite(folder, "mine", given, **{"seed": 3, "bootstrap": 0, **more})

    return run


def changed(rows: Rows, suite: str | None, split: str, index: int, **values: Any) -> Rows:
    """The rows with other values at one question."""
    place = (suite, split, index)
    return [
        {**row, **values} if (row.get("suite"), row["split"], row["question_index"]) == place else row
        for row in rows
    ]


def test_an_oracle_has_a_hundred_everywhere(scored: Score) -> None:
    scores = scored(all_right(), bootstrap=20)
    (condition,) = scores.conditions
    assert (condition.hop, condition.train_size, condition.runs) == (HOP, None, (None,))
    assert (scores.n_missing, scores.n_predictions, scores.hops_missing) == (0, 6 + 8, ())
    sizes = {name: split.n for name, split in condition.splits.items()}
    assert sizes == {"complex_iid": 6, "complex_ood": 2}
    for split in condition.splits.values():
        for each in split.parts.values():
            if "accuracy" in each.mean.measures:
                assert {*percents(each.mean).values(), each.mean["strict_consistency"].value} == {100.0}
                interval = each.mean["accuracy"].interval
                assert interval.low < 100.0 == pytest.approx(interval.high)
    split = condition.splits["complex_iid"]
    assert {by: n_pairs(split.by(by)) for by in ("test", "type", "tier", "asks")} == {
        "test": [("rephrase", 3), ("antonym", 1), ("is_there", 2)],
        "type": [("no type", 4), ("color", 2)],
        "tier": [("in", 5), ("beyond", 1)],
        "asks": [("yes or no", 5), ("a number", 1)],
    }
    assert not split.by("step")
    cells = {
        name: {test: n_pairs(each.cells(test)) for test in each.by("test")}
        for name, each in condition.splits.items()
    }
    assert cells == {
        "complex_iid": {"rephrase": [("00", 3)], "antonym": [("00", 1)], "is_there": [("00", 2)]},
        "complex_ood": {"rephrase": [("11", 1)], "any": [("10", 1)]},
    }
    assert split.traits["same_programs"] == ("rephrase",)


def test_a_test_is_an_entailment_only_if_all_splits_say_so(scored: Score, folder: Path) -> None:
    scores = scored(all_right())
    entailments = {name: split.traits["entailments"] for name, split in scores.condition(HOP).splits.items()}
    assert entailments == {"complex_iid": (), "complex_ood": ("rephrase",)}
    assert "All right answers of" not in "\n".join(scores_lines(scores))
    write_suite(folder, HOP, "complex_iid", IID_PAIRS[:1])
    lines = scores_lines(scored([row for row in all_right() if row.get("question_index", 0) < 2]))
    assert "All right answers of rephrase are yes" in "\n".join(lines)


def test_shares_of_a_model_that_errs(scored: Score) -> None:
    """It errs on the original of two pairs (row 0 of the split) and on the partner of a third.

    Of the six pairs, in order: wrong and right; right and right; right and wrong; right and wrong, as the
    question of the split is the partner here; right and right; right and right.
    """
    rows = changed(all_right(), None, "complex_iid", 0, answer="no")
    rows = changed(rows, "mine", "complex_iid", 5, answer="yes")
    scores = scored(rows)
    check_words("\n".join(scores_lines(scores)))
    split = scores.condition(HOP).splits["complex_iid"]
    mean = split.mean
    assert percents(mean) == pytest.approx(
        {
            "accuracy": 100 * 9 / 12,
            "consistency": 100 * 3 / 6,
            "both_right": 100 * 3 / 6,
            "original_accuracy": 100 * 5 / 6,
            "partner_accuracy": 100 * 4 / 6,
            "rad": 100 * 3 / 5,
        }
    )
    assert mean["rad_backward"].value == pytest.approx(100 * 3 / 4)
    assert mean["rad_minus_accuracy"].value == pytest.approx(100 * (3 / 5 - 4 / 6))
    by_test = split.by("test")
    assert by_test["is_there"].mean["both_right"].value == 100.0
    assert by_test["antonym"].mean["both_right"].value == 0.0


def test_means_over_runs_and_train_sizes(scored: Score) -> None:
    """An answer to an original is that of the same run and train size."""
    rows = all_right(run=1, train_size="25k")
    rows += changed(all_right(run=2, train_size=25_000), None, "complex_ood", 0, answer="no")
    rows += all_right(run=1, train_size=200_000)
    scores = scored(rows)
    assert [(each.train_size, each.runs) for each in scores.conditions] == [
        (25_000, ("1", "2")),
        (200_000, ("1",)),
    ]
    overall = scores.condition(HOP, 25_000).splits["complex_ood"].parts[Part()]
    assert [each["both_right"].value for each in overall.runs] == [100.0, 50.0]
    assert overall.mean["both_right"].value == 75.0
    assert (overall.mean.counts["n_pairs"], overall.runs[0].counts["n_pairs"]) == (4, 2)
    assert scores.condition(HOP, 200_000).splits["complex_ood"].mean["both_right"].value == 100.0
    with pytest.raises(KeyError):
        scores.condition(HOP)


def test_a_row_of_the_suite_may_answer_the_original_too(scored: Score) -> None:
    """It then counts before that of the split, which need not be there."""
    rows = [row for row in all_right() if row["split"] == "complex_ood" and "suite" in row]
    rows += [{**rows[0], "question_index": 0, "answer": "yes"}]
    scores = scored(rows)
    mean = scores.condition(HOP).splits["complex_ood"].mean
    assert (mean.counts["n_pairs"], mean.counts["n_missing"], mean["both_right"].value) == (1, 1, 100.0)
    with_both = scored([*rows, *right_answers({HOP: {"complex_ood": [(1, 0, "no"), (2, 1, "3")]}})])
    mean = with_both.condition(HOP).splits["complex_ood"].mean
    assert (mean.counts["n_pairs"], mean.counts["n_missing"], mean["both_right"].value) == (2, 0, 100.0)


def test_pairs_without_an_answer_are_left_out_and_named(scored: Score) -> None:
    rows = [
        row
        for row in all_right(run="a")
        if (row.get("suite"), row["split"], row["question_index"])
        not in {("mine", "complex_iid", 3), (None, "complex_iid", 0), ("mine", "complex_ood", 3)}
    ]
    scores = scored(rows)
    assert scores.n_missing == 2 + 1 + 1
    assert scores.missing == (
        f"{HOP} complex_iid (suite mine, run a): pair 0 lacks an answer to question 0 of the split",
        f"{HOP} complex_iid (suite mine, run a): pair 1 lacks an answer to question 3 of the suite",
        f"{HOP} complex_iid (suite mine, run a): pair 3 lacks an answer to question 0 of the split",
    )
    iid = scores.condition(HOP).splits["complex_iid"]
    assert (iid.n, iid.mean.counts["n_pairs"], iid.n_missing) == (6, 3, 3)
    assert iid.mean["accuracy"].value == 100.0
    assert "4 pairs lack an answer and are left out: rubber" in "\n".join(scores_lines(scores))


def test_what_is_wrong_with_rows_is_counted_by_kind(scored: Score) -> None:
    one = made_answers()[0]
    odd = [
        {**one, "hop": "rubber_cilinder"},
        {**one, "split": "complex_odd"},
        {**one, "hop": "none", "split": "test"},
        {**one, "question_index": 12},
        one,
    ]
    rows = changed(all_right(), "mine", "complex_iid", 3, answer="ten")
    with refused(PredictionsError) as caught:
        scored(rows + odd)
    assert caught.value.counts == {"hop": 1, "split": 2, "question": 1, "doubled": 1, "answer": 1}


def test_rows_of_suites_are_nothing_to_the_scores_of_splits(folder: Path, tmp_path: Path) -> None:
    given = write_lines(tmp_path / "p.jsonl", all_right())
    alone = write_lines(tmp_path / "alone.jsonl", [row for row in all_right() if "suite" not in row])
    scores = score(folder, given, seed=1, by=(), hops=[HOP])
    assert scores.n_of_suites == 8
    assert scores.conditions == score(folder, alone, seed=1, by=(), hops=[HOP]).conditions
    only = write_lines(tmp_path / "only.jsonl", made_answers())
    check_refused(PredictionsError, score, folder, only, seed=1)


def test_a_note_is_shown_once(scored: Score) -> None:
    """Rows about a suite note what those about the splits do, and more."""
    of_splits = right_answers({HOP: QUESTIONS[HOP]}, note="random features")
    assert scored([*of_splits, *made_answers(note="random features; 2 words")]).notes == (
        "random features",
        "2 words",
    )


def test_other_suites_and_other_hops_are_left_aside(scored: Score) -> None:
    rows = all_right()
    more = [{**rows[-1], "suite": "rad"}, *(row for row in right_answers(QUESTIONS) if row["hop"] == "none")]
    scores = scored(rows + more)
    assert (scores.n_of_suites, len(scores.conditions)) == (1, 1)
    assert scored(rows + more, hops=[HOP]).n_left_aside == 2


def test_a_suite_is_a_name(scored: Score) -> None:
    for suite in (7, []):
        check_refused(PredictionsError, scored, [{**made_answers()[0], "suite": suite}])


def test_a_folder_without_the_suite(folder: Path, tmp_path: Path, scored: Score) -> None:
    given = write_lines(tmp_path / "p.jsonl", all_right())
    for suite in ("rad", "mime", "../x"):
        check_refused(ConfigError, score_suite, folder, suite, given, seed=1)
    check_refused(ConfigError, scored, all_right(), hops=["none"])
    check_refused(PredictionsError, scored, right_answers({HOP: QUESTIONS[HOP]}))


def test_pairs_of_other_questions_than_the_split_has(folder: Path, scored: Score) -> None:
    write_suite(folder, HOP, "complex_ood", OOD_PAIRS)
    other = make_folder(folder.parent / "other", {HOP: {"complex_ood": [(1, 0, "no"), (2, 1, "3")]}})
    layouts = [Layout(each) for each in (folder, other)]
    paths = [each.questions_h5(HOP, "complex_ood") for each in layouts]
    paths[0].write_bytes(paths[1].read_bytes())
    check_refused(DatasetError, scored, made_answers())


def test_a_choice_has_as_many_values_as_its_program_offers(folder: Path) -> None:
    pairs = [MadePair(2, "red", "choice", Relation.SAME, program=k) for k in range(4)]
    write_suite(folder, HOP, "complex_iid", pairs, name="choices")
    key = AnswerKey(folder)
    file = key.pairs(HOP, "choices", "complex_iid")
    programs = np.zeros((8, 8), dtype=np.int32)
    for row, n_offers in ((3, 2), (5, 3), (7, 5)):
        programs[row, 1 : 1 + n_offers] = 1
    file = file.with_columns(programs=programs)
    found = asked_for(file, AnswerSet.from_numbers(key.answers), ["nothing", "offer_color[red]"])
    assert [ASKS[k] for k in found] == [
        "a value",
        "one of two values",
        "one of three values",
        "one of four or more values",
    ]


def replies(condition: Condition) -> dict[str, float | None]:
    (run,) = condition.splits["complex_iid"].parts[Part("replies", "yes or no")].runs
    assert run.counts == {"n": 8}
    return {name: each.value for name, each in run.measures.items()}


def test_replies_to_questions_for_yes_or_no(scored: Score) -> None:
    """Of the six IID pairs five have such partners, and three such originals."""
    (condition,) = scored(all_right(), bootstrap=0).conditions
    right = replies(condition)
    yes = right["right_yes"]
    assert right == {"yes": yes, "no": 100 - (yes or 0), "other": 0, "right_yes": yes}
    silent = [{**row, "answer": "<UNK>" if row["answer"] == "no" else row["answer"]} for row in all_right()]
    (condition,) = scored(silent, bootstrap=0).conditions
    assert replies(condition) == right | {"no": 0, "other": right["no"]}
    numbers = [{**row, "answer": "3"} for row in all_right()]
    (condition,) = scored(numbers, bootstrap=0).conditions
    assert replies(condition) == right | {"yes": 0, "no": 0, "other": 100}
