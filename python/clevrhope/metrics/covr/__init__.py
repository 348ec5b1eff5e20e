"""COVR's scores: accuracies, baselines, and the generalisation score of runs with held-out questions."""

from clevrhope.metrics.covr.scorer import score_covr

__all__ = ["score_covr"]
