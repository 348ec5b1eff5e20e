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
from clevrhope.metrics.suites.questions import Chosen


def crossings(
    file: QuestionTable, given: AnswerNumbers, chosen: Chosen, answers: AnswerSet, **draws: Any
) -> Iterator[tuple[str, str, Scored]]:
    """The tests that have a control, their controls, and the scores on the originals with pairs of both.

    Args:
        file: the K pairs of a suite on a split.
        given: (R, 2K) answers of R runs to the pairs' questions.
        chosen: (K,) the pairs that are scored.
        answers: the vocabulary.
        draws: the keyword arguments `seed` and `bootstrap`.
    """
    rows = file
    for control, name in enumerate(file.controls):
        if name not in file.tests:
            continue
        test = file.tests.index(name)
        of_control = _by_original(file, chosen & (rows.test[::2] == control))
        of_test = _by_original(file, chosen & (rows.test[::2] == test))
        both = [(pair, of_control[original]) for original, pair in of_test.items() if original in of_control]
        if not both:
            continue
        one, other = 2 * np.asarray(both, dtype=np.int64).T + 1  # (2, K)
        right = rows.answers[one], rows.answers[other]
        flags = crossing_flags(right, given[:, one], given[:, other], answers)
        scored = score_groups(flags, CROSSINGS, rows.image_idxs[one], **draws)
        yield name, file.tests[control], scored[""][0]


def groups(
    file: QuestionTable, given: AnswerNumbers, chosen: Chosen, answers: AnswerSet, **draws: Any
) -> Iterator[tuple[str, Scored]]:
    """The tests whose originals have a partner for each of several values; arguments as in `crossings`."""
    rows = file
    tests, is_value = rows.test[::2], chosen & (rows.relation[::2] == Relation.IS)
    for test in np.unique(tests[is_value]).tolist():
        pairs = np.flatnonzero(is_value & (tests == test))
        images, questions = rows.image_idxs[2 * pairs], rows.questions[2 * pairs]
        first = np.ones(len(pairs), dtype=np.bool_)  # of its original; pairs with one original are adjacent
        first[1:] = (images[1:] != images[:-1]) | (questions[1:] != questions[:-1]).any(axis=1)
        if first.all():
            continue
        of_original = (np.cumsum(first) - 1).astype(np.int32)
        asked = ValueGroups(of_original, rows.value[2 * pairs])
        flags = value_flags(asked, given[:, 2 * pairs[first]], given[:, 2 * pairs + 1], answers)
        scored = score_groups(flags, GROUPS, rows.image_idxs[2 * pairs[first]], **draws)
        yield file.tests[test], scored[""][0]


def _by_original(file: QuestionTable, pairs: Chosen) -> dict[tuple[int, bytes], int]:
    """Image and tokens of an original -> the index of its pair, among the (K,) flagged pairs."""
    rows = file
    places = np.flatnonzero(pairs)
    images, questions = rows.image_idxs[2 * places].tolist(), rows.questions[2 * places]
    return {
        (image, question.tobytes()): pair
        for image, question, pair in zip(images, questions, places.tolist(), strict=True)
    }
