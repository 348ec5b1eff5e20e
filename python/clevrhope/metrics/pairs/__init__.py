"""Scores pairs of questions from arrays of answers: accuracy, consistency, RAD and related measures.

A pair is an original and a partner about one image, with a known relation between their right answers.
"""

from clevrhope.metrics.pairs.coverage import coverage
from clevrhope.metrics.pairs.flags import ValueGroups, crossing_flags, pair_flags, value_flags
from clevrhope.metrics.pairs.reference import SAME_KIND, ReferenceRow, reference_results
from clevrhope.metrics.pairs.regression import Fit, least_squares
from clevrhope.metrics.pairs.relations import AnswerKind, AnswerSet, Relation
from clevrhope.metrics.pairs.scorer import score_groups, score_pairs

__all__ = [
    "SAME_KIND",
    "AnswerKind",
    "AnswerSet",
    "Fit",
    "ReferenceRow",
    "Relation",
    "ValueGroups",
    "coverage",
    "crossing_flags",
    "least_squares",
    "pair_flags",
    "reference_results",
    "score_groups",
    "score_pairs",
    "value_flags",
]
