"""The build's only access to the native module: worlds, templates, and batches of questions and scenes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from clevrhope._core import (
    CountingPool,
    MinimalPool,
    PoolScenes,
    ProgramTokens,
    QuestionBatch,
    SplitStream,
    Templates,
    World,
    sample_scenes,
)
from clevrhope.config.presets import WINDOW, Config
from clevrhope.config.question_settings import Strictness
from clevrhope.dataset.question_kinds import SINGLE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab, make_vocab
from clevrhope.errors import ConfigError, TemplateError
from clevrhope.look.definition import read_look
from clevrhope.look.view import off_the_ground
from clevrhope.pipeline.clevr import constraints
from clevrhope.questions import synonyms_path
from clevrhope.runtime import assets
from clevrhope.runtime.forms import NUMBER, TEXT, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.scenes import read_world
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS, TRAIN, Rule
from clevrhope.splits.palettes import Palette, parse_pool_name, pool_name

__all__ = ["CountingPool", "MinimalPool", "Templates", "World"]

Pair = tuple[tuple[str, str], ...]

WINDOWS_A_BATCH = 32
"""Windows per call, 72,000 train questions: enough for all cores, and about 100 MB of JSON rows."""

SCENES_A_BATCH = 2_000
PLACES_A_BATCH = 500
SETS_A_BATCH = 500

RELATIONS = 3
"""The most relations in a question of CLEVR's templates; files have at least as many columns for them."""

CLEVR_WORDS_SHA256 = "3c42711810f49ea4c6b2dccb849627b1b194ae74bba1f8a02bb49a2f103a7a1a"
"""Of the words of CLEVR's own templates, sorted, one a line. Public vocabularies have an empty token besides,
number 4, so that the numbers of all words are the same with it."""

CLEVR_RANGE, MOST_RANGE = 3.0, 1000.0
"""CLEVR's `position_range`, and the largest one that a world may have."""


@dataclass(frozen=True)
class Questions:
    """A batch of questions."""

    arrays: QuestionTable
    rows: list[bytes]
    """The same questions as rows of CLEVR's JSON; empty if no JSON is wanted."""


