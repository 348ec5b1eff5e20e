"""A request in, a dataset folder out: the main job, stage by stage.

`request` resolves what is wanted and what the folder is bound to; `text` writes questions and scenes;
`pictures` renders and packs; `account` measures the files and writes datasheets and contact sheet; `run` puts
them in order. Each stage looks at the files of the stages before it and makes what is missing, so a run that
was killed goes on where it was. `shard` and `parts` divide a request among machines and join what they made.
"""

from clevrhope.pipeline.limits import Limits
from clevrhope.pipeline.parts import PartSummary, build_part, merge
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.run import Summary, build
from clevrhope.pipeline.shard import Shard, parse_shard

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
