"""Scores predictions about suites of paired tests made by `clevrhope suite`."""

from clevrhope.metrics.suites.results import (
    Constant,
    SuiteCondition,
    SuiteCrossing,
    SuiteGroups,
    SuitePart,
    SuiteScores,
    SuiteSplitScores,
)
from clevrhope.metrics.suites.scorer import TIER_CHOICES, score_suite

__all__ = [
    "TIER_CHOICES",
    "Constant",
    "SuiteCondition",
    "SuiteCrossing",
    "SuiteGroups",
    "SuitePart",
    "SuiteScores",
    "SuiteSplitScores",
    "score_suite",
]
