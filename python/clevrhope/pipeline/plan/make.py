"""A request in, its plan out."""

import numpy as np

from clevrhope.pipeline.plan.images import (
    NONE,
    annotations_there,
    by_pool_of,
    counted,
    estimated,
    estimated_copies,
    images_there,
    n_published,
    of_each_hop,
    split_plan,
)
from clevrhope.pipeline.plan.rates import measured
from clevrhope.pipeline.plan.result import Plan
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolved import resolve

COUNTED = 20_000
"""Questions up to which a request is made in memory and counted rather than estimated."""


def make_plan(request: Request) -> Plan:
    """Looks at the first scenes and questions of what a request asks for.

    Raises:
        ClevrhopeError: as `build` would.
    """
    resolved = resolve(request)
    streamed = [job for job in resolved.jobs if job.unit == "questions"]
    exact = sum(job.goal for job in streamed) <= COUNTED
    used = counted(resolved) if exact else None
    splits = [split_plan(job, resolved, used) for job in resolved.jobs]
    there = images_there(resolved)
    if used is not None:
        by_pool = by_pool_of(used)
        missing = {pool: np.setdiff1d(each, there.get(pool, NONE)) for pool, each in by_pool.items()}
        to_render = sum(map(len, missing.values()))
        to_copy = sum(n_published(pool, each, resolved) for pool, each in missing.items())
        images = {pool: len(indices) for pool, indices in by_pool.items()}
        scanned = resolved.engine.scanned()
    else:
        images, scanned = estimated(resolved)
        to_render = sum(max(0, n - len(there.get(pool, NONE))) for pool, n in images.items())
        to_copy = estimated_copies(resolved, images, scanned, there)
    to_render -= to_copy
    annotated = annotations_there(resolved)
    to_annotate = 0
    if resolved.config.passes:
        to_annotate = sum(n - annotated.get(pool, 0) for pool, n in images.items())
    work = to_render > 0 or to_annotate > 0
    rates, problem = measured(resolved, images=resolved.request.render and work)
    return Plan(
        resolved=resolved,
        splits=splits,
        hop_images=of_each_hop(resolved, splits, used),
        images=images,
        scanned=scanned,
        to_render=to_render,
        to_copy=to_copy,
        to_annotate=max(0, to_annotate),
        exact=exact,
        rates=rates,
        no_images_because=problem,
    )
