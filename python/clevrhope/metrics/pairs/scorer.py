"""Scores the answers of several runs to pairs of questions, over all pairs and by part of each breakdown."""

from collections.abc import Mapping

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import PredictionsError
from clevrhope.metrics.measures import PAIRS, Measures, formulas
from clevrhope.metrics.pairs.flags import Pairs, check_pairs, pair_flags
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
    if len(originals) != len(partners):
        raise PredictionsError(
            f"{len(originals)} runs answer the originals, and {len(partners)} the partners"
        )
    flags = pair_flags(pairs, originals, partners, answers)
    return score_groups(flags, PAIRS, pairs.images, pairs.parts, seed=seed, bootstrap=bootstrap)


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
    found = score_flags(
        {flag: values for flag, values in flags.items() if flag != "unread"},
        formulas(measures),
        {"": np.zeros(len(images), dtype=np.int32), **(parts or {})},
        images,
        bootstrap=bootstrap,
        seed=(seed, *b"pairs"),
        counts={f"n_{name}": answered, "n_missing": ~answered, "n_unread": flags["unread"]},
    )
    return {by: {number: each.scored() for number, each in of.items()} for by, of in found.items()}


def _check_given(given: Answers, n: int, name: str) -> None:
    if given.ndim != 2 or given.shape[1] != n or not len(given):
        raise PredictionsError(f"the {name}' answers have shape {given.shape}; expected (runs, {n})")
