"""Episodes with nonce words in a folder: their scenes, and a file of questions for each condition."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from clevrhope._core import SceneBatch, World, edit_scenes, sample_scenes
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import ABSENT, NONCE
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints, QuestionWriter
from clevrhope.dataset.vocab import Vocab, extended_vocab, write_vocab
from clevrhope.errors import ConfigError, SceneError, TemplateError
from clevrhope.pipeline.engine import Engine, open_world
from clevrhope.pipeline.nonce_questions import Complex, ComplexQuestions
from clevrhope.pipeline.nonce_wording import GRIDS, Wording, filled_rows
from clevrhope.runtime.atomic import record
from clevrhope.splits.hops import NONE
from clevrhope.splits.nonce.draws import Draws
from clevrhope.splits.nonce.episodes import COMPLEX, FORMS, OF_LAYOUT, EpisodeStream, Group, Objects
from clevrhope.splits.nonce.kinds import NONCE_SPLITS, OBJECTS, SCENES, STATEMENT_WIDTH, TOLD, plural
from clevrhope.splits.nonce.supports import support_width
from clevrhope.splits.nonce.words import nonce_words

PLACES = 12
"""Places at which supports show objects, shared by all episodes; the longest support has eleven."""

MOST_LAYOUTS = 40
"""The most layouts that are tried for a group's scenes, before the world is found to be too crowded."""

