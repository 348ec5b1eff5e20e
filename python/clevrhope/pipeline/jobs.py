"""The last step of resolving a request: expands it into splits to be written, each with its size."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from clevrhope.config.presets import Config, Sizes, check_splits, splits_of
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.errors import ConfigError
from clevrhope.pipeline.engine import Engine, World
from clevrhope.pipeline.limits import second_palette
from clevrhope.pipeline.minimal import n_groups, n_places
from clevrhope.pipeline.request import Request
from clevrhope.runtime.atomic import record
from clevrhope.runtime.progress import Advance, ignore_advance
from clevrhope.splits.hops import Hop, parse_hop
from clevrhope.splits.kinds import SECOND_SPLITS, SPLITS, SplitKind
from clevrhope.splits.palettes import pool_name


@dataclass(frozen=True)
class QuestionFiles:
    """The question files of a folder, compared with its manifest."""

    manifest: Manifest
    layout: Layout
    checksums: bool
    """Whether contents are compared, not only sizes."""
    advance: Advance = ignore_advance
    """Called for each split that is compared."""

    def has_json(self, hop: str, split: str) -> bool:
        """Whether a split was written with a JSON question file, which it then keeps."""
        return self.layout.relative(self.layout.questions_json(hop, split)) in self.manifest.files

    def are_whole(self, hop: str, split: str, *, question_json: bool) -> bool:
        """Whether a split's files exist as the manifest lists them."""
        files = [self.layout.questions_h5(hop, split)]
        if question_json:
            files.append(self.layout.questions_json(hop, split))
        whole = all(map(self._as_listed, files))
        self.advance(1)
        return whole

    def _as_listed(self, path: Path) -> bool:
        known = self.manifest.files.get(self.layout.relative(path))
        try:
            same = known is not None and path.stat().st_size == known.bytes
        except OSError:
            return False
        return same and (not self.checksums or record(path) == known)


@dataclass(frozen=True)
class Job:
    """One split of one sub-dataset, as the folder will hold it after the run."""

    hop: Hop
    split: str
    pool: str
    goal: int
    """Number of questions in a streamed split, places in a minimal one, groups or sets in a preliminary one:
    the requested number, or the existing one if that is larger."""
    finished: bool
    """Whether the files exist, with exactly this goal."""
    question_json: bool = True
    """Whether these include a question file in CLEVR's JSON."""
    requested: int = 0
    """The requested size; less than the goal if the folder already has more."""

    @property
    def kind(self) -> SplitKind:
        """The split's row in `clevrhope.splits.kinds`."""
        return SPLITS[self.split]

    @property
    def minimal(self) -> bool:
        """Whether this is a split of one-object grids, counted in places."""
        return self.kind.drawn == "places"

    @property
    def prelim(self) -> bool:
        """Whether it asks about one value, in groups or sets."""
        return self.hop.value is not None


def expand_jobs(
    request: Request, config: Config, hops: Sequence[Hop], files: QuestionFiles, engine: Engine
) -> tuple[Job, ...]:
    """The splits of a request, and those of earlier runs whose files are missing or damaged.

    A split whose files differ from the manifest is written again.

    Raises:
        ClevrhopeError: no sub-dataset has a wanted split, a pool is too small, or a split has changed.
    """
    second = second_palette(request.limits)
    jobs = tuple(
        _job(hop, split, config, files, engine, second)
        for hop in hops
        for split in wanted_splits(hop, request.splits, second)
    )
    expanded = {job.split for job in jobs}
    strays = [name for name in request.splits or () if name not in expanded]
    if strays:
        known = dict.fromkeys(name for hop in hops for name in wanted_splits(hop, None, second))
        are_none = "is not a split" if len(strays) == 1 else "are not splits"
        raise ConfigError(
            f"--splits: {' and '.join(strays)} {are_none} of "
            f"{', '.join(hop.name for hop in hops[:12])}; known: {', '.join(known)}"
        )
    return (*jobs, *_repairs(jobs, files, engine.world))


def wanted_splits(hop: Hop, wanted: Sequence[str] | None, second: str) -> tuple[str, ...]:
    """The wanted splits (None: all) that a sub-dataset has, in canonical order.

    Raises:
        ConfigError: a wanted split does not exist.
    """
    known = (*splits_of(hop), *(SECOND_SPLITS if second else ()))
    if wanted is None:
        return known
    own = tuple(name for name in SECOND_SPLITS if second and name in wanted)
    first = check_splits([name for name in wanted if name not in own]) if len(own) < len(wanted) else ()
    return (*(name for name in first if name in known), *own)


def new_job(hop: Hop, split: str, sizes: Sizes, engine: Engine, second: str) -> Job:
    """A split of the requested size, regardless of a folder; `second` names a second palette, or is "".

    Raises:
        ClevrhopeError: its pool is too small.
    """
    kind = SPLITS[split]
    if hop.value is not None:
        if kind.drawn == "groups":
            minimal = engine.minimal_pool(hop)
            pool, goal = minimal.name, n_groups(minimal, sizes.prelim_existence)
        else:
            counting = engine.counting_pool(hop)
            pool, goal = counting.name, sizes.prelim_counting
            # Fails if the pool has fewer sets.
            counting.questions(engine.templates, seed=engine.seed, first=goal - 1, n=1)
    elif kind.drawn == "places":
        minimal = engine.minimal_pool(hop)
        pool = minimal.name
        goal = n_places(minimal, copies=sizes.minimal_copies, limit=sizes.minimal_places)
    else:
        pool = pool_name(kind.pool, second if split in SECOND_SPLITS else hop.pools)
        goal = getattr(sizes, kind.size)
    return Job(hop, split, pool, goal, finished=False, requested=goal)


def _job(hop: Hop, split: str, config: Config, files: QuestionFiles, engine: Engine, second: str) -> Job:
    job = new_job(hop, split, config.sizes, engine, second)
    there: Mapping[str, Any] = files.manifest.splits.get(hop.name, {}).get(split, {})
    if job.kind.drawn == "stream" and there and there["pool"] != job.pool:
        raise ConfigError(
            f"{files.layout.hop(hop.name)}: {split} uses pool {there['pool']}, not {job.pool}; "
            "choose another --out"
        )
    had = int(there.get(job.kind.unit, 0))
    question_json = config.question_json or files.has_json(hop.name, split)
    whole = had >= job.goal and files.are_whole(hop.name, split, question_json=question_json)
    return replace(job, goal=max(job.goal, had), finished=whole, question_json=question_json)


def _repairs(jobs: Sequence[Job], files: QuestionFiles, world: World) -> Iterator[Job]:
    """Splits of earlier runs whose files are missing or differ from the manifest."""
    requested = {(job.hop.name, job.split) for job in jobs}
    for name, splits in files.manifest.splits.items():
        for split, entry in splits.items():
            if (name, split) in requested:
                continue
            question_json = files.has_json(name, split)
            if not files.are_whole(name, split, question_json=question_json):
                hop = parse_hop(name, world.attribute_types)
                goal = int(entry.get("places", entry.get("sets", entry["questions"])))
                yield Job(hop, split, entry["pool"], goal, finished=False, question_json=question_json)
