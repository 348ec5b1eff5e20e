"""A finished dataset in, what can be proved of its files out.

Apart from what makes datasets: a module a kind of proof, each with the files as its only source.
"""

from clevrhope.audit.report import Check, Report
from clevrhope.audit.run import audit

__all__ = ["Check", "Report", "audit"]
