"""A request in; how many pictures, questions and bytes, and how long here, out. Nothing is written.

Small splits are made in memory and counted. Of large ones the first scenes of each pool are looked at. A
split needs so many scenes of a pool to be scanned: its pictures over the share of scenes that it takes. Up to
there it takes each eligible scene or, where scenes are thinned to equal numbers of objects, some of them.
So the pictures that any split uses are the scenes that not all splits pass over.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.build.engine import TRAIN, MinimalPool
from clevrhope.build.minimal import first_places
from clevrhope.build.pictures import missing_pictures
from clevrhope.build.request import Job, Request, Resolved, resolve
from clevrhope.build.run import open_renderer
from clevrhope.build.text import questions_of, scenes_in_use, stream_of
from clevrhope.config import PICTURES_OF_A_SET
from clevrhope.dataset.images_h5 import DEFLATE_LEVEL
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.display import duration, size
from clevrhope.errors import RenderError
from clevrhope.images.cores import available_cores
from clevrhope.images.cycles import threads_of_workers
from clevrhope.images.png import encode_png
from clevrhope.images.settings import renderer_of, rendering_as_json, rendering_in_words
from clevrhope.palettes import Palette, split_name

COUNTED = 20_000
"""Questions up to which a request is made in memory and counted rather than estimated."""

SECONDS_OF_CHECK = 3.5e-5
"""Of the check for leaks, a question; measured on two cores, on a sub-dataset of 708,440."""

SECONDS_TO_START, SECONDS_A_SPLIT = 1.0, 0.08
"""Of any build: until it runs and its folder is closed; and to try, write, sync, check and describe a split,
whatever its size. Processor time on two cores, of builds from one split to 145; it is most of a small build's
time and nothing of a large one's."""

SCENES_LOOKED_AT = 2_000
QUESTIONS_LOOKED_AT = 2_250
PICTURES_TIMED = {"blender": 1, "native": 8}
"""For each worker, after one that is not counted."""

PICTURES_OF_THE_PAPER = 402_000
"""Of all 29 pairs at the paper's sizes, each once: what a time for one picture is held against."""

BYTES_OF_ARRAYS = 30
"""Of a question in HDF5, compressed; measured on a train split of 5,600."""


@dataclass(frozen=True)
class SplitPlan:
    """What a split will hold."""

    hop: str
    split: str
    pool: str
    questions: int
    pictures: int


@dataclass(frozen=True)
class Rates:
    """Measured here, just now."""

    questions_per_second: float
    scenes_per_second: float
    seconds_per_picture: float | None
    """With all workers; None where nothing is rendered, or could be."""
    seconds_to_renderer: float
    """Until all workers render: Blender's start, and its first look at the materials."""
    bytes_a_question: float
    bytes_a_scene: float
    bytes_a_picture: Mapping[str, float]
    """Of each kind of file that will be there."""


@dataclass(frozen=True)
class Plan:
    """What a build would make."""

    resolved: Resolved
    splits: Sequence[SplitPlan]
    hop_pictures: Mapping[str, int]
    """Pair -> pictures that some split of it uses, each once."""
    pictures: Mapping[str, int]
    """Pool -> pictures that some split of this request uses, each once."""
    scanned: Mapping[str, int]
    """Pool -> scenes that are looked at to find them; none of the pools of one-object pictures."""
    to_render: int
    """Those of them that are not there yet, but for CLEVR's own."""
    to_copy: int
    """Those that are CLEVR's, and not there yet."""
    exact: bool
    """Counted, not estimated."""
    rates: Rates
    no_pictures_because: str
    """Why pictures could not be timed; empty when they were, or were not asked for."""

    @property
    def questions(self) -> int:
        """Questions of all splits."""
        return sum(each.questions for each in self.splits)

    @property
    def reuse(self) -> float:
        """How many of the request's pairs use a picture, on average."""
        return sum(self.hop_pictures.values()) / max(1, sum(self.pictures.values()))

    @property
    def bytes(self) -> float:
        """Bytes of all files."""
        n_pictures = sum(self.pictures.values())
        pictures = (
            n_pictures * sum(self.rates.bytes_a_picture.values()) if self.resolved.request.render else 0.0
        )
        return self.questions * self.rates.bytes_a_question + n_pictures * self.rates.bytes_a_scene + pictures

    @property
    def seconds(self) -> float | None:
        """Time from nothing; None when pictures are wanted and could not be timed."""
        text = self.questions * (1 / self.rates.questions_per_second + SECONDS_OF_CHECK)
        text += sum(self.pictures.values()) / self.rates.scenes_per_second
        text += SECONDS_TO_START + SECONDS_A_SPLIT * len(self.splits)
        if not self.resolved.request.render or not self.to_render:
            return text
        if self.rates.seconds_per_picture is None:
            return None
        return text + self.rates.seconds_to_renderer + self.to_render * self.rates.seconds_per_picture


