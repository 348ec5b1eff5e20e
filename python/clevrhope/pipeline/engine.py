"""The engine of a folder: its world, templates, pools and vocabularies, and the scenes of its pools."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import ceil, prod
from typing import Any

import numpy as np

from clevrhope._core import (
    CountingPool,
    MinimalPool,
    Phrasings,
    PoolScenes,
    ProgramTokens,
    QuestionBatch,
    Templates,
    Vocabulary,
    World,
    covr_property_names,
    covr_template_names,
    covr_term_names,
    sample_scenes,
)
from clevrhope.config.presets import Config
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab, extended_vocab, make_vocab
from clevrhope.errors import ConfigError, TemplateError
from clevrhope.look.definition import read_look
from clevrhope.look.view import off_the_ground
from clevrhope.pipeline.clevr import constraints
from clevrhope.questions import read_phrasings, synonyms_path
from clevrhope.runtime import assets
from clevrhope.runtime.forms import NUMBER, TEXT, Fields, ListOf, MapOf, check_form
from clevrhope.runtime.json_text import read_object
from clevrhope.scenes import RASTER_PX, read_world
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import TRAIN, Rule
from clevrhope.splits.palettes import Palette, parse_pool_name, pool_name

HeldOut = Sequence[tuple[str, str]]
"""The type and value of each value that is held out."""

SCENES_A_BATCH = 2_000

CLEVR_WORDS_SHA256 = "3c42711810f49ea4c6b2dccb849627b1b194ae74bba1f8a02bb49a2f103a7a1a"
"""Of the words of CLEVR's own templates, sorted, one a line. Public vocabularies have an empty token besides,
number 4, so that the numbers of all words are the same with it."""

CLEVR_RANGE, MOST_RANGE = 3.0, 1000.0
"""CLEVR's `position_range`, and the largest one that a world may have."""


class Encoder:
    """Encodes questions with a vocabulary: the dataset's, or one that continues its numbers."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        vocab: Vocab,
        answers: Sequence[str],
        *,
        words: Iterable[str] = (),
        functions: Sequence[str] = (),
    ) -> None:
        """Continues a vocabulary.

        Args:
            vocabulary: the values of programs.
            vocab: the numbers that stay.
            answers: the answers of the native module, by its own numbers.
            words: words to be numbered too.
            functions: functions to be numbered too.
        """
        self.tokens = ProgramTokens(vocabulary, vocab.programs()).extended(functions)
        self.vocab = extended_vocab(vocab, words=words, program_tokens=self.tokens.names, answers=answers)
        self.words = self.vocab.questions()
        numbers = self.vocab.answer_token_to_idx
        self.answers: Ints = np.asarray([numbers[text] for text in answers], dtype=np.int32)
        """The number in the vocabulary of each of the native module's answers."""

    def columns(self, batch: QuestionBatch, widths: tuple[int, int]) -> dict[str, Any]:
        """The columns of a question file; `widths` are those of rows of questions and of programs."""
        questions, question_lengths = batch.question_tokens(self.words, widths[0])
        programs, program_lengths = batch.program_tokens(self.tokens, widths[1])
        return {
            "questions": questions,
            "question_lengths": question_lengths,
            "programs": programs,
            "program_lengths": program_lengths,
            **{name: batch.column(name) for name in batch.columns},
            "answers": self.answers[batch.column("answers")],
        }


