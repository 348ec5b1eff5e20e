"""Scores the answers of several runs to pairs of questions, over all pairs and by part of each breakdown."""

from collections.abc import Mapping

import numpy as np

from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.measures import PAIRS, Measures, formulas
from clevrhope.metrics.pairs.flags import pair_flags
from clevrhope.metrics.pairs.relations import Answers, AnswerSet
from clevrhope.metrics.results import Scored
from clevrhope.metrics.shares import Flags, score_flags


def score_pairs(
    pairs: QuestionTable,
    given: Answers,
    answers: AnswerSet,
    parts: Mapping[str, Ints] | None = None,
    *,
    seed: int,
    bootstrap: int = 0,
) -> dict[str, dict[int, Scored]]:
    """The scores of R runs on K pairs: breakdown -> part that has a pair -> scores; "" -> 0 -> all pairs.

    Intervals are percentiles of a bootstrap that draws images with replacement, each with all of its pairs.
    All groups and runs share the draws.

    Args:
        pairs: the 2K questions of the pairs: each original is followed by its partner.
        given: (R, 2K) the runs' answers, NOT_GIVEN where one is missing.
        answers: the vocabulary.
        parts: breakdown ("test", "type", "tier", "cell", ...) -> (K,) the part of each pair, from 0.
        seed: seed of the bootstrap, 0 or more; the same seed gives the same intervals.
        bootstrap: number of bootstrap samples; 0 for no intervals.
    """
    flags = pair_flags(pairs, given, answers)
    return score_groups(flags, PAIRS, pairs.image_idxs[::2], parts, seed=seed, bootstrap=bootstrap)


def score_groups(
    flags: dict[str, Flags],
    measures: Measures,
    images: Ints,
    parts: Mapping[str, Ints] | None = None,
    *,
    seed: int,
    bootstrap: int = 0,
) -> dict[str, dict[int, Scored]]:
    """The scores of flags, each (R, K): breakdown -> part -> scores, and "" -> 0 -> all K.

    The counts are those of what was answered, named by the first flag (n_pairs, n_originals, n_groups), of
    what was not (n_missing), and of answers that cannot be read (n_unread, from the flag "unread").
    """
    name, answered = next(iter(flags.items()))
    figures = score_flags(
        {flag: values for flag, values in flags.items() if flag != "unread"},
        formulas(measures),
        {"": np.zeros(len(images), dtype=np.int32), **(parts or {})},
        images,
        bootstrap=bootstrap,
        seed=(seed, *b"pairs"),
        counts={f"n_{name}": answered, "n_missing": ~answered, "n_unread": flags["unread"]},
    )
    return {by: {number: group.scored() for number, group in of.items()} for by, of in figures.items()}
