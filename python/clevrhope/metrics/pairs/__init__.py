"""Scores pairs of questions from arrays of answers: accuracy, consistency, RAD and related measures.

A pair is an original and a partner about one image, with a known relation between their right answers.
"""

from clevrhope.metrics.pairs.coverage import coverage
from clevrhope.metrics.pairs.crossings import score_crossings
from clevrhope.metrics.pairs.outcomes import Outcomes, Pairs, pair_outcomes
from clevrhope.metrics.pairs.reference import SAME_KIND, ReferenceRow, reference_results
from clevrhope.metrics.pairs.regression import Fit, least_squares
from clevrhope.metrics.pairs.relations import AnswerKind, AnswerSet, Relation
from clevrhope.metrics.pairs.results import (
    CrossingScores,
    Measure,
    PairGroup,
    PairScores,
    ScoredCrossings,
    ScoredPairs,
    ScoredValues,
    ValueScores,
)
from clevrhope.metrics.pairs.scorer import score_pairs
from clevrhope.metrics.pairs.value_groups import ValueGroups, score_values

__all__ = [
    "SAME_KIND",
    "AnswerKind",
    "AnswerSet",
    "CrossingScores",
    "Fit",
    "Measure",
    "Outcomes",
    "PairGroup",
    "PairScores",
    "Pairs",
    "ReferenceRow",
    "Relation",
    "ScoredCrossings",
    "ScoredPairs",
    "ScoredValues",
    "ValueGroups",
    "ValueScores",
    "coverage",
    "least_squares",
    "pair_outcomes",
    "reference_results",
    "score_crossings",
    "score_pairs",
    "score_values",
]
