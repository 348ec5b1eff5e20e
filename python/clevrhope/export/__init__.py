"""A finished dataset in, the same questions and images in a form that other libraries read out.

A format is one module with a function `write`, listed in `formats.FORMATS`; `run.export` chooses what is to
be written and makes the folder appear whole. `source` is what a format's module gets.
"""

from clevrhope.export.formats import FORMATS
from clevrhope.export.run import Exported, export

__all__ = ["FORMATS", "Exported", "export"]