MOST_EPISODES = 100_000
"""The most episodes of a folder."""

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
        self.engine, self.types = engine, types
        """What makes the other scenes and questions of the folder, and the types of words."""
        forms, missing = FORMS, []
        try:
            self._questions = ComplexQuestions(engine, self.vocab.questions())
        except TemplateError as error:
            forms, missing = tuple(form for form in FORMS if form.asks != COMPLEX), [f"complex: {error}"]
        self._found: dict[str, Complex] = {}
        attributes = engine.world.attribute_types
        self.stream = EpisodeStream(attributes, seed=engine.seed, told=types == TOLD, forms=forms)
        self.stream.missing += missing
        self._radix = [len(values) for _, values in self.stream.types]
        self.episodes = self.stream.episodes(0, n)

    @property
    def world(self) -> World:
        """The world of the scenes."""
        return self.engine.world

    @cached_property
    def vocab(self) -> Vocab:
        """The dataset's vocabulary, followed by words of values, of sentences, and nonce words."""
        values = [value for _, values in self.engine.world.attribute_types for value in values]
        words = [*_WORDS.split(), *values, *(f"{value}s" for value in values)]
        words += [form for word in nonce_words() for form in (word, plural(word))]
        return extended_vocab(self.engine.encoder.vocab, words=words)

    @cached_property
    def used(self) -> Used:
        """The scenes that the episodes use, of either pool."""
        supports = np.unique(np.concatenate([each.ravel() for each in self._supports.values()]))
        return {
            **{
                (NONE, split): (SCENES, np.arange(len(self.episodes), dtype=np.int32))
                for split in NONCE_SPLITS
            },
            (NONE, OBJECTS): (OBJECTS, supports.astype(np.int32)),
        }

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

    @cached_property
    def _supports(self) -> dict[str, Ints]:
        """Of each group, (2, K) the scene of each slot in either condition."""
        return {each.name: self._support_idxs(each) for each in self._groups}

    @cached_property
    def _object_numbers(self) -> Ints:
        """The number of the scene of each place and combination, in drawn order.

        Names of images have these numbers, and models may be shown the names.
        """
        n = PLACES * prod(self._radix)
        return Draws(self.engine.seed, "nonce objects", 0).order(n).astype(np.int32)

    def _support_idxs(self, group: Group) -> Ints:
        draws = Draws(self.engine.seed, f"nonce places {group.form.name}", group.number)
        places = draws.sample(range(PLACES), len(group.slots))
        combinations = np.ravel_multi_index(
            tuple(np.moveaxis(group.support, -1, 0).astype(np.int64)), self._radix
        )
        indices: Ints = self._object_numbers[np.asarray(places) * prod(self._radix) + combinations]
        return indices

    def _objects(self, indices: Sequence[int]) -> list[bytes]:
        of_number = np.argsort(self._object_numbers)[[*indices]].tolist()
        place_of = [divmod(number, prod(self._radix)) for number in of_number]
        places = sorted({place for place, _ in place_of})
        layouts = dict(zip(places, self._layouts(OBJECTS, 1, places), strict=True))
        values = [np.asarray([np.unravel_index(number, self._radix)]) for _, number in place_of]
        rows = [*self._with_values([layouts[place] for place, _ in place_of], values, indices, OBJECTS)]
        if None in rows:
            index = indices[rows.index(None)]
            raise SceneError(f"{OBJECTS}: object {index} is not visible enough alone; use a smaller world")
        return [row for row in rows if row is not None]

    def _scenes(self, indices: Sequence[int]) -> list[bytes]:
        """Query scenes; all scenes of a group have the same layout."""
        groups = {self.episodes[index].group.name: self.episodes[index].group for index in indices}
        self._find_questions([*groups.values()])
        rows = self._laid_out([*groups.values()])
        episodes = [self.episodes[index] for index in indices]
        return [rows[each.group.name][each.member] for each in episodes]

    def _find_questions(self, groups: Sequence[Group]) -> None:
        """Finds the complex questions of groups, with the layouts that they are about."""

        def is_found(group: Group, rows: list[bytes], layout: int) -> bool:
            found = self._questions.find(group, rows, layout)
            if found is not None:
                self._found[group.name] = found
            return found is not None

        left = [group for group in groups if group.form.asks == COMPLEX and group.name not in self._found]
        for first in range(0, len(left), _SCENES_A_BATCH):
            self._laid_out(left[first : first + _SCENES_A_BATCH], is_found)

    def _laid_out(
        self,
        groups: Sequence[Group],
        accepts: Callable[[Group, list[bytes], int], bool] = lambda group, rows, layout: True,
    ) -> dict[str, list[bytes]]:
        """The scenes of each group, in the first layout in which all can be seen and that is accepted.

        A group whose question is found begins with the layout of that.

        Raises:
            SceneError: there is none among the first `MOST_LAYOUTS`.
        """
        left, rows = {group.name: group for group in groups}, dict[str, list[bytes]]()
        for attempt in range(MOST_LAYOUTS):
            together = defaultdict[tuple[str, int], list[tuple[Group, int, Objects]]](list)
            for group in left.values():
                found = self._found.get(group.name, Complex(0, False, [], []))
                scenes = group.scenes[::-1] if found.is_reversed else group.scenes
                together[group.form.name, scenes.shape[1]].append((group, found.layout + attempt, scenes))
            for (form, n), of_layout in together.items():
                numbers = [number << 32 | group.number for group, number, _ in of_layout]
                layouts = self._layouts(f"{SCENES}_{form}_{n}", n, numbers)
                made = self._with_values(
                    [layout for layout, each in zip(layouts, of_layout, strict=True) for _ in each[2]],
                    [scene for *_, scenes in of_layout for scene in scenes],
                    [
                        self._first_rows[group.name] + member
                        for group, _, scenes in of_layout
                        for member in range(len(scenes))
                    ],
                    SCENES,
                )
                for group, number, scenes in of_layout:
                    visible = [row for row in islice(made, len(scenes)) if row is not None]
                    if len(visible) == len(scenes) and accepts(group, visible, number):
                        rows[group.name] = visible
                        del left[group.name]
            if not left:
                return rows
        group = next(iter(left.values()))
        wanted = " with a question about them" if group.form.asks == COMPLEX else ""
        raise SceneError(
            f"{SCENES}: the {group.scenes.shape[1]} objects of group {group.name} are not all visible{wanted}"
            f" in any of {MOST_LAYOUTS} layouts; use smaller objects or a larger world"
        )

    @cached_property
    def _first_rows(self) -> dict[str, int]:
        """The row of each group's first episode."""
        return {each.group.name: row for row, each in enumerate(self.episodes) if each.member == 0}

    def _layouts(self, pool: str, n_objects: int, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Sampled scenes of so many objects, whose values will be replaced."""
        indices = np.asarray(numbers, dtype=np.uint64)
        scenes = sample_scenes(self._world(n_objects), seed=self.engine.seed, pool=pool, indices=indices)
        return [json.loads(row) for row in scenes.json_rows()]

    def _world(self, n_objects: int) -> World:
        if n_objects not in self._worlds:
            limits = {"min_objects": n_objects, "max_objects": n_objects}
            config = self.engine.config
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
    ) -> Iterator[bytes | None]:
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
        world, n = self.engine.world, len(scenes)
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
        return iter([next(left) if made else None for made in is_made.tolist()])

    def _named(self, values: Sequence[int]) -> dict[str, str]:
        named = zip(self.stream.types, values, strict=True)
        return {kind: names[value] for (kind, names), value in named if value != OF_LAYOUT}

    def table(self, split: str) -> QuestionTable:
        """The questions of a condition."""
        condition = NONCE_SPLITS.index(split)
        answers = self.vocab.answer_token_to_idx
        self._find_questions(self._groups)
        wording = Wording(self.stream.types, self.vocab)
        made = {
            group.name: wording.of(group, condition, self._found.get(group.name)) for group in self._groups
        }
        mine = [made[each.group.name] for each in self.episodes]
        supports = [self._supports[each.group.name][condition] for each in self.episodes]
        n_support = support_width((form.n_b for form in self.stream.forms), told=self.stream.told)
        columns: dict[str, Any] = {
            "questions": filled_rows([each.question for each in mine], self.engine.templates.question_width),
            "question_lengths": [len(each.question) for each in mine],
            "programs": filled_rows([each.program for each in mine], self.engine.templates.program_width),
            "program_lengths": [len(each.program) for each in mine],
            "answers": [answers[each.answer] for each in self.episodes],
            "image_idxs": range(len(mine)),
            "question_families": [FORMS.index(each.group.form) for each in self.episodes],
            "orig_idxs": range(len(mine)),
            "support_idxs": filled_rows(supports, n_support, filling=ABSENT),
            "statements": [filled_rows(each.statements, STATEMENT_WIDTH, n=n_support) for each in mine],
            "words": [each.words for each in mine],
            "pairs": [each.pair for each in mine],
            "grids": [GRIDS.index(wording.grid(each.group)) for each in self.episodes],
            "partners": [self._partner(row) for row in range(len(mine))],
        }
        typed = {
            name: np.asarray(columns[name], dtype=column.dtype) for name, column in NONCE.columns.items()
        }
        attributes: dict[str, Any] = {"hop": NONE, "split": split, "pool": SCENES, "support_pool": OBJECTS}
        attributes |= {"types": self.types, "forms": [form.name for form in FORMS], "grid_names": GRIDS}
        return QuestionTable(NONCE, typed, vocab=self.vocab, **attributes, value_names=wording.values)

    def _partner(self, row: int) -> int:
        """The next row of a row's group, after the last one the first; -1 if this is the group's only row."""
        episode = self.episodes[row]
        first = row - episode.member
        n = min(episode.group.form.n_scenes, len(self.episodes) - first)
        return first + (episode.member + 1) % n if n > 1 else -1


def write_nonce(made: NonceEngine, layout: Layout, manifest: Manifest) -> Manifest:
    """Writes the vocabulary and the files of both conditions; returns the manifest that lists them."""
    write_vocab(layout.nonce_vocab, made.vocab)
    files = {layout.relative(layout.nonce_vocab): record(layout.nonce_vocab)}
    entries = {}
    for split in NONCE_SPLITS:
        table, path = made.table(split), layout.questions_h5(NONE, split)
        with QuestionWriter(
            path, hop=table.hop, split=split, pool=table.pool, attributes=table.attributes
        ) as writer:
            writer.append(table.arrays())
        files[layout.relative(path)] = record(path)
        entries[NONE, split] = table.entry
    return manifest.with_files(files).with_splits(entries)
