"""A plan: counts what a request will make, and measures the speed of this machine."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clevrhope.config.presets import WINDOW
from clevrhope.dataset.question_kinds import MAX_IMAGES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_questions import augmented_split
from clevrhope.errors import RenderError
from clevrhope.pipeline.annotations import missing_passes
from clevrhope.pipeline.forecast.rates import image_rate, text_rate
from clevrhope.pipeline.images import missing_images
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.questions import SETS_A_WINDOW, distinct_images, questions_of
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolution import Resolved, resolve
from clevrhope.pipeline.text import indices_by_pool
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.runtime.resources import available_cores
from clevrhope.splits.covr.kinds import CovrKind
from clevrhope.splits.hops import name_order
from clevrhope.splits.kinds import TRAIN

COUNTED = 20_000
"""The questions of a request of up to this many are made in memory, so that its images are exact; those of a
larger one are counted as if each image yielded all of its questions."""

SECONDS_OF_CHECK = 3.5e-5
"""Seconds per question of the check for leaks, measured on two cores, on 708,440 questions."""

SECONDS_TO_START, SECONDS_A_SPLIT = 1.0, 0.08
"""Fixed costs: of a build, and of a split of any size. Processor time on two cores, for 1 to 145 splits."""

BUSY_LOAD = 0.5
"""The machine is busy if, in the minute before, so many programs per core wanted to run."""


@dataclass
class Plan:
    """What a build would make: a request and, for the rest, the values of `clevrhope plan --json`."""

    resolved: Resolved
    splits: list[dict[str, Any]]
    """For each split its hop, split, pool, questions and images."""
    exact: bool
    """Whether images were counted, not estimated."""
    questions: int
    scenes: int
    """Number of scenes, each once."""
    hops: dict[str, int]
    """Sub-dataset -> number of images that its splits use."""
    pools: dict[str, int]
    """Pool -> number of images that the request's splits use."""
    images_to_render: int
    images_to_copy: int
    """Missing images that are CLEVR's; with --no-render, their scenes alone are taken."""
    clevr_by_number: dict[str, float]
    """Number of objects -> CLEVR's share of the train pool's scenes of so many; empty without CLEVR."""
    images_to_annotate: int
    """Images that lack some wanted annotation."""
    suites: list[dict[str, Any]]
    """The folder's suites: hop, suite, pairs, bytes, and the splits that the build removes the pairs of."""
    bytes: int = 0
    seconds: float | None = None
    no_seconds_because: str | None = None
    """Why no image could be rendered."""
    seconds_per_image: float | None = None
    """With its annotations, and all workers busy; None if nothing is to be rendered."""
    load: float | None = None
    """Programs that wanted to run in the minute before, if these kept this machine busy."""


def make_plan(request: Request, *, progress: Progress | None = None) -> Plan:
    """Plans a request from its scenes and first questions, without writing anything.

    Args:
        request: the wanted dataset.
        progress: shows the stages; None shows nothing.

    Raises:
        ClevrhopeError: as for `build`.
    """
    resolved = resolve(request)
    engine, jobs, shown = resolved.engine, resolved.jobs, progress or Silent()
    exact = sum(job.goal for job in jobs if job.kind.unit == "questions") <= COUNTED
    used, splits = {}, list[dict[str, Any]]()
    with shown.stage("Looking at scenes", total=len(jobs), unit="splits") as advance:
        for job in jobs:
            n_questions, used[job] = _counted(job, resolved, exact=exact)
            sizes = {"questions": n_questions, "images": len(used[job])}
            splits.append({"hop": job.hop.name, "split": job.split, "pool": job.pool, **sizes})
            advance(1)
    hops = {
        hop: indices_by_pool((job.pool, used[job]) for job in jobs if job.hop.name == hop)
        for hop in dict.fromkeys(job.hop.name for job in jobs)
    }
    images = indices_by_pool((job.pool, indices) for job, indices in used.items())
    work = missing_images(images, resolved.layout)
    n_copied = sum(engine.n_published(each.pool, each.missing) for each in work)
    to_annotate = missing_passes(images, resolved.layout, resolved.config.passes)
    plan = Plan(
        resolved=resolved,
        splits=splits,
        exact=exact,
        questions=sum(split["questions"] for split in splits),
        scenes=sum(map(len, images.values())),
        hops={hop: sum(map(len, each.values())) for hop, each in hops.items()},
        pools={pool: len(each) for pool, each in images.items()},
        images_to_render=sum(len(each.missing) for each in work) - n_copied if request.render else 0,
        images_to_copy=n_copied,
        clevr_by_number=_clevr_by_number(resolved, images),
        images_to_annotate=sum(len(each.missing) for each in to_annotate),
        suites=_suites(resolved),
    )
    with shown.stage("Timing this machine", total=0, unit="measurements") as advance:
        _measure(plan)
        advance(1)
    return plan


