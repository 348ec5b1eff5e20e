"""The questions and images of splits, counted without writing any.

Which scenes a split takes is known before they are placed. So the images of a large split are counted as the
first scenes that it may ask about, as many as it needs if each yields all of its questions; those of a small
one are counted after its questions were made in memory.
"""

from clevrhope.config.presets import WINDOW
from clevrhope.dataset.covr_h5 import MAX_IMAGES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.pipeline.covr import QUESTIONS_A_WINDOW, CovrJob
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.minimal import first_places
from clevrhope.pipeline.resolution import Resolved
from clevrhope.pipeline.text import images_of


def images_used(job: Job | CovrJob, resolved: Resolved, *, exact: bool) -> Ints:
    """The images of a split, each once; `exact` makes the questions of a streamed split to find them."""
    if isinstance(job, CovrJob):
        assert resolved.covr is not None
        if exact:
            return resolved.covr.images_of(job)
        rule = job.kind.scenes(resolved.config.covr_hold)
        # A window of scenes yields so many questions that nearly all of its scenes are in some set.
        n_images = min(-(-job.goal // QUESTIONS_A_WINDOW) * WINDOW, MAX_IMAGES * job.goal)
    else:
        if exact or job.kind.drawn != "stream":
            return images_of(job, resolved)
        rule, n_images = job.kind.rule, -(-job.goal // job.kind.questions_per_scene)
    return resolved.engine.eligible_scenes(job.split, job.pool, job.hop.pair, rule, n_images)


def n_questions(job: Job | CovrJob, resolved: Resolved) -> int:
    """Number of questions in a split.

    A place of a minimal split has an image for each corner of its grid (four for two types), and each
    corner's description makes a group, which has one question about every image. Where the grid contains the
    pair, the pair's group is out of distribution; the other groups are in distribution, without their
    questions about the pair's image. Other places yield all groups, except for the corner that the palette
    lacks, if there is one.
    """
    if isinstance(job, CovrJob) or not (job.prelim or job.minimal):
        return job.goal
    if job.prelim:
        return job.kind.group * job.goal
    corners = job.hop.corners
    pool = resolved.engine.minimal_pool(job.hop)
    places = first_places(pool, job.goal, seed=resolved.seed)
    if job.kind.shown == "in one":
        return corners * sum(map(pool.has_pair, places))
    unseen = sum(map(pool.has_unseen, places))
    return (corners - 1) ** 2 * unseen + corners**2 * (len(places) - unseen)
