"""Reports on runs and files of predictions: tables and figures as in the paper, with its numbers beside ours.

Reports need neither a model nor torch; figures need matplotlib (`pip install 'clevrhope[plots]'`).
"""

from clevrhope.report.results import Result, measure
from clevrhope.report.runs import Source, find_sources
from clevrhope.report.writer import Report, report

__all__ = ["Report", "Result", "Source", "find_sources", "measure", "report"]
