"""Building a dataset's folder, stage by stage.

A request is opened and bound to the folder (`binding`), and expanded into splits whose files are compared
with the manifest (`jobs`); `resolution` holds the result. Then `text` writes questions and scenes, `images`
renders, annotates and packs, and `documents` measures the files and writes datasheets and the contact sheet;
`run` puts the stages in order. Each stage looks for the files of the stages before it and makes what is
missing, so an interrupted run can be resumed. `forecast` estimates all this without writing anything; `parts`
divides a request among machines and merges the results.
"""

from clevrhope.pipeline.parts import PartSummary, Shard, build_part, merge, parse_shard
from clevrhope.pipeline.request import Limits, Request
from clevrhope.pipeline.run import Summary, build

__all__ = [
    "Limits",
    "PartSummary",
    "Request",
    "Shard",
    "Summary",
    "build",
    "build_part",
    "merge",
    "parse_shard",
]