def make_plan(request: Request) -> Plan:
    """Looks at the first scenes and questions of what a request asks for.

    Raises:
        ClevrhopeError: as `build` would.
    """
    resolved = resolve(request)
    streamed = [job for job in resolved.jobs if job.unit == "questions"]
    exact = sum(job.goal for job in streamed) <= COUNTED
    used = _counted(resolved) if exact else None
    splits = [_split_plan(job, resolved, used) for job in resolved.jobs]
    there = _pictures_there(resolved)
    if used is not None:
        by_pool = _by_pool(used)
        missing = {pool: np.setdiff1d(each, there.get(pool, _NONE)) for pool, each in by_pool.items()}
        to_render = sum(map(len, missing.values()))
        to_copy = sum(_n_published(pool, each, resolved) for pool, each in missing.items())
        pictures = {pool: len(indices) for pool, indices in by_pool.items()}
        scanned = resolved.engine.scanned()
    else:
        pictures, scanned = _estimated(resolved)
        to_render = sum(max(0, n - len(there.get(pool, _NONE))) for pool, n in pictures.items())
        to_copy = _estimated_copies(resolved, pictures, scanned, there)
    to_render -= to_copy
    rates, problem = _measured(resolved, pictures=resolved.request.render and to_render > 0)
    return Plan(
        resolved=resolved,
        splits=splits,
        hop_pictures=_of_each_hop(resolved, splits, used),
        pictures=pictures,
        scanned=scanned,
        to_render=to_render,
        to_copy=to_copy,
        exact=exact,
        rates=rates,
        no_pictures_because=problem,
    )


def plan_lines(plan: Plan) -> list[str]:
    """The plan in words."""
    request = plan.resolved.request
    about = "" if plan.exact else "about "
    lines = [
        f"{request.out}, preset {request.config.preset}, seed {plan.resolved.seed}; nothing is written.",
        "",
    ]
    lines.append(f"{'HOP':<18} {'split':<12} {'questions':>11} {'pictures':>11}")
    for hop, n_pictures in plan.hop_pictures.items():
        splits = [split for split in plan.splits if split.hop == hop]
        lines += [f"{hop:<18} {s.split:<12} {s.questions:>11,} {s.pictures:>11,}" for s in splits]
        n_questions = sum(split.questions for split in splits)
        lines.append(f"{hop:<18} {'each once':<12} {n_questions:>11,} {n_pictures:>11,}")
    lines += plan.resolved.exhausted
    lines += _seen_lines(plan)
    apart = sum(plan.hop_pictures.values())
    shared = sum(plan.pictures.values())
    lines += [
        "",
        f"{plan.questions:,} questions on {about}{shared:,} scenes"
        + (
            f" ({apart:,} if pairs shared none: {plan.reuse:.1f} pairs use a picture)"
            if apart > shared
            else ""
        ),
        f"{about}{sum(plan.scanned.values()):,} scenes of several objects looked at to find theirs"
        + (", thinned to equal numbers of objects" if plan.resolved.config.match == "objects" else ""),
        *(
            ["train and IID questions ask for no pair by way of likenesses either (--strictness implied)"]
            if plan.resolved.config.strictness == "implied"
            else []
        ),
        f"{about}{plan.to_render:,} pictures to render" if request.render else "no pictures (--no-render)",
        *_clevr_lines(plan, about),
        f"{about}{size(plan.bytes)}",
    ]
    if plan.seconds is not None:
        each = plan.rates.seconds_per_picture
        with_what = rendering_in_words(rendering_as_json(plan.resolved.config.rendering))
        rate = f" ({each:.2g} s a picture with {with_what}, measured now)" if each is not None else ""
        lines.append(f"{about}{duration(plan.seconds)} here{rate}")
        if each is not None and plan.to_render < PICTURES_OF_THE_PAPER / 2:
            lines.append(
                f"at that, the {PICTURES_OF_THE_PAPER:,} pictures of all 29 pairs at the paper's size take "
                f"{duration(PICTURES_OF_THE_PAPER * each)}"
            )
    else:
        lines.append(f"how long cannot be told: {plan.no_pictures_because}")
    return lines


