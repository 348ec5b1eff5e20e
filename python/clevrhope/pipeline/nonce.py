"""Episodes with nonce words in a folder: their scenes, and a file of questions for each condition."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any, NamedTuple

import numpy as np

from clevrhope._core import Programs, ProgramTokens, SceneBatch, World, edit_scenes, sample_scenes
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import NONCE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.vocab import Vocab, extended_vocab, write_vocab
from clevrhope.errors import ConfigError, SceneError
from clevrhope.pipeline.engine import Engine, open_world
from clevrhope.runtime.atomic import record
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import FORMS, N_A, EpisodeStream, Group, Objects
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, OBJECTS, SCENES, TOLD, plural
from clevrhope.splits.nonce.supports import support_slots
from clevrhope.splits.nonce.words import nonce_words

PLACES = 12
"""Places at which supports show objects, shared by all episodes; the longest support has eleven."""

MOST_LAYOUTS = 40
"""The most layouts that are tried for a group's scenes, before the world is found to be too crowded."""

MOST_EPISODES = 100_000
"""The most episodes of a folder."""

STATEMENT_WIDTH = 8
"""Tokens of the longest statement: <START> this is a large red thing <END>."""

_SCENES_A_BATCH = 500

_WORDS = "this is a there how many are what the thing size color material shape"
"""The words of statements and questions, besides those of values."""

Used = Mapping[tuple[str, str], tuple[str, Ints]]
"""HOP and split, or what stands for one -> a pool and the scenes in use."""


def wanted_nonce(n: int, types: str | None, manifest: Manifest) -> tuple[int, str]:
    """The number of episodes that a folder will have, and its `types`, "told" or "found".

    Raises:
        ConfigError: the number is out of range, or the folder has the other kind.
    """
    entry = manifest.nonce.get(NONE, {}).get(NONCE_SPLITS[0], {})
    if not 0 <= n <= MOST_EPISODES:
        raise ConfigError(f"--nonce: {n:,}; expected a number of episodes from 1 to {MOST_EPISODES:,}")
    if entry and types not in (None, entry["types"]):
        raise ConfigError(
            f"--nonce-types: the folder's episodes have {entry['types']} types; leave it out, or choose "
            "another --out"
        )
    return max(n, int(entry.get("questions", 0))), str(entry.get("types", types or TOLD))


