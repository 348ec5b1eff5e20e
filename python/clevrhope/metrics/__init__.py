"""Predictions and a dataset's folder in; accuracies, systematicity gaps and their intervals out.

Needs no model and no torch: anybody's predictions are scored, from a file that docs/predictions.md describes.
"""

from clevrhope.metrics.answer_key import BREAKDOWNS
from clevrhope.metrics.gaps import Spread, gap_by_diversity, gaps_by_run, systematicity_gap
from clevrhope.metrics.paper import ResultRow, paper_results
from clevrhope.metrics.results import Accuracy, Condition, Gap, Interval, Part, Run, Scored, Scores
from clevrhope.metrics.scoring import DEFAULT_BOOTSTRAP, GAPS, score

__all__ = [
    "BREAKDOWNS",
    "DEFAULT_BOOTSTRAP",
    "GAPS",
    "Accuracy",
    "Condition",
    "Gap",
    "Interval",
    "Part",
    "ResultRow",
    "Run",
    "Scored",
    "Scores",
    "Spread",
    "gap_by_diversity",
    "gaps_by_run",
    "paper_results",
    "score",
    "systematicity_gap",
]
