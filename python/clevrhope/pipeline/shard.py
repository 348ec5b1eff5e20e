"""The division of a request among machines that do not talk to each other.

Text is divided by splits: a machine writes whole files, for some splits of some sub-datasets. Images are
divided by scenes. Every machine can tell without text which scenes will be used, because a streamed split
uses the first scenes that pass its predicate. (If scenes yield fewer questions than wanted, it uses a few
more, which merge renders.)
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.questions import images_of
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.text import indices_by_pool
from clevrhope.splits.kinds import SplitKind

SCENES_TOGETHER = 50
"""Consecutive scenes that one machine renders; few, so that all machines get about the same number."""


@dataclass(frozen=True)
class Shard:
    """One machine's part, such as 3/16: the third of sixteen."""

    number: int
    """Counted from 1."""
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def jobs(self, resolved: Resolved) -> tuple[Job, ...]:
        """The splits that this machine writes; the largest go first, each to the least loaded machine."""
        loads = [0] * self.of
        mine: list[Job] = []
        for job in sorted(resolved.jobs, key=lambda job: (-job.n_questions, job.hop.name, job.split)):
            least = loads.index(min(loads))
            loads[least] += job.n_questions
            if least == self.number - 1:
                mine.append(job)
        return tuple(job for job in resolved.jobs if job in mine)

    def images(self, resolved: Resolved) -> dict[str, Ints]:
        """Pool -> the scenes that this machine renders, sorted."""
        used = indices_by_pool((job.pool, _scenes(job, resolved.engine)) for job in resolved.jobs)
        return {
            pool: each[each // SCENES_TOGETHER % self.of == self.number - 1] for pool, each in used.items()
        }

    def as_json(self, resolved: Resolved) -> Mapping[str, Any]:
        """The entry about this part in its manifest."""
        return {"number": self.number, "of": self.of, "asked": request_as_json(resolved)}


def parse_shard(text: str) -> Shard:
    """Parses a shard such as "3/16".

    Raises:
        ConfigError: the text is not a shard.
    """
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise ConfigError(f'--shard: "{text}" should be a number and how many there are, such as 3/16')
    return Shard(int(number), int(of))


def request_as_json(resolved: Resolved) -> dict[str, Any]:
    """The whole request as each part records it, so that merge can compare the parts."""
    return {
        "sizes": asdict(resolved.config.sizes),
        "images": resolved.config.images,
        "passes": list(resolved.config.passes),
        "question_json": resolved.config.question_json,
        "render": resolved.request.render,
        "splits": {f"{job.hop.name}/{job.split}": job.goal for job in resolved.jobs},
        "palettes": {name: each.as_json() for name, each in sorted(resolved.engine.palettes.items())},
    }


def _scenes(job: Job, engine: Engine) -> Ints:
    """The scenes that a split uses, if each yields all of its questions."""
    if not isinstance(job.kind, SplitKind) or job.kind.drawn != "stream":
        return images_of(job, engine)[1]
    n_scenes = -(-job.goal // job.kind.questions_per_scene)
    return engine.eligible_scenes(job.split, job.pool, job.hop.held_out, job.kind.rule, n_scenes)
