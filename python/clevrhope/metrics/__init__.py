"""Predictions and a dataset's folder in; accuracies, systematicity gaps and their intervals out.

Needs no model and no torch: anybody's predictions are scored, from a file that docs/predictions.md describes.
"""

from clevrhope.metrics.answer_key import BREAKDOWNS
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
    "Run",
    "Scored",
    "Scores",
    "score",
]
