"""Exports a finished dataset in a format that other libraries read.

A format is one module with a function `write`, listed in `formats.FORMATS`; `run.export` chooses the splits
and makes the folder appear complete or not at all. `source` defines the data that a format's module receives.
"""

from clevrhope.export.formats import FORMATS
from clevrhope.export.run import Exported, export

__all__ = ["FORMATS", "Exported", "export"]