def plan_json(plan: Plan) -> dict[str, Any]:
    """The plan as one JSON object."""
    return {
        "folder": str(plan.resolved.request.out),
        "seed": plan.resolved.seed,
        "exact": plan.exact,
        "questions": plan.questions,
        "scenes": sum(plan.pictures.values()),
        "pictures_to_render": plan.to_render if plan.resolved.request.render else 0,
        "pictures_to_copy": plan.to_copy if plan.resolved.request.render else 0,
        "bytes": round(plan.bytes),
        "seconds": None if plan.seconds is None else round(plan.seconds, 1),
        "seconds_per_picture": plan.rates.seconds_per_picture,
        "rendering": rendering_as_json(plan.resolved.config.rendering)
        if plan.resolved.request.render
        else None,
        "questions_per_second": round(plan.rates.questions_per_second),
        "scenes_per_second": round(plan.rates.scenes_per_second),
        "pools": dict(plan.pictures),
        "scanned": dict(plan.scanned),
        "hops": dict(plan.hop_pictures),
        "pairs_a_picture": round(plan.reuse, 3),
        "palettes": {name: palette.as_json() for name, palette in _palettes(plan).items()},
        "splits": [
            {"hop": s.hop, "split": s.split, "pool": s.pool, "questions": s.questions, "pictures": s.pictures}
            for s in plan.splits
        ],
    }


def _rendering(resolved: Resolved) -> dict[str, Any] | None:
    return rendering_as_json(resolved.config.rendering) if resolved.request.render else None


def _clevr_lines(plan: Plan, about: str) -> list[str]:
    """What comes from CLEVR, and whether its scenes last."""
    config, clevr = plan.resolved.config, plan.resolved.engine.clevr
    if clevr is None or clevr.clevr is None:
        return []
    _, n_scenes, reach = clevr.clevr
    what = "pictures to copy from" if plan.resolved.request.render else "scenes of"
    share = f"whose train scenes are {config.clevr_share:.2g} of pool {TRAIN}"
    lines = [f"{about}{plan.to_copy:,} {what} {config.clevr}, {share}"]
    if plan.scanned.get(TRAIN, 0) > reach:
        lines.append(
            f"its {n_scenes:,} train scenes end at place {reach:,} of the pool; then all are our own"
        )
    return lines


def _palettes(plan: Plan) -> dict[str, Palette]:
    """The palettes of the request's pools, by name."""
    names = {split_name(job.pool)[1] for job in plan.resolved.jobs}
    return {name: plan.resolved.engine.palettes[name] for name in sorted(names - {""})}


def _seen_lines(plan: Plan) -> list[str]:
    """What palettes let be seen, a line each and one between."""
    lines = [
        f"{name} sees {', '.join(' '.join(each) for each in palette.combinations)}"
        + (f"; not {' '.join(palette.held_out)}" if palette.held_out else "")
        for name, palette in _palettes(plan).items()
    ]
    return ["", *lines] if lines else []


