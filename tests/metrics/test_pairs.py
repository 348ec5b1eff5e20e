"""Scores of pairs of questions against tables worked out by hand, and the identities between them."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_pairs import ANSWERS, MISSING, NO, NUMBERS, UNREAD, YES, coins, ints, make_pairs, numbers, sides

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.errors import PredictionsError
from clevrhope.metrics import Measure, Scores
from clevrhope.metrics.measures import GROUPS, PAIRS
from clevrhope.metrics.pairs import Answers, AnswerSet, Relation, pair_flags, score_groups
from clevrhope.metrics.results import Scored
from clevrhope.metrics.suite_groups import value_flags
from wording import check_refused

Given = npt.NDArray[np.int32]


def score_pairs(
    pairs: QuestionTable,
    given: Answers,
    answers: AnswerSet,
    parts: dict[str, Answers] | None = None,
    **draws: int,
) -> dict[str, dict[int, Scored]]:
    return score_groups(pair_flags(pairs, given, answers), PAIRS, pairs.image_idxs[::2], parts, **draws)


def score_run(pairs: QuestionTable, original: Given, partner: Given) -> Scores:
    return score_pairs(pairs, sides(original, partner), ANSWERS, seed=1)[""][0].mean


def share(measure: Measure) -> float:
    return measure.value / 100


def table(both: int, first: int, second: int, neither: int) -> Scores:
    """The scores of yes/no SAME pairs that are right together, at one question alone, or nowhere."""
    counts = [both, first, second, neither]
    original = np.repeat([YES, YES, NO, NO], counts)
    partner = np.repeat([YES, NO, YES, NO], counts)
    return score_run(make_pairs(np.full(sum(counts), YES), Relation.SAME), ints(original), ints(partner))


def test_a_table_worked_out_by_hand() -> None:
    """Of 10 pairs 4 are right together, 2 at the original alone, 1 at the partner alone, 3 nowhere."""
    scores = table(4, 2, 1, 3)
    assert scores["accuracy"] == Measure(pytest.approx(55), 20)
    assert scores["original_accuracy"] == Measure(pytest.approx(60), 10)
    assert scores["partner_accuracy"] == Measure(pytest.approx(50), 10)
    assert scores["both_right"] == Measure(pytest.approx(40), 10)
    assert scores["consistency"] == Measure(pytest.approx(70), 10)
    assert scores["strict_consistency"] == Measure(pytest.approx(70), 10)
    assert scores["rad"] == Measure(pytest.approx(200 / 3), 6)
    assert scores["rad_backward"] == Measure(pytest.approx(80), 5)
    assert scores["rad_minus_accuracy"] == Measure(pytest.approx(50 / 3), 6)
    assert [*scores.counts.values()] == [10, 0, 0]


def test_an_empty_denominator_gives_none_and_not_zero() -> None:
    scores = table(0, 0, 2, 3)
    assert scores["rad"] == scores["rad_minus_accuracy"] == Measure(None, 0)
    assert scores["rad_backward"] == Measure(0.0, 2)
    assert table(0, 3, 0, 1)["rad_backward"] == Measure(None, 0)
    missing = ints([MISSING, MISSING])
    pairs = make_pairs([YES, NO], Relation.SAME)
    nothing = score_pairs(pairs, sides(missing, missing), ANSWERS, seed=1, bootstrap=20)[""][0].mean
    assert [*nothing.measures.values()] == [Measure(None, 0)] * 9
    assert (nothing.counts["n_pairs"], nothing.counts["n_missing"]) == (0, 2)


@pytest.mark.parametrize(
    ("relation", "right", "value", "original", "partner", "consistent", "strict"),
    [
        (Relation.SAME, "yes", "", "no", "no", True, True),
        (Relation.SAME, "yes", "", "no", "yes", False, False),
        (Relation.SAME, "yes", "", "red", "red", True, False),  # is no answer to a yes/no question
        (Relation.SAME, "red", "", "blue", "blue", True, True),
        (Relation.SAME, "red", "", "yes", "yes", True, False),
        (Relation.SAME, "2", "", "1", "1", True, True),
        (Relation.SAME, "red", "", "unread", "unread", False, False),
        (Relation.FLIP, "yes", "", "no", "yes", True, True),
        (Relation.FLIP, "yes", "", "no", "no", False, False),
        (Relation.FLIP, "yes", "", "no", "red", True, False),
        (Relation.FLIP, "yes", "", "red", "no", True, False),
        (Relation.FLIP, "yes", "", "yes", "unread", True, False),
        (Relation.FLIP, "yes", "", "unread", "unread", False, False),
        (Relation.FLIP, "yes", "", "unread", "no", True, False),
        (Relation.IS, "red", "red", "red", "yes", True, True),
        (Relation.IS, "red", "red", "blue", "yes", True, False),
        (Relation.IS, "red", "red", "blue", "no", True, True),
        (Relation.IS, "red", "red", "red", "no", True, False),
        (Relation.IS, "red", "red", "blue", "cube", True, False),
        (Relation.IS, "red", "red", "blue", "blue", False, False),
        (Relation.IS, "red", "red", "unread", "no", True, False),
        (Relation.IS, "red", "red", "no", "no", False, False),  # "no" is not a color
        (Relation.IS, "red", "red", "cube", "no", True, False),  # nor is a shape
        (Relation.SAME, "red", "", "cube", "cube", True, False),
        (Relation.SAME, "yes", "", "<UNK>", "<UNK>", False, False),  # nobody knows whether they are equal
        (Relation.IS, "2", "1", "red", "no", True, False),
        (Relation.IS, "2", "1", "2", "no", True, True),
        (Relation.POSITIVE, "2", "", "1", "yes", True, True),
        (Relation.POSITIVE, "2", "", "0", "yes", True, False),
        (Relation.POSITIVE, "2", "", "0", "no", True, True),
        (Relation.POSITIVE, "2", "", "cube", "no", True, False),
        (Relation.POSITIVE, "2", "", "1", "1", False, False),
    ],
)
def test_what_is_consistent_with_itself(
    relation: Relation, right: str, value: str, original: str, partner: str, consistent: bool, strict: bool
) -> None:
    pairs = make_pairs(numbers([right]), relation, values=numbers([value]) if value else None)
    given_answers = sides(numbers([original]), numbers([partner]))
    found = pair_flags(pairs, given_answers, ANSWERS)
    assert (found["consistent"].item(), found["strict"].item()) == (consistent, strict)
    # A model whose answers are consistent with each other stays so whatever the right answers are.
    for other in {"yes": ("no",), "red": ("blue",), "2": ("0", "1")}[right]:
        again = make_pairs(numbers([other]), relation, values=pairs.value[::2])
        same = pair_flags(again, given_answers, ANSWERS)
        assert (same["consistent"].item(), same["strict"].item()) == (consistent, strict)


def test_missing_and_unread_answers_are_counted() -> None:
    pairs = make_pairs([YES] * 6, Relation.SAME)
    original = numbers(["yes", "missing", "yes", "missing", "unread", "<UNK>"])
    partner = numbers(["yes", "yes", "missing", "unread", "yes", "unread"])
    scores = score_run(pairs, original, partner)
    assert [*scores.counts.values()] == [3, 3, 4]
    assert scores["accuracy"] == Measure(pytest.approx(50), 6)
    assert scores["original_accuracy"] == Measure(pytest.approx(100 / 3), 3)
    assert scores["consistency"] == Measure(pytest.approx(100 / 3), 3)
    # A number beyond the vocabulary is no answer either.
    assert score_run(make_pairs([YES], Relation.SAME), ints([999]), ints([YES])).counts["n_unread"] == 1


YES_NO_PAIRS = st.lists(
    st.tuples(
        st.sampled_from([Relation.SAME, Relation.FLIP]),
        st.sampled_from([NO, YES]),
        st.sampled_from([NO, YES, NUMBERS["red"], NUMBERS["1"], UNREAD, MISSING, 999]),
        st.sampled_from([NO, YES, NUMBERS["red"], NUMBERS["1"], UNREAD, MISSING, 999]),
    ),
    min_size=1,
    max_size=60,
)


@given(YES_NO_PAIRS)
def test_consistency_follows_from_accuracy_for_yes_no_pairs(
    rows: list[tuple[Relation, int, int, int]],
) -> None:
    """Strict = 1 - 2 (ACC - C-ACC) - P(neither right and some answer neither yes nor no)."""
    relations, right, original, partner = (np.array(column) for column in zip(*rows, strict=True))
    pairs = make_pairs(right, relations.astype(np.int8))
    scores = score_run(pairs, ints(original), ints(partner))
    complete = (original != MISSING) & (partner != MISSING)
    assert scores.counts["n_missing"] == (~complete).sum()
    if not complete.any():
        assert scores["strict_consistency"].value is None
        return
    neither_right = (original != pairs.answers[::2]) & (partner != pairs.answers[1::2])
    other = ~np.isin(original, [NO, YES]) | ~np.isin(partner, [NO, YES])
    lost = float((neither_right & other)[complete].mean())
    expected = 1 - 2 * (share(scores["accuracy"]) - share(scores["both_right"])) - lost
    assert share(scores["strict_consistency"]) == pytest.approx(expected, abs=1e-12)


@given(
    both=st.integers(0, 50), first=st.integers(0, 50), second=st.integers(0, 50), neither=st.integers(0, 50)
)
def test_rad_is_comprehensive_accuracy_over_accuracy_and_within_its_bounds(
    both: int, first: int, second: int, neither: int
) -> None:
    assume(both + first + second + neither > 0)
    scores = table(both, first, second, neither)
    for rad, given_right, other in (
        (scores["rad"], scores["original_accuracy"], scores["partner_accuracy"]),
        (scores["rad_backward"], scores["partner_accuracy"], scores["original_accuracy"]),
    ):
        a, b = share(given_right), share(other)
        if a == 0:
            assert rad == Measure(None, 0)
            continue
        assert share(rad) == pytest.approx(share(scores["both_right"]) / a, abs=1e-12)
        assert max(0, (a + b - 1) / a) - 1e-12 <= share(rad) <= min(1, b / a) + 1e-12
    if scores["rad"].value is not None:
        difference = share(scores["rad"]) - share(scores["partner_accuracy"])
        assert share(scores["rad_minus_accuracy"]) == pytest.approx(difference, abs=1e-12)


# Runs, parts and intervals


def random_runs(n: int, n_runs: int, seed: int) -> tuple[Given, Given]:
    generator = np.random.default_rng(seed)
    found = generator.choice([NO, YES, YES, NUMBERS["red"], UNREAD, MISSING], size=(2, n_runs, n))
    return ints(found[0]), ints(found[1])


def test_parts_are_scored_as_they_are_alone() -> None:
    n = 300
    part = ints(np.random.default_rng(3).choice([0, 2, 5], n))
    pairs, answers = make_pairs(coins(n, 1), Relation.FLIP), sides(*random_runs(n, 3, seed=2))
    scored = score_pairs(pairs, answers, ANSWERS, {"cell": part}, seed=1)
    assert [*scored["cell"]] == [0, 2, 5]
    for number, group in scored["cell"].items():
        rows = np.flatnonzero(np.repeat(part == number, 2))
        assert group == score_pairs(pairs.take(rows), answers[:, rows], ANSWERS, seed=1)[""][0]
    by_part = [group.mean.counts["n_unread"] for group in scored["cell"].values()]
    assert sum(by_part) == scored[""][0].mean.counts["n_unread"] > 0


def test_the_mean_over_runs_leaves_out_runs_without_a_share() -> None:
    """One run has RAD 1/2, one 1, and one has no original right; the counts are summed."""
    pairs = make_pairs([YES, YES], Relation.SAME)
    originals, partners = ints([[YES, YES], [NO, YES], [NO, NO]]), ints([[YES, NO], [NO, YES], [YES, YES]])
    overall = score_pairs(pairs, sides(originals, partners), ANSWERS, seed=1)[""][0]
    assert [run["rad"].value for run in overall.runs] == [50.0, 100.0, None]
    assert overall.mean["rad"] == Measure(75.0, 3, deviation=pytest.approx(25 * 2**0.5))
    assert overall.mean["accuracy"] == Measure(
        pytest.approx(100 * 7 / 12), 12, None, pytest.approx(100 / 12 * 3**0.5)
    )
    assert overall.mean.counts["n_pairs"] == 6


def test_pairs_need_yes_and_no() -> None:
    check_refused(PredictionsError, type(ANSWERS).from_numbers, {"no": 4})


# Groups of questions


def test_one_yes_and_the_one_that_is_named() -> None:
    """Four groups with a partner for red, blue and cube each, and one that lacks an answer."""
    values = numbers(["red", "blue", "cube"] * 5)
    questions = (ints(np.repeat(np.arange(5), 3)), values)
    original = numbers(["red", "red", "blue", "unread", "red"])
    partners = numbers(
        [
            *("yes", "no", "no"),  # red alone, as named
            *("no", "yes", "no"),  # blue alone, though red was named
            *("no", "yes", "yes"),  # two
            *("yes", "unread", "no"),  # one, and none was named
            *("yes", "missing", "no"),
        ]
    )
    flags = value_flags(*questions, original[np.newaxis], partners[np.newaxis], ANSWERS)
    found = score_groups(flags, GROUPS, np.arange(5), seed=1, bootstrap=50)[""][0].mean
    one_yes, named_yes = found["one_yes"], found["named_yes"]
    assert (one_yes.value, one_yes.n, named_yes.value, named_yes.n) == (75.0, 4, 25.0, 4)
    assert [*found.counts.values()] == [4, 1, 2]
    assert one_yes.interval.low < 75 <= one_yes.interval.high
