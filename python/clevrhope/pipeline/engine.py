"""Settings in; worlds, templates, questions and scenes out, batch by batch, in the shapes that files take.

The one module of the build that calls the native module.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clevrhope._core import (
    CountingPool,
    MinimalPool,
    PoolScan,
    ProgramTokens,
    QuestionBatch,
    SplitStream,
    Templates,
    World,
    sample_scenes,
)
from clevrhope.config.presets import WINDOW, Config
from clevrhope.dataset.questions_h5 import Ints, QuestionArrays
from clevrhope.dataset.vocab import Vocab, make_vocab
from clevrhope.errors import ConfigError, TemplateError
from clevrhope.pipeline.clevr import constraints
from clevrhope.questions import read_templates, synonyms_path
from clevrhope.runtime import assets
from clevrhope.runtime.forms import NUMBER, TEXT, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.scenes import read_world
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN, Stream
from clevrhope.splits.palettes import Palette, parse_pool_name, pool_name

__all__ = ["CountingPool", "MinimalPool", "Templates", "World"]

Pair = tuple[tuple[str, str], ...]

WINDOWS_A_BATCH = 32
"""Windows asked for at once, 72,000 train questions: enough for all cores, some 100 MB of JSON rows."""

SCENES_A_BATCH = 2_000
PLACES_A_BATCH = 500
SETS_A_BATCH = 500

RELATIONS = 3
"""Most relations of a question in CLEVR's templates; files have room for so many, or for what others need."""


@dataclass(frozen=True)
class Questions:
    """A batch of questions."""

    arrays: QuestionArrays
    rows: list[bytes]
    """The same as rows of CLEVR's JSON, where they were asked for."""


