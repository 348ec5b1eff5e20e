"""The forecast: counts or estimates what a request will make, and measures the speed of this machine."""

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.pipeline.covr import CovrJob
from clevrhope.pipeline.forecast.images import (
    NONE,
    annotations_there,
    estimate_copies,
    estimate_images,
    images_of_hops,
    images_there,
    split_plan,
)
from clevrhope.pipeline.forecast.rates import measure_rates
from clevrhope.pipeline.forecast.result import Plan
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolution import Resolved, resolve
from clevrhope.pipeline.text import images_of, indices_by_pool
from clevrhope.runtime.progress import Progress, Silent

COUNTED = 20_000
"""A request of up to this many questions is made in memory and counted; a larger one is estimated."""


def make_plan(request: Request, *, progress: Progress | None = None) -> Plan:
    """Plans a request from its first scenes and questions, without writing anything.

    Args:
        request: the wanted dataset.
        progress: shows the stages; None shows nothing.

    Raises:
        ClevrhopeError: as for `build`.
    """
    resolved = resolve(request)
    streamed = [job for job in resolved.all_jobs if job.kind.unit == "questions"]
    exact = sum(job.goal for job in streamed) <= COUNTED
    shown, n_jobs = progress or Silent(), len(resolved.all_jobs)
    used: dict[Job | CovrJob, Ints] | None = None
    images: dict[str, int] = {}
    scanned: dict[str, int] = {}
    with shown.stage("Looking at scenes", total=n_jobs, unit="splits") as advance:
        if exact:
            used = {}
            for job in resolved.all_jobs:
                used[job] = _images_used(job, resolved)
                advance(1)
        else:
            images, scanned = estimate_images(resolved, advance)
        splits = [split_plan(job, resolved, used) for job in resolved.all_jobs]
    there = images_there(resolved)
    if used is not None:
        by_pool = indices_by_pool((job.pool, each) for job, each in used.items())
        missing = {pool: np.setdiff1d(each, there.get(pool, NONE)) for pool, each in by_pool.items()}
        to_render = sum(map(len, missing.values()))
        to_copy = sum(resolved.engine.n_published(pool, each) for pool, each in missing.items())
        images = {pool: len(indices) for pool, indices in by_pool.items()}
        scanned = resolved.engine.scanned()
    else:
        to_render = sum(max(0, n - len(there.get(pool, NONE))) for pool, n in images.items())
        to_copy = estimate_copies(resolved, images, scanned, there)
    to_render -= to_copy
    to_annotate = 0
    if resolved.config.passes:
        annotated = annotations_there(resolved)
        to_annotate = sum(n - annotated.get(pool, 0) for pool, n in images.items())
    work = to_render > 0 or to_annotate > 0
    with shown.stage("Timing this machine", total=0, unit="measurements") as advance:
        rates, problem = measure_rates(resolved, images=resolved.request.render and work, advance=advance)
    return Plan(
        resolved=resolved,
        splits=splits,
        hop_images=images_of_hops(resolved, splits, used),
        images=images,
        scanned=scanned,
        to_render=to_render,
        to_copy=to_copy,
        to_annotate=max(0, to_annotate),
        exact=exact,
        rates=rates,
        no_forecast_because=problem,
    )


def _images_used(job: Job | CovrJob, resolved: Resolved) -> Ints:
    """The images of a split, sorted, each once; makes its questions to find them."""
    if isinstance(job, CovrJob):
        assert resolved.covr is not None
        return resolved.covr.images_of(job)
    return images_of(job, resolved)
