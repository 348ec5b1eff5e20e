"""The images that splits use, counted or estimated.

Small splits are made in memory and counted. Large ones are estimated from the first scenes of each pool. To
fill a split, the build scans as many scenes as the split has images, divided by the share of scenes that it
takes. Of these it takes each eligible scene or, where scenes are thinned to equal numbers of objects, some of
them. So the images in use are the scenes that at least one split takes.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.config.presets import WINDOW
from clevrhope.dataset.covr_h5 import MAX_IMAGES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.pipeline.annotations import missing_passes
from clevrhope.pipeline.covr import QUESTIONS_A_WINDOW, CovrJob
from clevrhope.pipeline.engine import MinimalPool
from clevrhope.pipeline.forecast.result import SplitPlan
from clevrhope.pipeline.images import missing_images
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.minimal import first_places
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.text import images_of, indices_by_pool, scenes_in_use
from clevrhope.runtime.progress import Advance
from clevrhope.splits.kinds import TRAIN

SCENES_LOOKED_AT = 2_000
"""The number of first scenes of a pool from which shares are estimated."""

NONE: Ints = np.zeros(0, dtype=np.int32)


def split_plan(
    job: Job | CovrJob, resolved: Resolved, used: Mapping[Job | CovrJob, Ints] | None
) -> SplitPlan:
    """Questions and images of a split; `used` has the images that were counted, if they were."""
    if isinstance(job, CovrJob):
        questions, images = job.goal, _n_images(job)
    elif job.prelim:
        questions = images = job.kind.group * job.goal
    else:
        questions, images = _minimal_counts(job, resolved) if job.minimal else (job.goal, _n_images(job))
    if used is not None:
        images = len(used[job])
    return SplitPlan(job.hop.name, job.split, job.pool, questions, images)


def images_of_hops(
    resolved: Resolved, splits: Sequence[SplitPlan], used: Mapping[Job | CovrJob, Ints] | None
) -> dict[str, int]:
    """Sub-dataset -> number of images that its splits use.

    Its two minimal splits share most of their images. If several splits draw scenes of one pool in order, as
    those of questions over several images do, the one with the most images contains nearly all images of the
    others.
    """
    images: dict[str, int] = {}
    for hop in dict.fromkeys(job.hop for job in resolved.all_jobs):
        if used is not None:
            mine = ((job.pool, used[job]) for job in resolved.all_jobs if job.hop == hop)
            images[hop.name] = sum(map(len, indices_by_pool(mine).values()))
            continue
        jobs = [job for job in resolved.jobs if job.hop == hop]
        minimal = [job for job in jobs if job.minimal]
        counted = [split for split in splits if split.hop == hop.name]
        if len(minimal) == 2:
            of_places = [job.split for job in minimal]
            counted = [split for split in counted if split.split not in of_places]
        largest: dict[str, int] = {}
        for split in counted:
            largest[split.pool] = max(largest.get(split.pool, 0), split.images)
        images[hop.name] = sum(largest.values())
        if len(minimal) == 2:
            images[hop.name] += max(
                sum(_n_shown(pool, place) for place in places)
                for pool, places in (_places(job, resolved) for job in minimal)
            )
    return images


def _n_images(job: Job | CovrJob) -> int:
    """Number of images in a streamed split, if each yields all of its questions."""
    if isinstance(job, CovrJob):
        # A window of scenes yields so many questions that nearly all of its scenes are in some set.
        return min(-(-job.goal // QUESTIONS_A_WINDOW) * WINDOW, MAX_IMAGES * job.goal)
    return -(-job.goal // job.kind.questions_per_scene)


def _minimal_counts(job: Job, resolved: Resolved) -> tuple[int, int]:
    """Numbers of questions and images in a minimal split.

    A place has an image for each corner of its grid (four for two types), and each corner's description makes
    a group, which has one question about every image. Where the grid contains the pair, the pair's group is
    out of distribution; the other groups are in distribution, without their questions about the pair's image.
    Other places yield all groups, except for the corner that the palette lacks, if there is one.
    """
    corners = job.hop.corners
    pool, places = _places(job, resolved)
    held = sum(map(pool.has_pair, places))
    if job.kind.shown == "in one":
        return corners * held, corners * held
    unseen = sum(map(pool.has_unseen, places))
    free = len(places) - unseen
    return (corners - 1) ** 2 * unseen + corners**2 * free, (corners - 1) * unseen + corners * free


def _places(job: Job, resolved: Resolved) -> tuple[MinimalPool, list[int]]:
    assert job.hop.pair is not None
    pool = resolved.engine.minimal_pool(job.hop)
    return pool, first_places(pool, job.goal, seed=resolved.seed)


def _n_shown(pool: MinimalPool, place: int) -> int:
    """Number of a place's images in the two minimal splits together: all but what the palette lacks."""
    return pool.corners - (pool.has_unseen(place) and not pool.has_pair(place))


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