class Engine:
    """World, templates and seed of a folder, and what is kept while several splits are made from them."""

    def __init__(
        self,
        world: World,
        templates: Templates,
        *,
        seed: int,
        palettes: Mapping[str, Palette],
        match_objects: bool = False,
        implied: bool = False,
        clevr: World | None = None,
    ) -> None:
        """`match_objects` thins scenes; `implied` holds pairs out of likenesses too."""
        self.world = world
        self.clevr = clevr
        """The world of the pool `train`, where that holds CLEVR's scenes."""
        self.palettes = dict(palettes)
        """Those of the folder, by name."""
        self._worlds: dict[str, World] = {}
        self.templates = templates
        self.seed = seed
        self._match_objects = match_objects
        self._implied = implied
        self._scans: dict[str, PoolScan] = {}
        self._vocab = vocabulary(world, templates)
        self._tokens = ProgramTokens(world.vocabulary, self._vocab.programs())
        self._words = self._vocab.questions()
        answers = self._vocab.answer_token_to_idx
        self._answers = np.asarray([answers[answer] for answer in world.answers], dtype=np.int32)

    def stream(
        self, split: str, stream: Stream, pair: Pair | None, n: int, *, rows: bool
    ) -> Iterator[Questions]:
        """The first n questions of a streamed split; the last image in part.

        Raises:
            SplitError: a predicate starves the split; says which, after a bounded search.
        """
        questions = self._opened(split, stream, pair)
        done = 0
        while done < n:
            batch = questions.next(_n_windows(n - done, stream))
            if len(batch) > n - done:
                batch = batch.take(0, n - done)
            yield self._questions(batch, split=split, first=done, rows=rows)
            done += len(batch)

    def eligible_scenes(self, split: str, stream: Stream, pair: Pair | None, n: int) -> Ints:
        """The first n scenes of a pool that a streamed split may ask about, found without asking.

        Raises:
            SplitError: there are none, after a bounded search.
        """
        return self._opened(split, stream, pair).skip(-(-n // WINDOW))[:n].astype(np.int32)

    def minimal(
        self, split: str, pool: MinimalPool, places: Sequence[int], *, rows: bool
    ) -> Iterator[Questions]:
        """The questions of a minimal split, or of a value's existence, on some places, place by place."""
        done = 0
        kind: Literal["iid", "ood"] = "iid" if SPLITS[split].asked == "never" else "ood"
        for begin in range(0, len(places), PLACES_A_BATCH):
            some = np.asarray(places[begin : begin + PLACES_A_BATCH], dtype=np.uint64)
            batch = pool.questions(self.templates, seed=self.seed, kind=kind, places=some)
            yield self._questions(batch, split=split, first=done, rows=rows)
            done += len(batch)

    def counting(self, split: str, pool: CountingPool, n_sets: int, *, rows: bool) -> Iterator[Questions]:
        """The questions of a value's first counting sets, set by set."""
        for first in range(0, n_sets, SETS_A_BATCH):
            n = min(SETS_A_BATCH, n_sets - first)
            batch = pool.questions(self.templates, seed=self.seed, first=first, n=n)
            yield self._questions(batch, split=split, first=first * pool.images, rows=rows)

    def check_sets(self, hop: Hop, n_sets: int) -> None:
        """Passes where a value's pool has room for so many counting sets.

        Raises:
            SplitError: it has not; or no template counts.
        """
        self.counting_pool(hop).questions(self.templates, seed=self.seed, first=n_sets - 1, n=1)

    def existence_pool(self, hop: Hop) -> MinimalPool:
        """The pool of one-object images of a value's type."""
        return MinimalPool(self.world, pair=list(hop.target))

    def counting_pool(self, hop: Hop) -> CountingPool:
        """The pool of counting images of a value's type."""
        (value,) = hop.target
        return CountingPool(self.world, value=value)

    def prelim_pool(self, hop: Hop, split: str) -> MinimalPool | CountingPool:
        """The pool of a preliminary split."""
        return self.counting_pool(hop) if SPLITS[split].drawn == "sets" else self.existence_pool(hop)

    def minimal_pool(self, hop: Hop) -> MinimalPool:
        """The pool of one-object images of a pair's types, of what is seen where there is a palette."""
        return MinimalPool(self.world_of(pool_name("minimal", hop.pools)), pair=list(hop.pair or ()))

    def world_of(self, pool: str) -> World:
        """The world of a pool: with its palette, if it has one."""
        _, name = parse_pool_name(pool)
        if not name:
            return self.clevr if self.clevr is not None and pool == TRAIN.pool else self.world
        if pool not in self._worlds:
            data = self.palettes[name].data(pool)
            self._worlds[pool] = self.world.with_palette(data, name=name, file=f"palette {name}")
        return self._worlds[pool]

    def published(self, pool: str, indices: Ints) -> Ints:
        """The published index of the CLEVR scene at each index of a pool; -1 for the pool's own scenes."""
        if self.clevr is None:
            return np.full(len(indices), -1, dtype=np.int32)
        found = self.world_of(pool).clevr_indices(indices.astype(np.uint64), seed=self.seed, pool=pool)
        return found.astype(np.int32)

    def scene_rows(self, pool: str, indices: Ints) -> Iterator[list[bytes]]:
        """Scenes of a pool as JSON rows, in the order of `indices`, batch by batch."""
        for begin in range(0, len(indices), SCENES_A_BATCH):
            some = indices[begin : begin + SCENES_A_BATCH].astype(np.uint64)
            scan = self._scans.get(pool)
            if scan is None:
                scenes = sample_scenes(self.world_of(pool), seed=self.seed, pool=pool, indices=some)
            else:
                scenes = scan.scenes(some)
            yield scenes.json_rows()

    def forget_scenes(self) -> None:
        """Gives back the memory of the scenes that were looked at, for when no more questions are asked."""
        self._scans.clear()

    def scanned(self) -> dict[str, int]:
        """Pool -> scenes that streamed splits have looked at so far."""
        return {pool: scan.scanned for pool, scan in self._scans.items()}

    def _opened(self, split: str, stream: Stream, pair: Pair | None) -> SplitStream:
        return SplitStream(
            self._scan(stream.pool),
            self.templates,
            split=split,
            pair=None if pair is None else list(pair),
            scenes=stream.rule,
            questions="unimplied" if self._implied and stream.rule == "without" else stream.rule,
            questions_per_scene=stream.questions_per_scene,
            match_objects=self._match_objects,
        )

    def _scan(self, pool: str) -> PoolScan:
        """The pool's scenes as questions see them, looked at once for all splits."""
        if pool not in self._scans:
            self._scans[pool] = PoolScan(self.world_of(pool), seed=self.seed, pool=pool)
        return self._scans[pool]

    def _questions(self, batch: QuestionBatch, *, split: str, first: int, rows: bool) -> Questions:
        """A batch whose first question is number `first` of its split, in the folder's numbers."""
        words, n_words = batch.question_tokens(self._words, self.templates.question_width)
        programs, n_functions = batch.program_tokens(self._tokens, self.templates.program_width)
        arrays = QuestionArrays(
            questions=words,
            question_lengths=n_words,
            programs=programs,
            program_lengths=n_functions,
            answers=self._answers[batch.answers],
            image_idxs=batch.image_idxs.astype(np.int32),
            question_families=batch.question_families,
            relation_needed=batch.relation_needed(RELATIONS),
        )
        return Questions(arrays, batch.json_rows(split=split, start_index=first) if rows else [])


def open_world(config: Config) -> World:
    """The world of a configuration.

    Raises:
        ConfigError: a file that cannot be read.
        VocabularyError: a properties file without colours, say.
        SceneError: constraints that no scene can meet.
    """
    return read_world(properties=config.properties, constraints=constraints(config))


def open_templates(config: Config, world: World) -> Templates:
    """The question templates of a configuration.

    Raises:
        TemplateError: a folder without templates, or a template that is none; says where.
    """
    return read_templates(world, config.templates)


def template_files(templates: Templates) -> list[str]:
    """The files that the families come from, in the order in which families are numbered."""
    return list(dict.fromkeys(file for file, _, _ in templates.families))


def families(templates: Templates) -> dict[int, tuple[str, int]]:
    """Global index of each family -> its file and its place there."""
    return {index: (file, place) for file, place, index in templates.families}


def families_that_never_mention(templates: Templates, pair: Pair) -> list[int]:
    """Global indices of the families that cannot mention a pair, whatever the scene."""
    able = set(templates.families_that_can_mention(list(pair)))
    return [index for index in families(templates) if index not in able]


def vocabulary(world: World, templates: Templates) -> Vocab:
    """Every word, function and answer that can occur in this world with these templates."""
    return make_vocab(templates.words, ProgramTokens(world.vocabulary).names, world.answers)


def synonyms(config: Config) -> Mapping[str, Sequence[str]]:
    """Value, relation or "thing" -> the words that questions have for it."""
    path = synonyms_path(config.templates or assets.question_templates())
    words: Mapping[str, Sequence[str]] = read_object(path, "synonyms", error=TemplateError)
    check_form(words, MapOf(ListOf(TEXT)), path, error=TemplateError)
    return words


def colours(config: Config) -> Mapping[str, Sequence[float]]:
    """Colour -> red, green, blue from 0 to 255."""
    path = config.properties or assets.blender_assets() / "properties.json"
    raw = read_object(path, "a properties file", error=ConfigError)
    check_form(raw, Fields({"colors": MapOf(ListOf(NUMBER, 3))}), path, error=ConfigError)
    named: Mapping[str, Sequence[float]] = raw["colors"]
    return named


def _n_windows(n: int, stream: Stream) -> int:
    """Windows that give n questions if each scene gives all of its own; no more than a batch's."""
    return max(1, min(WINDOWS_A_BATCH, -(-n // (WINDOW * stream.questions_per_scene))))
