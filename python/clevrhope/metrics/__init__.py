"""Scores predictions: accuracies, systematicity gaps and their intervals.

It needs neither a model nor torch: it scores predictions of any model, from a file in the format of
docs/predictions.md.
"""

from clevrhope.metrics.answer_key import BREAKDOWNS
from clevrhope.metrics.estimates import Mean
from clevrhope.metrics.published import ResultRow, paper_results
from clevrhope.metrics.results import (
    Condition,
    Interval,
    Measure,
    Part,
    Results,
    Row,
    Scored,
    Scores,
    SplitScores,
)
from clevrhope.metrics.scoring import DEFAULT_BOOTSTRAP, score

__all__ = [
    "BREAKDOWNS",
    "DEFAULT_BOOTSTRAP",
    "Condition",
    "Interval",
    "Mean",
    "Measure",
    "Part",
    "ResultRow",
    "Results",
    "Row",
    "Scored",
    "Scores",
    "SplitScores",
    "paper_results",
    "score",
]
