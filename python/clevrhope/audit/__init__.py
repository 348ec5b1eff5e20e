"""The audit: proves what can be proved of a finished dataset from its files alone.

It shares no code with what makes datasets; each module of `checks` is one kind of proof.
"""

from clevrhope.audit.report import Check, Report
from clevrhope.audit.run import audit

__all__ = ["Check", "Report", "audit"]
