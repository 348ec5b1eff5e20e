"""Models whose scores on pairs can be worked out: coins, constants, and one that sees the wrong material."""

from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest
from made_pairs import ANSWERS, NO, NUMBERS, YES, coins, ints, make_pairs, sides

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.metrics import Scores
from clevrhope.metrics.pairs import AnswerSet, Relation, score_pairs

N = 40_000

Kinds = npt.NDArray[np.int64]


def score_run(
    pairs: QuestionTable,
    original: npt.NDArray[np.int32],
    partner: npt.NDArray[np.int32],
    answers: AnswerSet = ANSWERS,
) -> Scores:
    return score_pairs(pairs, sides(original, partner), answers, seed=1)[""][0].mean


def near(percent: float, n: int = N) -> object:
    """Within five standard errors of a share of n."""
    p = percent / 100
    return pytest.approx(percent, abs=500 * sqrt(p * (1 - p) / n))


@pytest.mark.parametrize(("relation", "consistency"), [(Relation.SAME, 25), (Relation.FLIP, 75)])
def test_four_answers_at_random(relation: Relation, consistency: float) -> None:
    """The example of CARETS's README: two of the four answers are yes and no."""
    guesses = ints(np.random.default_rng(2).choice([NO, YES, NUMBERS["red"], NUMBERS["cube"]], (2, N)))
    scores = score_run(make_pairs(coins(N, 1), relation), *guesses)
    assert scores["accuracy"].value == near(25)
    assert scores["consistency"].value == near(consistency)
    assert scores["both_right"].value == near(6.25)
    # Of the sixteen pairs of answers two are yes and no in the right relation.
    assert scores["strict_consistency"].value == near(12.5)


@pytest.mark.parametrize(("accuracy", "other"), [(0.8, 0.3), (0.5, 0.9)])
def test_rad_of_independent_answers_is_the_other_accuracy(accuracy: float, other: float) -> None:
    right, generator = coins(N, 1), np.random.default_rng(2)
    wrong = np.where(right == NO, YES, NO)
    original = ints(np.where(generator.random(N) < accuracy, right, wrong))
    partner = ints(np.where(generator.random(N) < other, right, wrong))
    scores = score_run(make_pairs(right, Relation.SAME), original, partner)
    assert scores["rad"].value == near(100 * other, int(N * accuracy))
    assert scores["rad_backward"].value == near(100 * accuracy, int(N * other))
    assert scores["rad_minus_accuracy"].value == pytest.approx(0, abs=2.5)


def test_different_answers_say_nothing_where_the_original_is_no_yes_no_question() -> None:
    """A color always differs from yes and no, whatever color was asked for."""
    generator = np.random.default_rng(3)
    colors = [NUMBERS["red"], NUMBERS["blue"]]
    right, asked, named = ints(generator.choice(colors, (3, N)))
    scores = score_run(make_pairs(right, Relation.IS, values=asked), named, coins(N, 4))
    assert scores["consistency"].value == 100
    assert scores["strict_consistency"].value == near(50)


def test_a_model_that_sees_one_material_for_another_is_consistent_and_wrong() -> None:
    """It takes rubber cylinders for metal ones, and reasons without fault about what it sees.

    Order pairs: how many of the objects are of two kinds, which are named in either order. As every question
    is about rubber cylinders or metal ones, each answer is off where there is a rubber cylinder.
    """
    generator = np.random.default_rng(5)
    n, n_objects, kinds = 4_000, 6, ("rubber cylinder", "metal cylinder", "rubber cube", "metal cube")
    scenes = generator.integers(0, len(kinds), (n, n_objects))
    seen = np.where(scenes == kinds.index("rubber cylinder"), kinds.index("metal cylinder"), scenes)
    about = generator.integers(0, 2, n)  # a rubber or a metal cylinder
    beside = generator.integers(2, 4, n)  # a cube
    answers = AnswerSet.from_numbers({**{str(k): k for k in range(7)}, "no": 7, "yes": 8})

    def counted(objects: Kinds, first: Kinds, second: Kinds) -> npt.NDArray[np.int32]:
        either = (objects == first[:, np.newaxis]) | (objects == second[:, np.newaxis])
        return ints(either.sum(axis=1))

    pairs = make_pairs(counted(scenes, about, beside), Relation.SAME)
    scores = score_run(pairs, counted(seen, about, beside), counted(seen, beside, about), answers)
    assert (scores["consistency"].value, scores["strict_consistency"].value) == (100, 100)
    # It is right where no object of the scene is a rubber cylinder: with six objects of four kinds 0.75 ** 6.
    assert scores["accuracy"].value == near(100 * 0.75**6, n)
    assert scores["rad"].value == 100