class NonceEngine:
    """The first episodes of a folder's stream, their scenes and their questions."""

    def __init__(self, engine: Engine, n: int, types: str) -> None:
        """Makes n episodes; `types` is "told" or "found".

        Raises:
            SplitError: the world's values allow no episodes, or a constraint cannot be met.
        """
        self._engine, self.types = engine, types
        world = engine.world
        self.stream = EpisodeStream(world.attribute_types, seed=engine.seed, told=types == TOLD)
        self._values = [value for _, values in self.stream.types for value in values]
        self._radix = [len(values) for _, values in self.stream.types]
        self._first = np.cumsum([0, *self._radix])
        self.episodes = self.stream.episodes(0, n)

    @cached_property
    def vocab(self) -> Vocab:
        """The dataset's vocabulary, followed by words of values, of sentences, and nonce words."""
        words = [*_WORDS.split(), *self._values, *(f"{value}s" for value in self._values)]
        words += [form for word in nonce_words() for form in (word, plural(word))]
        return extended_vocab(self._engine.encoder.vocab, words=words)

    @cached_property
    def used(self) -> Used:
        """The scenes that the episodes use, of either pool."""
        supports = np.unique([index for each in self._groups for index in self._support_idxs(each).ravel()])
        return {
            **{
                (NONE, split): (SCENES, np.arange(len(self.episodes), dtype=np.int32))
                for split in NONCE_SPLITS
            },
            (NONE, OBJECTS): (OBJECTS, supports.astype(np.int32)),
        }

    @property
    def _n_support(self) -> int:
        """The number of slots of the longest support, however many episodes there are."""
        return max(len(support_slots(form.n_b, told=self.stream.told)) for form in self.stream.forms)

    @cached_property
    def _groups(self) -> list[Group]:
        return [each.group for each in self.episodes if each.member == 0]

    def scene_rows(self, pool: str, indices: Ints) -> Iterator[list[bytes]]:
        """Scenes of a pool as JSON rows, in the order of `indices`, in batches.

        Raises:
            SceneError: the objects of a group's scenes fit into none of many layouts.
        """
        make = self._scenes if pool == SCENES else self._objects
        left = iter(indices.tolist())
        while batch := [*islice(left, _SCENES_A_BATCH)]:
            yield make(batch)

    def _support_idxs(self, group: Group) -> Ints:
        """(2, K) the scene of each slot in either condition: a place, and the number of a combination."""
        draws = Draws(self._engine.seed, f"nonce places {group.form.name}", group.number)
        places = draws.shuffled(range(PLACES))[: len(group.slots)]
        combinations = np.ravel_multi_index(
            tuple(np.moveaxis(group.support, -1, 0).astype(np.int64)), self._radix
        )
        indices: Ints = (np.asarray(places) * prod(self._radix) + combinations).astype(np.int32)
        return indices

    def _objects(self, indices: Sequence[int]) -> list[bytes]:
        place_of = [divmod(index, prod(self._radix)) for index in indices]
        places = sorted({place for place, _ in place_of})
        layouts = dict(zip(places, self._layouts(OBJECTS, 1, places), strict=True))
        values = [np.asarray([np.unravel_index(number, self._radix)]) for _, number in place_of]
        rows = self._with_values([layouts[place] for place, _ in place_of], values, indices, OBJECTS)
        if None in rows:
            index = indices[rows.index(None)]
            raise SceneError(f"{OBJECTS}: object {index} is not visible enough alone; use a smaller world")
        return [row for row in rows if row is not None]

    def _scenes(self, indices: Sequence[int]) -> list[bytes]:
        """Query scenes: a group's share the first layout in which all of them can be seen."""
        wanted = {*indices}
        groups = {self.episodes[index].group.name: self.episodes[index].group for index in indices}
        first = {each.group.name: index - each.member for index, each in enumerate(self.episodes)}
        rows: dict[int, bytes] = {}
        for attempt in range(MOST_LAYOUTS):
            together = defaultdict[tuple[str, int], list[Group]](list)
            for group in groups.values():
                together[group.form.name, group.scenes.shape[1]].append(group)
            for (form, n), of_layout in together.items():
                numbers = [attempt << 32 | group.number for group in of_layout]
                layouts = self._layouts(f"{SCENES}_{form}_{n}", n, numbers)
                made = self._with_values(
                    [layout for layout, group in zip(layouts, of_layout, strict=True) for _ in group.scenes],
                    [scene for group in of_layout for scene in group.scenes],
                    [
                        first[group.name] + member
                        for group in of_layout
                        for member in range(len(group.scenes))
                    ],
                    SCENES,
                )
                left = iter(made)
                for group in of_layout:
                    mine = [next(left) for _ in group.scenes]
                    found = [row for row in mine if row is not None]
                    if len(found) == len(mine):
                        rows |= dict(enumerate(found, first[group.name]))
                        del groups[group.name]
            if not groups:
                return [rows[index] for index in sorted(wanted)]
        group = next(iter(groups.values()))
        raise SceneError(
            f"{SCENES}: the {group.scenes.shape[1]} objects of group {group.name} are "
            f"not all visible in any of {MOST_LAYOUTS} layouts; use smaller objects or a larger world"
        )

    def _layouts(self, pool: str, n_objects: int, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Sampled scenes of so many objects, whose values will be replaced."""
        indices = np.asarray(numbers, dtype=np.uint64)
        scenes = sample_scenes(self._world(n_objects), seed=self._engine.seed, pool=pool, indices=indices)
        return [json.loads(row) for row in scenes.json_rows()]

    def _world(self, n_objects: int) -> World:
        if n_objects not in self._worlds:
            limits = {"min_objects": n_objects, "max_objects": n_objects}
            config = self._engine.config
            self._worlds[n_objects] = open_world(replace(config, world={**config.world, **limits}))
        return self._worlds[n_objects]

    @cached_property
    def _worlds(self) -> dict[int, World]:
        return {}

    def _with_values(
        self,
        layouts: Sequence[Mapping[str, Any]],
        values: Sequence[Objects],
        indices: Sequence[int],
        pool: str,
    ) -> list[bytes | None]:
        """Layouts with other values as JSON rows; None where an object is no longer visible enough."""
        scenes = [
            {
                **layout,
                "objects": [
                    {**item, **self._named(each)}
                    for item, each in zip(layout["objects"], objects, strict=True)
                ],
            }
            for layout, objects in zip(layouts, values, strict=True)
        ]
        world, n = self._engine.world, len(scenes)
        batch = SceneBatch.from_json(world.vocabulary, json.dumps({"scenes": scenes}).encode(), file=pool)
        edited, is_made = edit_scenes(
            world,
            batch,
            np.arange(n, dtype=np.uint32),
            np.full(n, (1 << 32) - 1, dtype=np.uint32),
            np.full((n, 3), -1, dtype=np.int32),
            np.asarray(indices, dtype=np.uint64),
            pool=pool,
        )
        left = iter(edited.json_rows())
        return [next(left) if made else None for made in is_made.tolist()]

    def _named(self, values: Sequence[int]) -> dict[str, str]:
        return {kind: names[value] for (kind, names), value in zip(self.stream.types, values, strict=True)}

    def table(self, split: str) -> QuestionTable:
        """The questions of a condition."""
        condition = NONCE_SPLITS.index(split)
        numbers, answers = self.vocab.question_token_to_idx, self.vocab.answer_token_to_idx
        made = {group.name: self._of_group(group, condition, numbers) for group in self._groups}
        mine = [made[each.group.name] for each in self.episodes]
        programs, lengths = self._programs([each.program for each in mine])
        n_support = self._n_support
        columns: dict[str, Any] = {
            "questions": _rows([each.question for each in mine], self._engine.templates.question_width),
            "question_lengths": [len(each.question) for each in mine],
            "programs": programs,
            "program_lengths": lengths,
            "answers": [answers[each.answer] for each in self.episodes],
            "image_idxs": range(len(mine)),
            "question_families": [FORMS.index(each.group.form) for each in self.episodes],
            "orig_idxs": range(len(mine)),
            "support_idxs": _rows([each.support for each in mine], n_support, filling=-1),
            "statements": np.stack(
                [_rows(_filled(each.statements, n_support), STATEMENT_WIDTH) for each in mine]
            ),
            "words": [each.words for each in mine],
            "pairs": [each.pair for each in mine],
            "grids": [GRIDS.index(_grid_name(each.group, self.stream.types)) for each in self.episodes],
            "partners": [self._partner(row) for row in range(len(mine))],
        }
        typed = {
            name: np.asarray(columns[name], dtype=column.dtype) for name, column in NONCE.columns.items()
        }
        return QuestionTable(NONCE, typed, vocab=self.vocab, hop=NONE, split=split, pool=SCENES)

    def _of_group(self, group: Group, condition: int, numbers: Mapping[str, int]) -> "_OfGroup":
        """What the rows of a group share."""

        def tokens(text: str) -> list[int]:
            return [numbers[word] for word in ("<START>", *text.split(), "<END>")]

        words = np.zeros(len(self._values), dtype=np.int32)
        for (kind, value), word in zip(group.named, group.words, strict=True):
            words[self._first[kind] + value] = numbers[word]
        asked = (group.named[0], group.named[N_A])
        said = [
            tokens(f"this is a {self._phrase([group.named[word] for word in pair])}")
            for pair in group.mentions[condition]
        ]
        filters = [
            {
                "function": f"filter_{self.stream.types[kind][0]}",
                "value_inputs": [self.stream.types[kind][1][value]],
            }
            for kind, value in sorted(asked)
        ]
        ends = {"exist": ["exist"], "count": ["count"], "query": ["unique"]}[group.form.asks]
        if group.asked is not None:
            ends.append(f"query_{self.stream.types[group.asked][0]}")
        nodes: list[dict[str, Any]] = [
            {"function": "scene"},
            *filters,
            *({"function": name} for name in ends),
        ]
        program = [
            {"value_inputs": [], **node, "inputs": [place - 1] if place else []}
            for place, node in enumerate(nodes)
        ]
        phrase = self._phrase(asked, plural=group.form.asks == "count")
        question = {
            "exist": f"is there a {phrase}",
            "count": f"how many {phrase} are there",
            "query": f"what {self.stream.types[group.asked or 0][0]} is the {phrase}",
        }[group.form.asks]
        pair = [int(self._first[kind]) + value for kind, value in asked]
        support = self._support_idxs(group)[condition].tolist()
        return _OfGroup(tokens(question), program, said, support, words, pair)

    def _phrase(self, named: Sequence[tuple[int, int]], *, plural: bool = False) -> str:
        """Values as adjectives in the order of their types, and a noun."""
        by_type = {
            self.stream.types[kind][0]: self.stream.types[kind][1][value] for kind, value in sorted(named)
        }
        noun = by_type.pop("shape", "thing") + "s" * plural
        return " ".join([*by_type.values(), noun])

    def _programs(self, programs: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[Ints, list[int]]:
        """(N, P) the tokens of programs in prefix order, and their numbers."""
        world = self._engine.world
        data = json.dumps(
            {"questions": [{"question": "", "image_index": 0, "program": program} for program in programs]}
        ).encode()
        handle, _ = Programs.from_questions(world.vocabulary, data, file="nonce")
        tokens = ProgramTokens(world.vocabulary, self.vocab.programs())
        rows = handle.to_tokens(tokens, self._engine.templates.program_width)
        return rows, (rows != 0).sum(axis=1).tolist()

    def _partner(self, row: int) -> int:
        """The next row of a row's group, after the last one the first; -1 if this is the group's only row."""
        episode = self.episodes[row]
        first = row - episode.member
        n = min(episode.group.form.n_scenes, len(self.episodes) - first)
        return first + (episode.member + 1) % n if n > 1 else -1


class _OfGroup(NamedTuple):
    """What the rows of a group share in one condition."""

    question: list[int]
    program: list[dict[str, Any]]
    statements: list[list[int]]
    support: list[int]
    words: Ints
    pair: list[int]


GRIDS = tuple(dict.fromkeys("_".join(grid) for form in FORMS for grid in form.grids))
"""The names of the grids."""


def _grid_name(group: Group, types: Sequence[tuple[str, Sequence[str]]]) -> str:
    return f"{types[group.a][0]}_{types[group.b][0]}"


def _filled(rows: Sequence[Sequence[int]], n: int) -> list[Sequence[int]]:
    return [*rows, *([] for _ in range(n - len(rows)))]


def _rows(rows: Sequence[Sequence[int]], width: int, *, filling: int = 0) -> Ints:
    """(N, width) rows filled up."""
    filled = np.full((len(rows), width), filling, dtype=np.int32)
    for place, row in enumerate(rows):
        filled[place, : len(row)] = row
    return filled


def write_nonce(made: NonceEngine, layout: Layout, manifest: Manifest) -> Manifest:
    """Writes the vocabulary and the files of both conditions; returns the manifest that lists them."""
    write_vocab(layout.nonce_vocab, made.vocab)
    files = {layout.relative(layout.nonce_vocab): record(layout.nonce_vocab)}
    entries = {}
    for split in NONCE_SPLITS:
        table, path = made.table(split), layout.questions_h5(NONE, split)
        attributes = {
            "support_pool": OBJECTS,
            "types": made.types,
            "forms": [form.name for form in FORMS],
            "grid_names": GRIDS,
            "value_names": [value for _, values in made.stream.types for value in values],
        }
        with QuestionWriter(path, hop=NONE, split=split, pool=SCENES, attributes=attributes) as writer:
            writer.append(table.arrays())
        files[layout.relative(path)] = record(path)
        n = len(table)
        entries[split] = {"pool": SCENES, "questions": n, "images": n, "types": made.types}
    return replace(manifest.with_files(files), nonce={NONE: entries})
