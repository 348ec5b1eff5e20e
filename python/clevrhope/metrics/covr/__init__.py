"""COVR's scores: accuracies, baselines, and the generalisation score of runs with held-out questions."""

from clevrhope.metrics.covr.frequent_answers import FrequentAnswers, frequent_answers, source_images
from clevrhope.metrics.covr.scorer import score_covr

__all__ = ["FrequentAnswers", "frequent_answers", "score_covr", "source_images"]
