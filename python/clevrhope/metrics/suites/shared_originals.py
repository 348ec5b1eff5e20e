"""Pairs that share an original: crossings with their controls, and groups with a partner for every value."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.metrics.collector import AnswerNumbers
from clevrhope.metrics.measures import CROSSINGS, GROUPS
from clevrhope.metrics.pairs import (
    AnswerSet,
    Relation,
    ValueGroups,
    crossing_flags,
    score_groups,
    value_flags,
)
from clevrhope.metrics.results import Scored


def crossings(
    pairs: QuestionTable, given: AnswerNumbers, answers: AnswerSet, **draws: Any
) -> Iterator[tuple[str, str, Scored]]:
    """The tests that have a control, their controls, and the scores on the originals with pairs of both.

    Args:
        pairs: the 2K questions of the pairs of a suite on a split.
        given: (R, 2K) answers of R runs to them.
        answers: the vocabulary.
        draws: the keyword arguments `seed` and `bootstrap`.
    """
    for control, name in enumerate(pairs.controls):
        if name not in pairs.tests:
            continue
        of_control, of_test = (_by_original(pairs, test) for test in (control, pairs.tests.index(name)))
        both = [(pair, of_control[original]) for original, pair in of_test.items() if original in of_control]
        if not both:
            continue
        one, other = 2 * np.asarray(both, dtype=np.int64).T + 1  # (2, K)
        right = pairs.answers[one], pairs.answers[other]
        flags = crossing_flags(right, given[:, one], given[:, other], answers)
        scored = score_groups(flags, CROSSINGS, pairs.image_idxs[one], **draws)
        yield name, pairs.tests[control], scored[""][0]


def groups(
    pairs: QuestionTable, given: AnswerNumbers, answers: AnswerSet, **draws: Any
) -> Iterator[tuple[str, Scored]]:
    """The tests whose originals have a partner for each of several values; arguments as in `crossings`."""
    tests, is_value = pairs.test[::2], pairs.relation[::2] == Relation.IS
    for test in np.unique(tests[is_value]).tolist():
        places = np.flatnonzero(is_value & (tests == test))
        images, questions = pairs.image_idxs[2 * places], pairs.questions[2 * places]
        first = np.ones(len(places), dtype=np.bool_)  # of its original; pairs with one original are adjacent
        first[1:] = (images[1:] != images[:-1]) | (questions[1:] != questions[:-1]).any(axis=1)
        if first.all():
            continue
        of_original = (np.cumsum(first) - 1).astype(np.int32)
        asked = ValueGroups(of_original, pairs.value[2 * places])
        flags = value_flags(asked, given[:, 2 * places[first]], given[:, 2 * places + 1], answers)
        scored = score_groups(flags, GROUPS, images[first], **draws)
        yield pairs.tests[test], scored[""][0]


def _by_original(pairs: QuestionTable, test: int) -> dict[tuple[int, bytes], int]:
    """Image and tokens of an original -> the index of its pair, among the pairs of a test."""
    places = np.flatnonzero(pairs.test[::2] == test)
    images, questions = pairs.image_idxs[2 * places].tolist(), pairs.questions[2 * places]
    return {
        (image, question.tobytes()): pair
        for image, question, pair in zip(images, questions, places.tolist(), strict=True)
    }
