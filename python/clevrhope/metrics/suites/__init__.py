"""Scores predictions about suites of paired tests made by `clevrhope suite`."""

from clevrhope.metrics.suites.scorer import TIER_CHOICES, score_suite

__all__ = ["TIER_CHOICES", "score_suite"]
