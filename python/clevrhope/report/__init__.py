"""Runs and files of predictions in; the paper's tables and figures, its numbers beside ours, as pages out.

Needs no model and no torch; figures need matplotlib (`pip install 'clevrhope[plots]'`).
"""

from clevrhope.report.results import Result, Skipped, measure
from clevrhope.report.runs import Source, find_sources
from clevrhope.report.write import Report, report

__all__ = ["Report", "Result", "Skipped", "Source", "find_sources", "measure", "report"]
