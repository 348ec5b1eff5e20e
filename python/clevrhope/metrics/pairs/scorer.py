"""Scores the answers of several runs to pairs of questions, and to pairs that share their originals."""

from collections.abc import Mapping

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError
from clevrhope.metrics.measures import CROSSINGS, GROUPS, PAIRS, Measures, formulas
from clevrhope.metrics.pairs.flags import (
    Pairs,
    ValueGroups,
    check_pairs,
    crossing_flags,
    pair_flags,
    value_flags,
)
from clevrhope.metrics.pairs.relations import Answers, AnswerSet
from clevrhope.metrics.results import Scored
from clevrhope.metrics.shares import Flags, score_flags


def score_pairs(
    pairs: Pairs, originals: Answers, partners: Answers, answers: AnswerSet, *, seed: int, bootstrap: int = 0
) -> dict[str, dict[int, Scored]]:
    """The scores of R runs on K pairs: breakdown -> part that has a pair -> scores; "" -> 0 -> all pairs.

    Intervals are percentiles of a bootstrap that draws images with replacement, each with all of its pairs.
    All groups and runs share the draws.

    Args:
        pairs: the pairs with their right answers.
        originals: (R, K) the runs' answers to the originals, NOT_GIVEN where one is missing.
        partners: (R, K) the runs' answers to the partners, likewise.
        answers: the vocabulary.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.

    Raises:
        PredictionsError: arrays do not fit together, or a pair's right answers do not satisfy its relation.
    """
    check_pairs(pairs, answers)
    _check_given(originals, len(pairs), "originals")
    _check_given(partners, len(pairs), "partners")
    _check_runs(originals, partners, "originals")
    flags = pair_flags(pairs, originals, partners, answers)
    groups = {"": np.zeros(len(pairs), dtype=np.int32), **pairs.parts}
    return _scored(flags, PAIRS, groups, pairs.images, seed=seed, bootstrap=bootstrap)


def score_crossings(
    images: Ints,
    right: tuple[Ints, Ints],
    crossings: Answers,
    controls: Answers,
    answers: AnswerSet,
    *,
    seed: int,
    bootstrap: int = 0,
) -> Scored:
    """The accuracy of R runs on K crossings and on their controls, and the difference.

    `images` (K,) are those of the originals; the others are as for `crossing_flags` and `score_pairs`.

    Raises:
        PredictionsError: arrays do not fit together.
    """
    _check_given(crossings, len(images), "crossings")
    _check_given(controls, len(images), "controls")
    _check_runs(crossings, controls, "crossings")
    flags = crossing_flags(right, crossings, controls, answers)
    whole = {"": np.zeros(len(images), dtype=np.int32)}
    return _scored(flags, CROSSINGS, whole, images, seed=seed, bootstrap=bootstrap)[""][0]


def score_values(
    questions: ValueGroups,
    originals: Answers,
    partners: Answers,
    answers: AnswerSet,
    *,
    seed: int,
    bootstrap: int = 0,
) -> Scored:
    """How often R runs say yes to exactly one value, and to the value that they name themselves.

    Arguments are as for `value_flags` and `score_pairs`.

    Raises:
        PredictionsError: arrays do not fit together, or a group has no partner.
    """
    n = len(questions.images)
    _check_given(originals, n, "originals")
    _check_given(partners, len(questions.groups), "partners")
    _check_runs(originals, partners, "originals")
    if not np.array_equal(np.unique(questions.groups), np.arange(n)):
        raise PredictionsError(f"the partners' groups are not all of 0 to {n - 1}")
    flags = value_flags(questions, originals, partners, answers)
    whole = {"": np.zeros(n, dtype=np.int32)}
    return _scored(flags, GROUPS, whole, questions.images, seed=seed, bootstrap=bootstrap)[""][0]


def _scored(
    flags: dict[str, Flags],
    measures: Measures,
    groups: Mapping[str, Ints],
    images: Ints,
    *,
    seed: int,
    bootstrap: int,
) -> dict[str, dict[int, Scored]]:
    """The scores of groups; the first flag names what was answered, as in n_pairs, n_originals, n_groups."""
    unread = flags.pop("unread")
    name, answered = next(iter(flags.items()))
    found = score_flags(
        flags,
        formulas(measures),
        groups,
        images,
        bootstrap=bootstrap,
        seed=(seed, *b"pairs"),
        counts={f"n_{name}": answered, "n_missing": ~answered, "n_unread": unread},
    )
    return {by: {number: each.scored() for number, each in of.items()} for by, of in found.items()}


def _check_given(given: Answers, n: int, name: str) -> None:
    if given.ndim != 2 or given.shape[1] != n or not len(given):
        raise PredictionsError(f"the {name}' answers have shape {given.shape}; expected (runs, {n})")


def _check_runs(ones: Answers, others: Answers, name: str) -> None:
    if len(ones) != len(others):
        raise PredictionsError(f"{len(ones)} runs answer the {name}, and {len(others)} the others")
