"""Scores predictions: accuracies, systematicity gaps and their intervals.

It needs neither a model nor torch: it scores predictions of any model, from a file in the format of
docs/predictions.md.
"""

from clevrhope.metrics.answer_key import BREAKDOWNS
from clevrhope.metrics.gaps import gap_by_diversity, gaps_by_run, systematicity_gap
from clevrhope.metrics.means import Mean
from clevrhope.metrics.paper import ResultRow, paper_results
from clevrhope.metrics.results import Accuracy, Condition, Gap, Interval, Part, Run, Scored, Scores
from clevrhope.metrics.scorer import DEFAULT_BOOTSTRAP, score

__all__ = [
    "BREAKDOWNS",
    "DEFAULT_BOOTSTRAP",
    "Accuracy",
    "Condition",
    "Gap",
    "Interval",
    "Mean",
    "Part",
    "ResultRow",
    "Run",
    "Scored",
    "Scores",
    "gap_by_diversity",
    "gaps_by_run",
    "paper_results",
    "score",
    "systematicity_gap",
]
