"""COVR's scores: accuracies, baselines, and the generalisation score of runs with held-out questions."""

from clevrhope.metrics.covr.rates import (
    FrequentAnswers,
    Generalisation,
    accuracy_by_template,
    covr_accuracy,
    frequent_answers,
    generalisation,
    generalisation_score,
    source_images,
)

__all__ = [
    "FrequentAnswers",
    "Generalisation",
    "accuracy_by_template",
    "covr_accuracy",
    "frequent_answers",
    "generalisation",
    "generalisation_score",
    "source_images",
]