_NONE: Ints = np.zeros(0, dtype=np.int32)


def _counted(resolved: Resolved) -> dict[Job, Ints]:
    """Makes every split in memory; keeps which pictures it uses."""
    return {job: _asked_about(job, resolved) for job in resolved.jobs}


def _asked_about(job: Job, resolved: Resolved) -> Ints:
    """The pictures of a split, each once."""
    indices: Ints = np.unique(
        np.concatenate([batch.arrays.image_idxs for batch in questions_of(job, resolved)])
    )
    return indices


def _split_plan(job: Job, resolved: Resolved, used: Mapping[Job, Ints] | None) -> SplitPlan:
    if job.prelim:
        questions = pictures = PICTURES_OF_A_SET[job.split] * job.goal
    else:
        questions, pictures = _minimal_counts(job, resolved) if job.minimal else (job.goal, _n_pictures(job))
    if used is not None:
        pictures = len(used[job])
    return SplitPlan(job.hop.name, job.split, job.pool, questions, pictures)


def _of_each_hop(
    resolved: Resolved, splits: Sequence[SplitPlan], used: Mapping[Job, Ints] | None
) -> dict[str, int]:
    """Pair -> pictures that any split of it uses; its two minimal splits share most of theirs."""
    pictures: dict[str, int] = {}
    for hop in dict.fromkeys(job.hop for job in resolved.jobs):
        jobs = [job for job in resolved.jobs if job.hop == hop]
        if used is not None:
            pictures[hop.name] = sum(map(len, _by_pool({job: used[job] for job in jobs}).values()))
            continue
        minimal = [job for job in jobs if job.minimal]
        counted = [split for split in splits if split.hop == hop.name]
        if len(minimal) == 2:
            counted = [split for split in counted if split.split not in ("minimal_iid", "minimal_ood")]
        pictures[hop.name] = sum(split.pictures for split in counted)
        if len(minimal) == 2:
            pictures[hop.name] += max(
                sum(_n_shown(pool, place) for place in places)
                for pool, places in (_places(job, resolved) for job in minimal)
            )
    return pictures


