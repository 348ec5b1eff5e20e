"""Scores pairs of questions: accuracy, consistency, RAD and what follows from them, from arrays of answers.

A pair is an original and a partner on one image, the relation of whose right answers is known.
"""

from clevrhope.metrics.pairs.coverage import coverage
from clevrhope.metrics.pairs.outcomes import Outcomes, Pairs, pair_outcomes
from clevrhope.metrics.pairs.relations import AnswerKind, AnswerSet, Relation
from clevrhope.metrics.pairs.results import (
    Measure,
    PairGroup,
    PairScores,
    ScoredPairs,
    ScoredValues,
    ValueScores,
)
from clevrhope.metrics.pairs.scorer import score_pairs
from clevrhope.metrics.pairs.value_groups import ValueGroups, score_values

__all__ = [
    "AnswerKind",
    "AnswerSet",
    "Measure",
    "Outcomes",
    "PairGroup",
    "PairScores",
    "Pairs",
    "Relation",
    "ScoredPairs",
    "ScoredValues",
    "ValueGroups",
    "ValueScores",
    "coverage",
    "pair_outcomes",
    "score_pairs",
    "score_values",
]
