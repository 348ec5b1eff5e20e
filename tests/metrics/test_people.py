"""Answers of several people: their majority, and Krippendorff's alpha."""

from itertools import combinations

import pytest

from clevrhope.metrics.people import AMBIGUOUS, agreement, krippendorff_alpha, majority


def test_the_published_example_of_alpha() -> None:
    # Krippendorff 2011, part C: four observers, twelve units, nominal data; alpha is 0.743.
    by_observer = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = zip(*(row.split() for row in by_observer), strict=True)
    assert krippendorff_alpha([[each for each in unit if each != "."] for unit in units]) == pytest.approx(
        0.743, abs=5e-4
    )


def test_alpha_is_one_less_the_disagreement_over_that_of_chance() -> None:
    units = [["yes", "yes", "no"], ["no", "no"], ["yes", "red"], ["red"]]
    pairs = [(a != b, 1 / (len(unit) - 1)) for unit in units for a, b in combinations(unit, 2)]
    flat = [each for unit in units if len(unit) > 1 for each in unit]
    observed = sum(weight * differs for differs, weight in pairs) / len(flat)
    by_chance = sum(a != b for a, b in combinations(flat, 2)) / (len(flat) * (len(flat) - 1))
    assert krippendorff_alpha(units) == pytest.approx(1 - observed / by_chance)


@pytest.mark.parametrize("units", [[], [["yes"], ["no"]], [["yes", "yes"], ["yes", "yes"]]])
def test_without_two_answers_or_two_people_alpha_is_not_defined(units: list[list[str]]) -> None:
    assert krippendorff_alpha(units) is None


def test_full_agreement_and_agreement_of_chance() -> None:
    assert krippendorff_alpha([["yes", "yes"], ["no", "no"]]) == 1
    by_chance = krippendorff_alpha([["yes", "no"], ["no", "yes"], ["yes", "yes"], ["no", "no"]] * 500)
    assert by_chance == pytest.approx(0, abs=1e-3)


def test_the_majority_is_the_answer_of_most() -> None:
    assert majority(["yes"]) == "yes"
    assert majority(["yes", "no", "yes"]) == "yes"
    assert majority(["yes", "no"]) is None
    assert majority(["red", "blue", AMBIGUOUS, AMBIGUOUS]) == AMBIGUOUS


def test_agreement_counts() -> None:
    found = agreement({"a": ["yes", "no"], "b": ["no", "no", AMBIGUOUS]}, n_people=3)
    assert (found.n_people, found.n_answers, found.n_ambiguous, found.n_undecided) == (3, 5, 1, 1)
