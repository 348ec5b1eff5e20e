"""The division of a request among machines that do not talk to each other.

Text is divided by splits: a machine writes whole files, for some splits of some sub-datasets. Images are
divided by scenes. Every machine can tell without text which scenes will be used, because a streamed split
uses the first scenes that pass its predicate. (If scenes yield fewer questions than wanted, it uses a few
more, which merge renders.)
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError
from clevrhope.pipeline.covr import CovrJob
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.text import images_of, indices_by_pool

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

    def jobs(self, resolved: Resolved) -> tuple[tuple[Job, ...], tuple[CovrJob, ...]]:
        """The splits that this machine writes; the largest go first, each to the least loaded machine."""
        loads = [0] * self.of
        mine: list[Job | CovrJob] = []
        for job in sorted(resolved.all_jobs, key=lambda job: (-_questions(job), job.hop.name, job.split)):
            least = loads.index(min(loads))
            loads[least] += _questions(job)
            if least == self.number - 1:
                mine.append(job)
        single = tuple(job for job in resolved.jobs if job in mine)
        return single, tuple(job for job in resolved.covr_jobs if job in mine)

    def images(self, resolved: Resolved) -> dict[str, Ints]:
        """Pool -> the scenes that this machine renders, sorted."""
        used = indices_by_pool((job.pool, _scenes(job, resolved)) for job in resolved.all_jobs)
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
        "splits": {f"{job.hop.name}/{job.split}": job.goal for job in resolved.all_jobs},
        "palettes": {name: each.as_json() for name, each in sorted(resolved.engine.palettes.items())},
    }


def _questions(job: Job | CovrJob) -> int:
    """The approximate number of questions that a job makes, as a measure of its work."""
    if isinstance(job, CovrJob):
        return job.goal
    if job.prelim:
        return job.kind.group * job.goal
    return job.goal if not job.minimal else 4 * job.goal


def _scenes(job: Job | CovrJob, resolved: Resolved) -> Ints:
    if isinstance(job, CovrJob):
        return np.empty(0, np.int32) if resolved.covr is None else resolved.covr.images_of(job)
    if job.minimal or job.prelim:
        return images_of(job, resolved)
    n_scenes = -(-job.goal // job.kind.questions_per_scene)
    return resolved.engine.eligible_scenes(job.split, job.pool, job.hop.held_out, job.kind.rule, n_scenes)
