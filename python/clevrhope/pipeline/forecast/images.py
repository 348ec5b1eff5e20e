"""The images that splits use, counted.

Which scenes a split takes is known before they are placed. So the images of a large split are counted as the
first scenes that it may ask about, as many as it needs if each yields all of its questions; those of a small
one are counted after its questions were made in memory.
"""

from collections.abc import Mapping

import numpy as np

from clevrhope.config.presets import WINDOW
from clevrhope.dataset.covr_h5 import MAX_IMAGES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.pipeline.annotations import missing_passes
from clevrhope.pipeline.covr import QUESTIONS_A_WINDOW, CovrJob
from clevrhope.pipeline.forecast.result import SplitPlan
from clevrhope.pipeline.images import missing_images
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.minimal import first_places
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.text import images_of, indices_by_pool, scenes_in_use
from clevrhope.splits.kinds import Rule

NONE: Ints = np.zeros(0, dtype=np.int32)

Used = Mapping[Job | CovrJob, Ints]
"""The images of each split, each once."""


def images_used(job: Job | CovrJob, resolved: Resolved, *, exact: bool) -> Ints:
    """The images of a split, each once; `exact` makes the questions of a streamed split to find them."""
    if isinstance(job, CovrJob):
        assert resolved.covr is not None
        rule = job.kind.scenes(resolved.config.covr_hold)
        return resolved.covr.images_of(job) if exact else _eligible(job, rule, resolved)
    if exact or job.kind.drawn != "stream":
        return images_of(job, resolved)
    return _eligible(job, job.kind.rule, resolved)


def _eligible(job: Job | CovrJob, rule: Rule, resolved: Resolved) -> Ints:
    return resolved.engine.eligible_scenes(job.split, job.pool, job.hop.pair, rule, _n_images(job))


def split_plan(job: Job | CovrJob, resolved: Resolved, used: Used) -> SplitPlan:
    """Questions and images of a split."""
    questions = job.goal
    if not isinstance(job, CovrJob):
        if job.prelim:
            questions = job.kind.group * job.goal
        elif job.minimal:
            questions = _minimal_questions(job, resolved)
    return SplitPlan(job.hop.name, job.split, job.pool, questions, len(used[job]))


def images_of_hops(resolved: Resolved, used: Used) -> dict[str, int]:
    """Sub-dataset -> number of images that its splits use."""
    images: dict[str, int] = {}
    for hop in dict.fromkeys(job.hop for job in resolved.all_jobs):
        mine = ((job.pool, used[job]) for job in resolved.all_jobs if job.hop == hop)
        images[hop.name] = sum(map(len, indices_by_pool(mine).values()))
    return images


def _n_images(job: Job | CovrJob) -> int:
    """Number of images in a streamed split, if each yields all of its questions."""
    if isinstance(job, CovrJob):
        # A window of scenes yields so many questions that nearly all of its scenes are in some set.
        return min(-(-job.goal // QUESTIONS_A_WINDOW) * WINDOW, MAX_IMAGES * job.goal)
    return -(-job.goal // job.kind.questions_per_scene)


def _minimal_questions(job: Job, resolved: Resolved) -> int:
    """Number of questions in a minimal split.

    A place has an image for each corner of its grid (four for two types), and each corner's description makes
    a group, which has one question about every image. Where the grid contains the pair, the pair's group is
    out of distribution; the other groups are in distribution, without their questions about the pair's image.
    Other places yield all groups, except for the corner that the palette lacks, if there is one.
    """
    assert job.hop.pair is not None
    corners = job.hop.corners
    pool = resolved.engine.minimal_pool(job.hop)
    places = first_places(pool, job.goal, seed=resolved.seed)
    if job.kind.shown == "in one":
        return corners * sum(map(pool.has_pair, places))
    unseen = sum(map(pool.has_unseen, places))
    return (corners - 1) ** 2 * unseen + corners**2 * (len(places) - unseen)


def images_there(resolved: Resolved) -> dict[str, Ints]:
    """Pool -> images that the folder already has."""
    used = scenes_in_use(resolved.manifest, resolved)
    work = missing_images(used, resolved.layout)
    return {each.pool: np.setdiff1d(each.used, each.missing) for each in work}


def annotations_there(resolved: Resolved) -> dict[str, int]:
    """Pool -> number of images that have all wanted annotations."""
    used = scenes_in_use(resolved.manifest, resolved)
    work = missing_passes(used, resolved.layout, resolved.config.passes)
    return {each.pool: len(each.used) - len(each.missing) for each in work}
