"""What a build would make and how long it would take on this machine, without writing anything."""

import json
import math
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import cycle, islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from clevrhope.config.presets import WINDOW
from clevrhope.config.question_settings import QuestionSettings
from clevrhope.dataset.images_h5 import DEFLATE_LEVEL
from clevrhope.dataset.passes_h5 import pack
from clevrhope.dataset.question_kinds import MAX_IMAGES
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import RenderError
from clevrhope.images.passes import annotator_of
from clevrhope.images.png import encode_png
from clevrhope.images.renderers import rendering_as_json, rendering_in_words, row_of
from clevrhope.pages import render_lines
from clevrhope.pipeline.images import missing_images, missing_passes
from clevrhope.pipeline.jobs import Job
from clevrhope.pipeline.nonce import NonceEngine, wanted_nonce
from clevrhope.pipeline.questions import SETS_A_WINDOW, distinct_images, images_of, questions_of
from clevrhope.pipeline.request import Request
from clevrhope.pipeline.resolution import Resolved, resolve
from clevrhope.pipeline.run import open_renderer
from clevrhope.pipeline.text import indices_by_pool
from clevrhope.runtime.display import duration, size
from clevrhope.runtime.progress import Progress, Silent
from clevrhope.splits.covr.kinds import CovrKind
from clevrhope.splits.hops import name_order
from clevrhope.splits.nonce.kinds import SCENES
from clevrhope.splits.palettes import Palette, parse_pool_name

COUNTED = 20_000
"""The questions of a request of up to this many are made in memory, so that its images are exact; those of a
larger one are counted as if each image yielded all of its questions."""

SECONDS_OF_CHECK = 3.5e-5
"""Seconds per question of the check for leaks, measured on two cores, on 708,440 questions."""

SECONDS_TO_START, SECONDS_A_SPLIT = 1.0, 0.08
"""Fixed costs: of a build, and of a split of any size. Processor time on two cores, for 1 to 145 splits."""

SAMPLE = 2_250
"""The most questions of a sample."""

BYTES_OF_ARRAYS = 35
"""Compressed bytes of a question in HDF5: 30 about one image, 44 about several, measured on train splits."""


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
    images_to_annotate: int
    """Images that lack some wanted annotation."""
    not_asked: dict[str, int]
    """Attribute of one value -> number of question families that would ask about it, and are left out."""
    episodes: int
    """Number of episodes with nonce words."""
    no_episodes: list[str]
    """One sentence for each form of episodes with nonce words that the world's values do not allow."""
    bytes: int = 0
    seconds: float | None = None
    no_seconds_because: str | None = None
    """Why no image could be rendered."""
    seconds_per_image: float | None = None
    """With its annotations, and all workers busy; None if nothing is to be rendered."""

    def half_width(self, discordant: float) -> float:
        """The 95% half-width of the episodes' gap in points, if so many are right in one condition alone.

        The standard error is sqrt((b + c) / n^2 - gap^2 / n), with b and c of n episodes right in one alone;
        here for a gap of 0, where it is largest.
        """
        return 100 * 1.96 * math.sqrt(discordant / self.episodes)


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
    n_episodes, types = wanted_nonce(request.nonce, request.nonce_types, resolved.manifest)
    nonce = NonceEngine(engine, n_episodes, types) if n_episodes else None
    of_nonce = nonce.used if nonce else {}
    for (hop, split), (pool, indices) in of_nonce.items():
        n = n_episodes if pool == SCENES else 0
        splits.append({"hop": hop, "split": split, "pool": pool, "questions": n, "images": len(indices)})
        hops[hop] = indices_by_pool([*hops.get(hop, {}).items(), (pool, indices)])
    images = indices_by_pool([*((job.pool, each) for job, each in used.items()), *of_nonce.values()])
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
        images_to_annotate=sum(len(each.missing) for each in to_annotate),
        not_asked=engine.templates.not_asked,
        episodes=n_episodes,
        no_episodes=nonce.stream.missing if nonce else [],
    )
    with shown.stage("Timing this machine", total=0, unit="measurements") as advance:
        _measure(plan, nonce)
        advance(1)
    return plan