def estimate_images(resolved: Resolved, advance: Advance) -> tuple[dict[str, int], dict[str, int]]:
    """Pool -> images that any split uses, and pool -> scenes scanned for them; see the module's docstring.

    `advance` is called with numbers of finished splits.
    """
    images: dict[str, int] = {}
    scanned: dict[str, int] = {}
    for pool in dict.fromkeys(job.pool for job in resolved.all_jobs):
        jobs = [job for job in resolved.all_jobs if job.pool == pool]
        of_places = [job for job in resolved.jobs if job.pool == pool]
        if of_places and of_places[0].prelim:
            used_here = indices_by_pool((pool, images_of(job, resolved)) for job in of_places)
            images[pool] = len(used_here[pool])
            advance(len(jobs))
            continue
        if of_places and of_places[0].minimal:
            corners: set[int] = set()
            for job in of_places:
                minimal, places = _places(job, resolved)
                corners.update(
                    place * minimal.corners + corner
                    for place in places
                    for corner in range(_n_shown(minimal, place))
                    if job.kind.shown == "never" or minimal.has_pair(place)
                )
            images[pool] = len(corners)
            advance(len(jobs))
            continue
        looked_at = _scenes_looked_at(resolved, pool)
        kept = []
        for each in jobs:
            kept.append(_kept(looked_at, each, resolved))
            advance(1)
        reach = np.asarray(
            [
                _n_images(job) / each.mean() if each.any() else 0.0
                for job, each in zip(jobs, kept, strict=True)
            ]
        )
        scanned[pool] = round(float(reach.max()))
        # Once a split has what it needs, only the splits that reach further take scenes.
        used, begin, without = 0.0, 0.0, np.ones((len(jobs) + 1, len(looked_at)))
        order = np.argsort(reach)
        for place in reversed(range(len(jobs))):
            without[place] = without[place + 1] * (1 - kept[order[place]])
        for place, job in enumerate(order.tolist()):
            used += (reach[job] - begin) * float((1 - without[place]).mean())
            begin = reach[job]
        images[pool] = round(used)
    return images, scanned


def estimate_copies(
    resolved: Resolved, images: Mapping[str, int], scanned: Mapping[str, int], there: Mapping[str, Ints]
) -> int:
    """Number of missing images in the train pool that are CLEVR's, from their share of the first scenes."""
    clevr = resolved.engine.clevr
    if clevr is None or clevr.clevr is None or TRAIN.pool not in images:
        return 0
    reach = clevr.clevr[2]
    first = _scenes_looked_at(resolved, TRAIN.pool)[:reach]
    jobs = [job for job in resolved.all_jobs if job.pool == TRAIN.pool]
    kept = [any(_eligible(scene, job, resolved) for job in jobs) for scene in first]
    published = ["source" in scene for scene, each in zip(first, kept, strict=True) if each]
    within = min(1.0, reach / max(1, scanned[TRAIN.pool]))
    share = sum(published) / max(1, len(published)) * within
    n_there = resolved.engine.n_published(TRAIN.pool, there.get(TRAIN.pool, NONE))
    return max(0, round(images[TRAIN.pool] * share) - n_there)


def _scenes_looked_at(resolved: Resolved, pool: str) -> list[Mapping[str, Any]]:
    indices = np.arange(SCENES_LOOKED_AT, dtype=np.int32)
    return [json.loads(row) for rows in resolved.engine.scene_rows(pool, indices) for row in rows]


def _kept(
    scenes: Sequence[Mapping[str, Any]], job: Job | CovrJob, resolved: Resolved
) -> npt.NDArray[np.float64]:
    """The probability that a split takes each scene: 0 or 1, or between them where scenes are thinned."""
    eligible = np.asarray([_eligible(scene, job, resolved) for scene in scenes])
    if resolved.config.match != "objects":
        return eligible.astype(np.float64)
    n_objects = np.asarray([len(scene["objects"]) for scene in scenes])
    counts = np.bincount(n_objects[eligible], minlength=n_objects.max() + 1)
    rarest = counts[n_objects.min() :].min()
    return np.where(eligible, rarest / np.maximum(counts[n_objects], 1), 0.0)


def _eligible(scene: Mapping[str, Any], job: Job | CovrJob, resolved: Resolved) -> bool:
    rule = job.kind.scenes(resolved.config.covr_hold) if isinstance(job, CovrJob) else job.kind.rule
    if job.hop.pair is None or rule == "any":
        return True
    held = any(all(each[kind] == value for kind, value in job.hop.pair) for each in scene["objects"])
    return held == (rule == "with")
