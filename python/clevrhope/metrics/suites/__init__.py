"""Scores predictions about suites of paired tests, which `clevrhope suite` makes."""

from clevrhope.metrics.suites.results import SuiteCondition, SuitePart, SuiteScores, SuiteSplitScores
from clevrhope.metrics.suites.scorer import TIER_CHOICES, score_suite

__all__ = [
    "TIER_CHOICES",
    "SuiteCondition",
    "SuitePart",
    "SuiteScores",
    "SuiteSplitScores",
    "score_suite",
]