def _counted(job: Job, resolved: Resolved, *, exact: bool) -> tuple[int, Ints]:
    """The number of a split's questions, and its images, each once.

    `exact` makes the questions. Otherwise, the images of a streamed split are the first that it may ask
    about, as many as it needs if each yields all of its questions; which these are is known before objects
    are placed.
    """
    kind = job.kind
    if exact or kind.drawn not in ("stream", CovrKind.drawn):
        return images_of(job, resolved.engine)
    if isinstance(kind, CovrKind):
        rule = kind.scenes(resolved.config.covr_hold)
        # A window of scenes yields so many questions that nearly all of its scenes are in some set.
        n_images = min(-(-job.goal // SETS_A_WINDOW) * WINDOW, MAX_IMAGES * job.goal)
    else:
        rule, n_images = kind.rule, -(-job.goal // kind.questions_per_scene)
    return job.goal, resolved.engine.eligible_scenes(job.split, job.pool, job.hop.held_out, rule, n_images)


def _measure(plan: Plan, nonce: NonceEngine | None) -> None:
    """Adds bytes and seconds to a plan: its numbers times the rates of samples."""
    resolved = plan.resolved
    text, rows = _Rate(0, BYTES_OF_ARRAYS), list[bytes]()
    if resolved.jobs:
        largest = max(resolved.jobs, key=lambda job: job.goal if job.kind.unit == "questions" else 0)
        text, rows = _text_rate(largest, resolved)
    elif nonce is not None:
        rows = next(nonce.scene_rows(SCENES, np.arange(min(len(nonce.episodes), SAMPLE), dtype=np.int32)))
    plan.bytes = round(plan.questions * text.bytes)
    seconds = SECONDS_TO_START + SECONDS_A_SPLIT * len(plan.splits)
    seconds += plan.questions * (text.seconds + SECONDS_OF_CHECK)
    n_images = max(plan.images_to_render, plan.images_to_annotate)
    if n_images and resolved.request.render:
        scenes = [json.loads(row) for row in rows]
        # CLEVR's images are copied, not rendered; its scenes stand in only if there are no others.
        scenes = [each for each in scenes if "source" not in each] or scenes
        try:
            image, start = _image_rate(scenes, resolved)
        except RenderError as error:
            plan.no_seconds_because = str(error)
            return
        plan.seconds_per_image = image.seconds
        seconds += start + n_images * image.seconds
        plan.bytes += round(plan.scenes * image.bytes)
    plan.seconds = round(seconds, 1)


class _Rate(NamedTuple):
    """Seconds and bytes of one question, with its scene, or of one image, with its annotations."""

    seconds: float
    bytes: float


def _text_rate(job: Job, resolved: Resolved) -> tuple[_Rate, list[bytes]]:
    """The rate of a split's first questions, with their scenes; and these scenes as JSON."""
    began = perf_counter()
    batch = next(questions_of(replace(job, goal=min(job.goal, SAMPLE)), resolved.engine))
    n, images = len(batch.table), distinct_images([batch.table.image_idxs])
    scenes = [row for rows in resolved.engine.scene_rows(job.pool, images) for row in rows]
    seconds = (perf_counter() - began) / n
    return _Rate(seconds, sum(map(len, [*batch.rows, *scenes])) / n + BYTES_OF_ARRAYS), scenes


def _image_rate(scenes: Sequence[Any], resolved: Resolved) -> tuple[_Rate, float]:
    """The rate of images, and seconds until all workers render.

    Raises:
        RenderError: no image could be rendered.
    """
    config = resolved.config
    with ExitStack() as stack:
        renderer = open_renderer(stack, resolved, keeps_kernels=False)
        n_first = renderer.workers  # whose images include the time for starting Blender
        n_timed = n_first * row_of(config.rendering).images_timed
        sample = list(enumerate(islice(cycle(scenes), n_first + n_timed)))
        began = perf_counter()
        images, ends = [], []
        for _, pixels in renderer.render(sample):
            images.append(pixels)
            ends.append(perf_counter())
        annotated = list(annotator_of(renderer).passes(sample[n_first:])) if config.passes else []
        ended = perf_counter()
    n_bytes = sum(sum(map(len, pack(each, config.passes).chunks.values())) for _, each in annotated)
    for pixels in images[n_first:]:
        n_bytes += len(encode_png(pixels)) if config.png else 0
        n_bytes += len(zlib.compress(pixels.tobytes(), DEFLATE_LEVEL)) if config.h5 else 0
    started = ends[n_first - 1]
    return _Rate((ended - started) / n_timed, n_bytes / n_timed), started - began


def plan_json(plan: Plan) -> dict[str, Any]:
    """The plan as one JSON object."""
    request, rest = plan.resolved.request, dict(vars(plan))
    del rest["resolved"]
    return {
        "folder": str(request.out),
        "seed": plan.resolved.manifest.seed,
        "pairs_an_image": round(sum(plan.hops.values()) / max(1, plan.scenes), 3),
        "rendering": request.rendering,
        **rest,
        "palettes": {name: palette.as_json() for name, palette in _palettes(plan).items()},
    }


def plan_lines(plan: Plan) -> list[str]:
    """The plan as text, a list of lines."""
    resolved = plan.resolved
    request, config = resolved.request, resolved.config
    width = max(12, *(len(each["split"]) for each in plan.splits))
    lines = [
        f"{request.out}: preset {request.config.preset}, seed {resolved.manifest.seed}; nothing is written",
        "",
        f"{'HOP':<18} {'split':<{width}} {'questions':>11} {'images':>11}",
    ]
    for hop, n_images in plan.hops.items():
        of_hop = [each for each in plan.splits if each["hop"] == hop]
        rows = [(each["split"], each["questions"], each["images"]) for each in of_hop]
        rows.append(("distinct", sum(each["questions"] for each in of_hop), n_images))
        lines += [f"{hop:<18} {name:<{width}} {n:>11,} {images:>11,}" for name, n, images in rows]
    lines += [palette.in_words(name) for name, palette in _palettes(plan).items()]
    of_pairs = () if any(hop.held_out for hop in resolved.hops) else QuestionSettings.names_of_pairs()
    changed = config.changed_settings().items()
    sentences = render_lines(
        "plan.md",
        plan=plan,
        settings={name: value for name, value in changed if name not in of_pairs},
        n_apart=sum(plan.hops.values()),
        renderer=rendering_in_words(rendering_as_json(config.rendering)),
        size=size,
        duration=duration,
        half_width=plan.half_width,
    )
    return [*lines, "", *sentences]


def _palettes(plan: Plan) -> dict[str, Palette]:
    """The palettes of the request's pools, by name."""
    names = {parse_pool_name(pool)[1] for pool in plan.pools}
    return {name: plan.resolved.engine.palettes[name] for name in sorted(names - {""}, key=name_order)}
