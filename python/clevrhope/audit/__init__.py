"""The audit: proves what can be proved about a finished dataset from its files alone.

It shares no code with the generator of datasets; each module of `checks` is one kind of proof.
"""

from clevrhope.audit.report import CheckResult, Report
from clevrhope.audit.run import audit

__all__ = ["CheckResult", "Report", "audit"]
