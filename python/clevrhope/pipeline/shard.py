"""A request and "3/16" in; what the third of sixteen machines makes of it out.

Text is divided by splits: a machine writes whole files, those of some splits of some pairs. Images are
divided by scenes, of which every machine can tell without text which will be used: a streamed split uses the
first so many scenes that its predicate lets pass. (A few more where a scene gave fewer questions than wanted;
whoever joins the parts renders those.) So machines need not talk to each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.resolved import Resolved
from clevrhope.pipeline.text import questions_of, stream_of

SCENES_TOGETHER = 50
"""Scenes in a row that one machine renders: few, so that all get much the same number."""


@dataclass(frozen=True)
class Shard:
    """One of several machines' parts."""

    number: int
    """From 1 on."""
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def jobs(self, jobs: Sequence[Job]) -> tuple[Job, ...]:
        """The splits that this one writes: the largest first, each to whoever has least so far."""
        loads = [0] * self.of
        mine = []
        for job in sorted(jobs, key=lambda job: (-_questions(job), job.hop.name, job.split)):
            least = loads.index(min(loads))
            loads[least] += _questions(job)
            if least == self.number - 1:
                mine.append(job)
        return tuple(job for job in jobs if job in mine)

    def images(self, resolved: Resolved) -> dict[str, Ints]:
        """Pool -> the scenes that this one renders, sorted."""
        by_pool: dict[str, list[Ints]] = {}
        for job in resolved.jobs:
            by_pool.setdefault(job.pool, []).append(_scenes(job, resolved))
        used = {pool: np.unique(np.concatenate(by_pool[pool])) for pool in sorted(by_pool)}
        return {
            pool: each[each // SCENES_TOGETHER % self.of == self.number - 1] for pool, each in used.items()
        }


def parse_shard(text: str) -> Shard:
    """The third of sixteen from "3/16".

    Raises:
        ConfigError: it is none.
    """
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise ConfigError(f'--shard: "{text}" should be a number and how many there are, such as 3/16')
    return Shard(int(number), int(of))


def asked(resolved: Resolved) -> dict[str, Any]:
    """The whole request, for the parts to be held against each other: splits and their sizes."""
    return {
        "sizes": asdict(resolved.config.sizes),
        "images": resolved.config.images,
        "passes": list(resolved.config.passes),
        "question_json": resolved.config.question_json,
        "pictures": resolved.request.render,
        "splits": {f"{job.hop.name}/{job.split}": job.goal for job in resolved.jobs},
        "palettes": {name: each.as_json() for name, each in sorted(resolved.engine.palettes.items())},
    }


def described(shard: Shard, resolved: Resolved) -> Mapping[str, Any]:
    """What a part's manifest says of it."""
    return {"number": shard.number, "of": shard.of, "asked": asked(resolved)}


def _questions(job: Job) -> int:
    if job.prelim:
        return job.kind.group * job.goal
    return job.goal if not job.minimal else 4 * job.goal


def _scenes(job: Job, resolved: Resolved) -> Ints:
    if job.minimal or job.prelim:
        textless = replace(job, question_json=False)
        return np.concatenate([batch.arrays.image_idxs for batch in questions_of(textless, resolved)])
    stream = stream_of(job)
    n_scenes = -(-job.goal // stream.questions_per_scene)
    return resolved.engine.eligible_scenes(job.split, stream, job.hop.pair, n_scenes)
