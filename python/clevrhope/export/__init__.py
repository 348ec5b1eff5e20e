"""Exports a finished dataset in a form that other libraries read.

A format is one module with a function `write`, listed in `formats.FORMATS`; `run.export` chooses the splits
and makes the folder appear whole. `source` is what a format's module gets.
"""

from clevrhope.export.formats import FORMATS
from clevrhope.export.run import Exported, export

__all__ = ["FORMATS", "Exported", "export"]