class Engine:
    """Makes questions and scenes from a folder's world, templates and seed; keeps placed scenes."""

    def __init__(
        self,
        world: World,
        templates: Templates,
        *,
        seed: int,
        palettes: Mapping[str, Palette],
        strictness: Strictness = "description",
        shared_places: bool = False,
        clevr: World | None = None,
    ) -> None:
        """`strictness` and `shared_places` (of minimal sets) are explained in `QuestionSettings`."""
        self.world = world
        self.clevr = clevr
        """The world of the pool `train` if that contains CLEVR's scenes."""
        self.palettes = dict(palettes)
        """The folder's palettes by name."""
        self._worlds: dict[str, World] = {}
        self.templates = templates
        self.seed = seed
        self._strictness = strictness
        self._shared_places = shared_places
        self._pool_scenes: dict[str, PoolScenes] = {}
        self._vocab = vocabulary(world, templates)
        self._tokens = ProgramTokens(world.vocabulary, self._vocab.programs())
        self._words = self._vocab.questions()
        answers = self._vocab.answer_token_to_idx
        self._answers = np.asarray([answers[answer] for answer in world.answers], dtype=np.int32)

    def stream(
        self, split: str, pool: str, held_out: Pair | None, n: int, *, rows: bool
    ) -> Iterator[Questions]:
        """The first n questions of a streamed split; the last image may not have all of its questions.

        Raises:
            SplitError: a bounded search found too little; names the predicate that excludes too much.
        """
        questions = self._open(split, pool, held_out)
        done = 0
        while done < n:
            # The number of windows that suffices if each scene yields all of its questions.
            n_windows = -(-(n - done) // (WINDOW * SPLITS[split].questions_per_scene))
            batch = questions.next(min(WINDOWS_A_BATCH, n_windows))
            if len(batch) > n - done:
                batch = batch.take(0, n - done)
            yield self._questions(batch, split=split, first=done, rows=rows)
            done += len(batch)

    def eligible_scenes(self, split: str, pool: str, held_out: Pair | None, rule: Rule, n: int) -> Ints:
        """The first n scenes that a streamed split may ask about, (n,) int32; places none of them.

        Raises:
            SplitError: hardly any scene of some number of objects is eligible.
        """
        target = None if held_out is None else list(held_out)
        scenes: Rule = "any" if held_out is None else rule
        return self.pool_scenes(pool).eligible(target, scenes=scenes, split=split, n=n).astype(np.int32)

    def minimal(
        self, split: str, pool: MinimalPool, places: Sequence[int], *, rows: bool
    ) -> Iterator[Questions]:
        """The questions of a minimal or existence split about some places, in the order of the places."""
        done = 0
        kind: Literal["iid", "ood"] = "iid" if SPLITS[split].asked == "never" else "ood"
        for begin in range(0, len(places), PLACES_A_BATCH):
            chosen = np.asarray(places[begin : begin + PLACES_A_BATCH], dtype=np.uint64)
            batch = pool.questions(self.templates, seed=self.seed, kind=kind, places=chosen)
            yield self._questions(batch, split=split, first=done, rows=rows)
            done += len(batch)

    def counting(self, split: str, pool: CountingPool, n_sets: int, *, rows: bool) -> Iterator[Questions]:
        """The questions of a value's first counting sets, in order."""
        for first in range(0, n_sets, SETS_A_BATCH):
            n = min(SETS_A_BATCH, n_sets - first)
            batch = pool.questions(self.templates, seed=self.seed, first=first, n=n)
            yield self._questions(batch, split=split, first=first * pool.images, rows=rows)

    def counting_pool(self, hop: Hop) -> CountingPool:
        """The pool of counting images for a value's type."""
        (value,) = hop.target
        return CountingPool(self.world, value=value)

    def minimal_pool(self, hop: Hop) -> MinimalPool:
        """The pool of one-object images for a pair's types or a value's, limited to its palette if any."""
        shared = self._shared_places and hop.value is None
        if shared and hop.pools:
            raise ConfigError(
                f"{hop.name}: a palette or a diversity shows some objects only, and --minimal-pool shared, "
                "which --design official has, shows all of them; give --minimal-pool own"
            )
        return MinimalPool(
            self.world_of(pool_name("minimal", hop.pools)), held_out=list(hop.target), shared=shared
        )

    def world_of(self, pool: str) -> World:
        """The world of a pool, with the pool's palette if it has one."""
        _, name = parse_pool_name(pool)
        if not name:
            return self.clevr if self.clevr is not None and pool == TRAIN.pool else self.world
        if pool not in self._worlds:
            data = self.palettes[name].data(pool)
            self._worlds[pool] = self.world.with_palette(data, name=name, file=f"palette {name}")
        return self._worlds[pool]

    def published(self, pool: str, indices: Ints) -> Ints:
        """CLEVR's own index of each scene of a pool, (n,) int32; -1 for scenes that are not CLEVR's."""
        if self.clevr is None:
            return np.full(len(indices), -1, dtype=np.int32)
        found = self.world_of(pool).clevr_indices(indices.astype(np.uint64), seed=self.seed, pool=pool)
        return found.astype(np.int32)

    def n_published(self, pool: str, indices: Ints) -> int:
        """How many of these scenes of a pool are CLEVR's."""
        return int((self.published(pool, indices) >= 0).sum())

    def published_by_number(self, indices: Ints) -> dict[int, tuple[int, int]]:
        """Number of objects -> how many of these train scenes have so many, and how many of them are CLEVR's.

        Empty without CLEVR's scenes.
        """
        if self.clevr is None:
            return {}
        numbers = self.clevr.n_objects(indices.astype(np.uint64), seed=self.seed, pool=TRAIN.pool)
        published = self.published(TRAIN.pool, indices) >= 0
        return {
            number: (int((numbers == number).sum()), int(published[numbers == number].sum()))
            for number in np.unique(numbers).tolist()
        }

    def scene_rows(self, pool: str, indices: Ints) -> Iterator[list[bytes]]:
        """Scenes of a pool as JSON rows, in the order of `indices`, in batches."""
        for begin in range(0, len(indices), SCENES_A_BATCH):
            chosen = indices[begin : begin + SCENES_A_BATCH].astype(np.uint64)
            pool_scenes = self._pool_scenes.get(pool)
            if pool_scenes is None:
                scenes = sample_scenes(self.world_of(pool), seed=self.seed, pool=pool, indices=chosen)
            else:
                scenes = pool_scenes.scenes(chosen)
            yield scenes.json_rows()

    def forget_scenes(self) -> None:
        """Frees the memory of placed scenes once all questions are made."""
        self._pool_scenes.clear()

    def _open(self, split: str, pool: str, held_out: Pair | None) -> SplitStream:
        kind = SPLITS[split]
        rule = "any" if held_out is None else kind.rule
        return SplitStream(
            self.pool_scenes(pool),
            self.templates,
            split=split,
            held_out=None if held_out is None else list(held_out),
            scenes=rule,
            questions="unimplied" if self._strictness == "implied" and rule == "without" else rule,
            questions_per_scene=kind.questions_per_scene,
            in_chains=self._strictness == "chain",
        )

    def pool_scenes(self, pool: str) -> PoolScenes:
        """The scenes of a pool, shared by all splits."""
        if pool not in self._pool_scenes:
            self._pool_scenes[pool] = PoolScenes(self.world_of(pool), seed=self.seed, pool=pool)
        return self._pool_scenes[pool]

    def _questions(self, batch: QuestionBatch, *, split: str, first: int, rows: bool) -> Questions:
        """A batch in the form of the files; its first question has number `first` in its split."""
        widths = (self.templates.question_width, self.templates.program_width)
        arrays = QuestionTable(SINGLE, encoded(batch, self._words, self._tokens, self._answers, widths))
        return Questions(arrays, batch.json_rows(split=split, start_index=first) if rows else [])


def encoded(
    batch: QuestionBatch,
    words: Sequence[str],
    tokens: ProgramTokens,
    answers: Ints,
    widths: tuple[int, int],
) -> dict[str, Any]:
    """The columns of a batch, without those of some kinds alone.

    Args:
        batch: the questions.
        words: question tokens by number.
        tokens: program tokens.
        answers: the number in vocab.json of each answer of the batch's vocabulary.
        widths: the widths of rows of questions and of programs.
    """
    questions, question_lengths = batch.question_tokens(words, widths[0])
    programs, program_lengths = batch.program_tokens(tokens, widths[1])
    return {
        "questions": questions,
        "question_lengths": question_lengths,
        "programs": programs,
        "program_lengths": program_lengths,
        "answers": answers[batch.answers],
        "image_idxs": batch.image_idxs.astype(np.int32),
        "question_families": batch.question_families,
        "relation_needed": batch.relation_needed(RELATIONS),
    }


def open_world(config: Config) -> World:
    """Opens the world of a configuration.

    Raises:
        ConfigError: a file cannot be read, or objects could stand where the look has no flat ground.
        VocabularyError: the properties file is incomplete.
        SceneError: no scene can meet the constraints.
    """
    _check_positions(config)
    return read_world(properties=config.properties, constraints=constraints(config), changes=config.look)


def _check_positions(config: Config) -> None:
    """Checks that in a world wider than CLEVR's, objects in all corners stand on the ground."""
    reach = constraints(config).get("position_range")
    if not isinstance(reach, int | float) or not CLEVR_RANGE < reach <= MOST_RANGE:
        return  # as wide as CLEVR's, or rejected with the other constraints
    look = read_look(properties=config.properties, changes=config.look)
    for x, y in product((-reach, reach), repeat=2):
        problem = off_the_ground(look.look["ground"], (x, y, min(look.properties["sizes"].values())))
        if problem:
            raise ConfigError(
                f"world.position_range is {reach:g}: an object at ({x:g}, {y:g}) would be outside the world, "
                f"{problem}; expected a smaller number"
            )


def template_files(templates: Templates) -> list[str]:
    """The files of the question families, in the order of the families' numbers."""
    return list(dict.fromkeys(file for file, _, _ in templates.families))


def families(templates: Templates) -> dict[int, tuple[str, int]]:
    """Maps the global index of each question family to its file and its position there."""
    return {index: (file, place) for file, place, index in templates.families}


def families_that_never_mention(templates: Templates, held_out: Pair) -> list[int]:
    """Global indices of the families that cannot mention a pair in any scene."""
    able = set(templates.families_that_can_mention(list(held_out)))
    return [index for index in families(templates) if index not in able]


def vocabulary(world: World, templates: Templates) -> Vocab:
    """All words, functions and answers that can occur in this world with these templates.

    Raises:
        TemplateError: the templates use a function that CLEVR's questions, and so datasets, do not have.
    """
    tokens = ProgramTokens(world.vocabulary)
    for function in templates.functions:
        if tokens.extended([function]).names != tokens.names:
            raise TemplateError(
                f'a template uses "{function}", which no question of CLEVR does; datasets have no token for '
                "it, so leave the template out"
            )
    words = list(templates.words)
    if hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest() == CLEVR_WORDS_SHA256:
        words.append("")
    return make_vocab(words, tokens.names, world.answers)


def synonyms(config: Config) -> Mapping[str, Sequence[str]]:
    """Value, relation or "thing" -> its synonyms in questions."""
    path = synonyms_path(config.templates or assets.question_templates())
    words: Mapping[str, Sequence[str]] = read_object(path, "synonyms", error=TemplateError)
    check_form(words, MapOf(ListOf(TEXT)), path, error=TemplateError)
    return words


def colours(config: Config) -> Mapping[str, Sequence[float]]:
    """Color -> red, green and blue from 0 to 255."""
    path = config.properties or assets.blender_assets() / "properties.json"
    raw = read_object(path, "a properties file", error=ConfigError)
    check_form(raw, Fields({"colors": MapOf(ListOf(NUMBER, 3))}), path, error=ConfigError)
    named: Mapping[str, Sequence[float]] = raw["colors"]
    return named