def _clevr_by_number(resolved: Resolved, images: Mapping[str, Ints]) -> dict[str, float]:
    """CLEVR's share of the train scenes of each number of objects."""
    scenes = images.get(TRAIN.pool, np.array([], dtype=np.int64))
    numbers = resolved.engine.published_by_number(scenes)
    return {str(number): round(n_clevr / n, 4) for number, (n, n_clevr) in numbers.items()}


def _counted(job: Job, resolved: Resolved, *, exact: bool) -> tuple[int, Ints]:
    """The number of a split's questions, and its images, each once.

    `exact` makes the questions. Otherwise, the images of a streamed split are the first that it may ask
    about, as many as it needs if each yields all of its questions; which these are is known before objects
    are placed.
    """
    kind = job.kind
    if exact or kind.drawn not in ("stream", CovrKind.drawn):
        batches = questions_of(replace(job, question_json=False), resolved.engine)
        columns = [batch.table.image_idxs for batch in batches]
        return sum(map(len, columns)), distinct_images(columns)
    if isinstance(kind, CovrKind):
        rule = kind.scenes(resolved.config.covr_hold)
        # A window of scenes yields so many questions that nearly all of its scenes are in some set.
        n_images = min(-(-job.goal // SETS_A_WINDOW) * WINDOW, MAX_IMAGES * job.goal)
    else:
        rule, n_images = kind.rule, -(-job.goal // kind.questions_per_scene)
    return job.goal, resolved.engine.eligible_scenes(job.split, job.pool, job.hop.held_out, rule, n_images)


def _measure(plan: Plan) -> None:
    """Adds bytes and seconds to a plan: its numbers times the rates of samples."""
    resolved, load = plan.resolved, os.getloadavg()[0]
    plan.load = load if load >= BUSY_LOAD * available_cores() else None
    largest = max(resolved.jobs, key=lambda job: job.goal if job.kind.unit == "questions" else 0)
    text, rows = text_rate(largest, resolved)
    plan.bytes = round(plan.questions * text.bytes)
    seconds = SECONDS_TO_START + SECONDS_A_SPLIT * len(plan.splits)
    seconds += plan.questions * (text.seconds + SECONDS_OF_CHECK)
    n_images = max(plan.images_to_render, plan.images_to_annotate)
    if n_images and resolved.request.render:
        scenes = [json.loads(row) for row in rows]
        # CLEVR's images are copied, not rendered; its scenes stand in only if there are no others.
        scenes = [each for each in scenes if "source" not in each] or scenes
        try:
            image, start = image_rate(scenes, resolved)
        except RenderError as error:
            plan.no_seconds_because = str(error)
            return
        plan.seconds_per_image = image.seconds
        seconds += start + n_images * image.seconds
        plan.bytes += round(plan.scenes * image.bytes)
    plan.seconds = round(seconds, 1)


def _suites(resolved: Resolved) -> list[dict[str, Any]]:
    """The suites in the folder of a request, with the splits that the build enlarges."""
    manifest, layout = resolved.manifest, resolved.layout
    goals = {(job.hop.name, job.split): job.goal for job in resolved.jobs}
    found = []
    for hop, of_hop in sorted(manifest.suites.items(), key=lambda each: name_order(each[0])):
        for suite, splits in sorted(of_hop.items()):
            begin = f"{layout.relative(layout.suite(hop, suite))}/"
            source = {name: TRAIN.name if name == augmented_split(suite) else name for name in splits}
            grown = [
                name for name, of in splits.items() if goals.get((hop, source[name]), 0) > of["originals"]
            ]
            n_pairs = sum(entry["pairs"] for entry in splits.values())
            n_bytes = sum(file.bytes for name, file in manifest.files.items() if name.startswith(begin))
            row = {"hop": hop, "suite": suite, "pairs": n_pairs, "bytes": n_bytes, "removed_splits": grown}
            found.append(row)
    return found
