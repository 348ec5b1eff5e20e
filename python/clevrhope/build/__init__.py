"""A request in, a dataset folder out: the main job, stage by stage.

`request` resolves what is wanted and what the folder is bound to; `text` writes questions and scenes;
`pictures` renders and packs; `account` measures the files and writes datasheets and contact sheet; `run` puts
them in order. Each stage looks at the files of the stages before it and makes what is missing, so a run that
was killed goes on where it was.
"""

from clevrhope.build.request import Request
from clevrhope.build.run import Summary, build

__all__ = ["Request", "Summary", "build"]