def _n_pictures(job: Job) -> int:
    """Pictures of a streamed split, if each gives as many questions as it should."""
    return -(-job.goal // stream_of(job).questions_per_scene)


def _minimal_counts(job: Job, resolved: Resolved) -> tuple[int, int]:
    """Questions and pictures of a minimal split.

    A place has a picture for each corner of its grid (four for two types), and each is the match of a group,
    asked about all of them. One whose grid holds the pair gives that pair's group out of distribution; in
    distribution the other groups, less their questions about the pair's picture. Others give all, less one
    corner where it shows what the palette has not.
    """
    corners = job.hop.corners
    pool, places = _places(job, resolved)
    held = sum(map(pool.has_pair, places))
    if job.split == "minimal_ood":
        return corners * held, corners * held
    unseen = sum(map(pool.has_unseen, places))
    free = len(places) - unseen
    return (corners - 1) ** 2 * unseen + corners**2 * free, (corners - 1) * unseen + corners * free


def _places(job: Job, resolved: Resolved) -> tuple[MinimalPool, list[int]]:
    assert job.hop.pair is not None
    pool = resolved.engine.minimal_pool(job.hop)
    return pool, first_places(pool, job.goal, seed=resolved.seed)


def _n_shown(pool: MinimalPool, place: int) -> int:
    """Pictures of a place that both minimal splits show together: not what the palette has not."""
    return pool.corners - (pool.has_unseen(place) and not pool.has_pair(place))


def _pictures_there(resolved: Resolved) -> dict[str, Ints]:
    """Pool -> pictures that are in the folder already."""
    used = scenes_in_use(resolved.manifest, resolved)
    work = missing_pictures(used, resolved.layout)
    return {each.pool: np.setdiff1d(each.used, each.missing) for each in work}


def _estimated(resolved: Resolved) -> tuple[dict[str, int], dict[str, int]]:
    """Pool -> pictures that any split uses, and scenes that are looked at; see the module's first lines."""
    pictures: dict[str, int] = {}
    scanned: dict[str, int] = {}
    for pool in dict.fromkeys(job.pool for job in resolved.jobs):
        jobs = [job for job in resolved.jobs if job.pool == pool]
        if jobs[0].prelim:
            pictures[pool] = len(_by_pool({job: _asked_about(job, resolved) for job in jobs})[pool])
            continue
        if jobs[0].minimal:
            corners: set[int] = set()
            for job in jobs:
                minimal, places = _places(job, resolved)
                corners.update(
                    place * minimal.corners + corner
                    for place in places
                    for corner in range(_n_shown(minimal, place))
                    if job.split == "minimal_iid" or minimal.has_pair(place)
                )
            pictures[pool] = len(corners)
            continue
        looked_at = _scenes_looked_at(resolved, pool)
        kept = [_kept(looked_at, job, resolved) for job in jobs]
        reach = np.asarray(
            [
                _n_pictures(job) / each.mean() if each.any() else 0.0
                for job, each in zip(jobs, kept, strict=True)
            ]
        )
        scanned[pool] = round(float(reach.max()))
        # From where one split has what it needs on, only those that reach further take scenes.
        used, begin, without = 0.0, 0.0, np.ones((len(jobs) + 1, len(looked_at)))
        order = np.argsort(reach)
        for place in reversed(range(len(jobs))):
            without[place] = without[place + 1] * (1 - kept[order[place]])
        for place, job in enumerate(order.tolist()):
            used += (reach[job] - begin) * float((1 - without[place]).mean())
            begin = reach[job]
        pictures[pool] = round(used)
    return pictures, scanned


def _n_published(pool: str, indices: Ints, resolved: Resolved) -> int:
    """How many scenes of a pool are CLEVR's."""
    return int((resolved.engine.published(pool, indices) >= 0).sum())


def _estimated_copies(
    resolved: Resolved, pictures: Mapping[str, int], scanned: Mapping[str, int], there: Mapping[str, Ints]
) -> int:
    """CLEVR's pictures among those of the train pool that are not there, by their share of first scenes."""
    clevr = resolved.engine.clevr
    if clevr is None or clevr.clevr is None or TRAIN not in pictures:
        return 0
    reach = clevr.clevr[2]
    first = _scenes_looked_at(resolved, TRAIN)[:reach]
    jobs = [job for job in resolved.jobs if job.pool == TRAIN]
    kept = [any(_eligible(scene, job) for job in jobs) for scene in first]
    published = ["source" in scene for scene, each in zip(first, kept, strict=True) if each]
    within = min(1.0, reach / max(1, scanned[TRAIN]))
    share = sum(published) / max(1, len(published)) * within
    n_there = _n_published(TRAIN, there.get(TRAIN, _NONE), resolved)
    return max(0, round(pictures[TRAIN] * share) - n_there)


def _scenes_looked_at(resolved: Resolved, pool: str) -> list[Mapping[str, Any]]:
    indices = np.arange(SCENES_LOOKED_AT, dtype=np.int32)
    return [json.loads(row) for rows in resolved.engine.scene_rows(pool, indices) for row in rows]


def _kept(scenes: Sequence[Mapping[str, Any]], job: Job, resolved: Resolved) -> npt.NDArray[np.float64]:
    """The chance of each scene to be taken by a split: 0 or 1, or between where scenes are thinned."""
    eligible = np.asarray([_eligible(scene, job) for scene in scenes])
    if resolved.config.match != "objects":
        return eligible.astype(np.float64)
    n_objects = np.asarray([len(scene["objects"]) for scene in scenes])
    counts = np.bincount(n_objects[eligible], minlength=n_objects.max() + 1)
    rarest = counts[n_objects.min() :].min()
    return np.where(eligible, rarest / np.maximum(counts[n_objects], 1), 0.0)


def _eligible(scene: Mapping[str, Any], job: Job) -> bool:
    if job.hop.pair is None:
        return True
    held = any(all(each[kind] == value for kind, value in job.hop.pair) for each in scene["objects"])
    return held == (stream_of(job).predicate == "with")


def _measured(resolved: Resolved, *, pictures: bool) -> tuple[Rates, str]:
    """Rates of this machine, and why pictures could not be timed."""
    job = max(resolved.jobs, key=lambda job: job.goal if job.unit == "questions" else 0)
    began = perf_counter()
    batch = next(iter(questions_of(replace(job, goal=min(job.goal, QUESTIONS_LOOKED_AT)), resolved)))
    questions_per_second = len(batch.arrays) / (perf_counter() - began)
    began = perf_counter()
    indices = np.unique(batch.arrays.image_idxs)
    rows = [row for rows in resolved.engine.scene_rows(job.pool, indices) for row in rows]
    scenes_per_second = len(rows) / (perf_counter() - began)
    seconds: float | None = None
    start = 0.0
    picture_bytes: dict[str, float] = {}
    problem = ""
    if pictures:
        try:
            scenes = [json.loads(row) for row in rows]
            # CLEVR's are copied; they can only stand in for others where there are none.
            own = [scene for scene in scenes if "source" not in scene]
            seconds, start, picture_bytes = _timed_pictures(own or scenes, resolved)
        except RenderError as error:
            problem = str(error)
    rates = Rates(
        questions_per_second=questions_per_second,
        scenes_per_second=scenes_per_second,
        seconds_per_picture=seconds,
        seconds_to_renderer=start,
        bytes_a_question=sum(map(len, batch.rows)) / len(batch.arrays) + BYTES_OF_ARRAYS,
        bytes_a_scene=sum(map(len, rows)) / len(rows),
        bytes_a_picture=picture_bytes,
    )
    return rates, problem


def _timed_pictures(
    scenes: Sequence[Mapping[str, Any]], resolved: Resolved
) -> tuple[float, float, dict[str, float]]:
    """Seconds a picture with all workers busy, seconds until they are, bytes a picture by kind of file."""
    rendering = resolved.config.rendering
    n_workers = (
        len(threads_of_workers(resolved.request.workers)) if renderer_of(rendering) == "blender" else 1
    )
    n_timed = n_workers * PICTURES_TIMED[renderer_of(rendering)]
    with ExitStack() as stack:
        renderer = open_renderer(stack, resolved)
        repeated = [scenes[k % len(scenes)] for k in range(n_workers + n_timed)]
        pictures = []
        ends = []
        began = perf_counter()
        for _, pixels in renderer.render(enumerate(repeated)):
            ends.append(perf_counter())
            pictures.append(pixels)
    # The first picture of each worker pays for Blender's start.
    seconds = (ends[-1] - ends[n_workers - 1]) / n_timed
    start = max(0.0, ends[n_workers - 1] - began - n_workers * seconds)
    encoders = {
        "png": (resolved.config.png, encode_png),
        "h5": (resolved.config.h5, lambda pixels: zlib.compress(pixels.tobytes(), DEFLATE_LEVEL)),
    }
    sizes = {}
    for kind, (wanted, encode) in encoders.items():
        if wanted:
            began = perf_counter()
            sizes[kind] = sum(len(encode(pixels)) for pixels in pictures) / len(pictures)
            # Threads do it beside the rendering, on cores that this could have used.
            seconds += (perf_counter() - began) / len(pictures) / available_cores()
    return seconds, start, sizes


def _by_pool(used: Mapping[Job, Ints]) -> dict[str, Ints]:
    lists: dict[str, list[Ints]] = {}
    for job, indices in used.items():
        lists.setdefault(job.pool, []).append(indices)
    return {pool: np.unique(np.concatenate(each)) for pool, each in lists.items()}