class Engine:
    """A folder's world, templates and seed, and its pools, whose placed scenes it keeps.

    Attributes:
        world: the world without palettes.
        templates: the questions' templates.
        config: the settings of scenes and questions.
        seed: the folder's seed.
        palettes: the folder's palettes by name.
        clevr: the world of the pool `train` if that contains CLEVR's scenes.
        encoder: encodes questions about one image with the folder's vocabulary.
    """

    def __init__(
        self,
        world: World,
        templates: Templates,
        config: Config,
        *,
        seed: int,
        palettes: Mapping[str, Palette],
        clevr: World | None = None,
    ) -> None:
        self.world, self.templates, self.config = world, templates, config
        self.seed, self.palettes, self.clevr = seed, dict(palettes), clevr
        self.encoder = Encoder(world.vocabulary, vocabulary(world, templates), world.answers)
        self._worlds: dict[str, World] = {}
        self._pool_scenes: dict[str, PoolScenes] = {}

    @cached_property
    def sets(self) -> "SetEngine":
        """What questions over several images need; raises the errors of `SetEngine`."""
        return SetEngine(self)

    def eligible_scenes(self, split: str, pool: str, held_out: HeldOut | None, rule: Rule, n: int) -> Ints:
        """The first n scenes that a streamed split may ask about, (n,) int32; places none of them.

        Raises:
            SplitError: hardly any scene of some number of objects is eligible.
        """
        target = list(held_out) if held_out else None
        scenes: Rule = rule if held_out else "any"
        return self.pool_scenes(pool).eligible(target, scenes=scenes, split=split, n=n).astype(np.int32)

    def counting_pool(self, hop: Hop) -> CountingPool:
        """The pool of counting images for a value's type."""
        (value,) = hop.target
        return CountingPool(self.world, value=value)

    def minimal_pool(self, hop: Hop) -> MinimalPool:
        """The pool of one-object images for a pair's types or a value's, limited to its palette if any."""
        shared = self.config.minimal_pool == "shared" and hop.value is None
        if shared and hop.pools:
            raise ConfigError(
                f"{hop.name}: a palette or a diversity shows some objects only, and --minimal-pool shared, "
                "which --design official has, shows all of them; give --minimal-pool own"
            )
        world = self.world_of(pool_name("minimal", hop.pools))
        return MinimalPool(world, held_out=list(hop.target), shared=shared)

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

    def pool_scenes(self, pool: str) -> PoolScenes:
        """The scenes of a pool, shared by all splits."""
        if pool not in self._pool_scenes:
            self._pool_scenes[pool] = PoolScenes(self.world_of(pool), seed=self.seed, pool=pool)
        return self._pool_scenes[pool]


class SetEngine:
    """The phrasings and the vocabulary of a folder's questions over several images.

    Raises:
        TemplateError: a file of phrasings is invalid; names the file and the place in it.
        VocabularyError: the world has too many values.
    """

    def __init__(self, engine: Engine) -> None:
        vocabulary = engine.world.vocabulary
        self.phrasings: Phrasings = read_phrasings(vocabulary, engine.config.templates)
        self.encoder = Encoder(
            vocabulary,
            engine.encoder.vocab,
            vocabulary.set_answers,
            words=self.phrasings.words,
            functions=self.phrasings.functions,
        )
        self.attributes: Mapping[str, Sequence[str]] = {
            "templates": covr_template_names(),
            "property_names": covr_property_names(),
            "term_names": covr_term_names(vocabulary),
        }


def open_world(config: Config) -> World:
    """Opens the world of a configuration.

    Raises:
        ConfigError: a file cannot be read, objects could stand where the look has no flat ground, or images
            are too small for them.
        VocabularyError: the properties file is incomplete.
        SceneError: no scene can meet the constraints.
    """
    _check_positions(config)
    size = config.rendering.width, config.rendering.height
    world = read_world(
        properties=config.properties, constraints=constraints(config), changes=config.look, size=size
    )
    least = json.loads(world.config_json)["min_pixels"]
    if 0 < prod(size) * least < RASTER_PX:
        raise ConfigError(
            f"rendering: images of {size[0]} x {size[1]} pixels are so small that some objects would show no "
            f"pixel; expected at least {ceil(RASTER_PX / least):,} pixels in all, or a world.min_pixels "
            f"larger than {least}"
        )
    return world


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


def families_that_never_mention(templates: Templates, held_out: HeldOut) -> list[int]:
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
