"""A request in, a dataset folder out: the main job, stage by stage.

`request` resolves what is wanted and what the folder is bound to; `text` writes questions and scenes;
`pictures` renders and packs; `account` measures the files and writes datasheets and contact sheet; `run` puts
them in order. Each stage looks at the files of the stages before it and makes what is missing, so a run that
was killed goes on where it was. `shard` and `parts` divide a request among machines and join what they made.
"""

from clevrhope.build.limits import Limits
from clevrhope.build.parts import PartSummary, build_part, merge
from clevrhope.build.request import Request
from clevrhope.build.run import Summary, build
from clevrhope.build.shard import Shard, parse_shard

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
