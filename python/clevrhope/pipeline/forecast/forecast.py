"""The forecast: counts what a request will make, and measures the speed of this machine."""

import numpy as np

from clevrhope.pipeline.forecast.images import (
    NONE,
    annotations_there,
    images_of_hops,
    images_there,
    images_used,
    split_plan,
)
from clevrhope.pipeline.forecast.rates import measure_rates
from clevrhope.pipeline.forecast.result import Plan
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolution import resolve
from clevrhope.pipeline.text import indices_by_pool
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.kinds import TRAIN

COUNTED = 20_000
"""The questions of a request of up to this many are made in memory, so that its images are exact; those of a
larger one are counted as if each image yielded all of its questions."""


def make_plan(request: Request, *, progress: Progress | None = None) -> Plan:
    """Plans a request from its scenes and first questions, without writing anything.

    Args:
        request: the wanted dataset.
        progress: shows the stages; None shows nothing.

    Raises:
        ClevrhopeError: as for `build`.
    """
    resolved = resolve(request)
    streamed = [job for job in resolved.all_jobs if job.kind.unit == "questions"]
    exact = sum(job.goal for job in streamed) <= COUNTED
    shown = progress or Silent()
    with shown.stage("Looking at scenes", total=len(resolved.all_jobs), unit="splits") as advance:
        used = {}
        for job in resolved.all_jobs:
            used[job] = images_used(job, resolved, exact=exact)
            advance(1)
    splits = [split_plan(job, resolved, used) for job in resolved.all_jobs]
    there = images_there(resolved)
    images = indices_by_pool((job.pool, each) for job, each in used.items())
    missing = {pool: np.setdiff1d(each, there.get(pool, NONE)) for pool, each in images.items()}
    to_copy = sum(resolved.engine.n_published(pool, each) for pool, each in missing.items())
    to_render = sum(map(len, missing.values())) - to_copy
    to_annotate = 0
    if resolved.config.passes:
        annotated = annotations_there(resolved)
        to_annotate = sum(len(each) - annotated.get(pool, 0) for pool, each in images.items())
    work = to_render > 0 or to_annotate > 0
    with shown.stage("Timing this machine", total=0, unit="measurements") as advance:
        rates, problem = measure_rates(resolved, images=resolved.request.render and work, advance=advance)
    return Plan(
        resolved=resolved,
        splits=splits,
        hop_images=images_of_hops(resolved, used),
        images={pool: len(each) for pool, each in images.items()},
        from_clevr=resolved.engine.published_by_number(images.get(TRAIN.pool, NONE)),
        to_render=to_render,
        to_copy=to_copy,
        to_annotate=max(0, to_annotate),
        exact=exact,
        rates=rates,
        no_forecast_because=problem,
    )
