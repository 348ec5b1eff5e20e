"""The jobs of a build, splits to be written. `resumption` finds those that are not finished."""

from collections.abc import Sequence
from dataclasses import dataclass

from clevrhope.config.presets import Sizes, check_splits, splits_of
from clevrhope.pipeline.engine import Engine
from clevrhope.pipeline.minimal import n_groups, n_places
from clevrhope.splits.covr.kinds import COVR_KINDS, CovrKind, is_covr
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SECOND_SPLITS, SPLITS, SplitKind
from clevrhope.splits.palettes import pool_name


@dataclass(frozen=True)
class Job:
    """One split of one sub-dataset, as the folder will hold it after the run.

    Attributes:
        hop: the sub-dataset.
        split: the split's name.
        pool: the pool of its scenes.
        goal: number of questions of a stream or of sets of images, places of a minimal split, groups or sets
            of a preliminary one: the requested number, or the existing one if that is larger.
        finished: whether the files exist, with exactly this goal.
        question_json: whether these include a question file in CLEVR's JSON.
        requested: the requested size; less than the goal if the folder already has more.
    """

    hop: Hop
    split: str
    pool: str
    goal: int
    finished: bool = False
    question_json: bool = True
    requested: int = 0

    @property
    def kind(self) -> SplitKind | CovrKind:
        """The split's row in `clevrhope.splits.kinds`, or in `clevrhope.splits.covr.kinds`."""
        return COVR_KINDS[self.split] if self.of_sets else SPLITS[self.split]

    @property
    def of_sets(self) -> bool:
        """Whether its questions are about several images."""
        return is_covr(self.split)

    @property
    def n_questions(self) -> int:
        """The approximate number of its questions, as a measure of the work."""
        kind = self.kind
        if isinstance(kind, CovrKind) or kind.drawn == "stream":
            return self.goal
        return self.goal * kind.group_of(len(self.hop.target))


def wanted_splits(hop: Hop, wanted: Sequence[str] | None, second: str) -> tuple[str, ...]:
    """The wanted splits (None: all) that a sub-dataset has, in canonical order.

    Raises:
        ConfigError: a wanted split does not exist.
    """
    of_second = SECOND_SPLITS if second else ()
    known = (*splits_of(hop), *of_second)
    if wanted is None:
        return known
    checked = check_splits([name for name in wanted if name not in of_second])
    return tuple(name for name in known if name in checked or (name in of_second and name in wanted))


def new_job(hop: Hop, split: str, sizes: Sizes, engine: Engine, second: str) -> Job:
    """A split of the requested size, regardless of a folder; `second` names a second palette, or is "".

    Raises:
        ClevrhopeError: its pool is too small.
    """
    if is_covr(split):
        row = COVR_KINDS[split]
        pool, goal = row.pool if hop.held_out else row.plain_pool, getattr(sizes, row.size)
        return Job(hop, split, pool_name(pool, hop.pools), goal, requested=goal)
    kind = SPLITS[split]
    match kind.drawn:
        case "groups":
            minimal = engine.minimal_pool(hop)
            pool, goal = minimal.name, n_groups(minimal, sizes.prelim_existence)
        case "sets":
            counting = engine.counting_pool(hop)
            pool, goal = counting.name, sizes.prelim_counting
            # Fails if the pool has fewer sets.
            counting.questions(engine.templates, seed=engine.seed, first=goal - 1, n=1)
        case "places":
            minimal = engine.minimal_pool(hop)
            goal = n_places(minimal, copies=sizes.minimal_copies, limit=sizes.minimal_places)
            pool = minimal.name
        case "stream":
            pool = pool_name(kind.pool, second if split in SECOND_SPLITS else hop.pools)
            goal = getattr(sizes, kind.size)
    return Job(hop, split, pool, goal, requested=goal)
