"""Which questions of a split get visual tests, and how their scenes are edited."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope._core import (
    NO_ANSWER,
    SceneBatch,
    SplitQuestions,
    Templates,
    World,
    edit_scenes,
    execute_tokens,
)
from clevrhope.dataset.clevr_json import scenes_of
from clevrhope.dataset.folder import Folder
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_table import QuestionTable
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.suite_pools import VISUAL
from clevrhope.errors import DatasetError, TemplateError
from clevrhope.pipeline.engine import Encoder
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

QUESTIONS_AT_ONCE = 256
"""Number of questions whose scenes are examined together."""

Rows = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint32]

NO_CHANGE = (-1, -1, -1)


@dataclass(frozen=True)
class Chosen:
    """A question that gets visual tests."""

    row: int
    """The question's row in its split."""
    scene: int
    """Index of its scene."""
    kept: int
    """The foreground, one bit for each object; 0 if the background stays unchanged."""
    change: tuple[int, int, int]
    """Object, attribute type and new value that flip the answer; `NO_CHANGE` for none."""


@dataclass(frozen=True)
class SplitReading:
    """Everything needed to read a split's questions."""

    folder: Folder
    templates: Templates
    encoder: Encoder
    rows: QuestionTable
    hop: Hop
    split: str
    pool: str
    world: World
    """The world of the pool, with its palette if it has one."""

    def questions(self, rows: Rows) -> SplitQuestions:
        """Some of the split's questions, in any order.

        Raises:
            TemplateError: a question was not made from these templates.
        """
        columns = (
            getattr(self.rows, name) for name in ("questions", "programs", "question_families", "answers")
        )
        try:
            return SplitQuestions(
                self.templates,
                *(np.ascontiguousarray(column[rows]) for column in columns),
                words=self.encoder.words,
                tokens=self.encoder.tokens,
                answer_names=self.encoder.vocab.answers(),
            )
        except TemplateError as error:
            raise TemplateError(f"{self.path}: {error}") from error

    @property
    def layout(self) -> Layout:
        """The layout of the dataset's files."""
        return self.folder.layout

    @property
    def path(self) -> Path:
        """The file of the split's questions."""
        return self.layout.questions_h5(self.hop.name, self.split)

    @property
    def seed(self) -> int:
        """The dataset's seed."""
        return self.folder.manifest.seed

    def scenes(self, indices: Ints) -> SceneBatch:
        """Reads the scenes with these indices, which must be sorted.

        Raises:
            DatasetError: a scene is not in the pool's files.
        """
        content = json.dumps(list(scenes_of(self.layout, self.pool, indices))).encode()
        place = self.layout.scenes(self.pool)
        scenes = SceneBatch.from_json(self.world.vocabulary, content, file=str(place))
        missing = np.setdiff1d(indices, scenes.indices.astype(np.int64))
        if len(missing):
            raise DatasetError(f"{place}: scene {missing[0]} is not there; restore its file")
        return scenes

    def draw_order(self) -> Rows:
        """All rows of the split, in an order determined by a hash of each."""
        name = f"{VISUAL} {self.seed} {self.hop.name} {self.split}"
        keys = [_draw(name, str(row)) for row in range(len(self.rows))]
        return np.argsort(np.asarray(keys, dtype=np.uint64), kind="stable")

    def random_objects(self, row: int, n_objects: int) -> int:
        """One or two of a scene's objects, one bit each, in place of an empty foreground."""
        name = f"{VISUAL} objects {self.seed} {self.hop.name} {self.split} {row}"
        order = sorted(range(n_objects), key=lambda each: _draw(name, str(each)))
        return sum(1 << each for each in order[: 1 + _draw(name, "number") % 2])


def _draw(name: str, what: str) -> int:
    """A 64-bit number that depends only on these strings."""
    return int.from_bytes(hashlib.blake2b(f"{name} {what}".encode(), digest_size=8).digest(), "little")


def choose(reading: SplitReading, n: int) -> list[Chosen]:
    """Chooses, by row, the first n questions in the order of their draws whose background can be edited.

    For another test, it also chooses the first n whose answer flips after a change of one value. There are
    fewer if the split has fewer.

    Raises:
        DatasetError: a scene is missing, or an answer differs from that of the program on its scene.
        TemplateError: a question was not made from the templates.
    """
    chosen: dict[int, Chosen] = {}
    n_backgrounds = n_changes = 0
    order = reading.draw_order()
    for begin in range(0, len(order), QUESTIONS_AT_ONCE):
        if min(n_backgrounds, n_changes) >= n:
            break
        block = _Block.read(reading, order[begin : begin + QUESTIONS_AT_ONCE])
        kept = block.foregrounds() if n_backgrounds < n else block.nothing()
        changes = block.changes() if n_changes < n else block.no_changes()
        for place, row in enumerate(block.rows.tolist()):
            keeps = int(kept[place]) if n_backgrounds < n else 0
            a, b, c = changes[place].tolist() if n_changes < n else NO_CHANGE
            n_backgrounds += keeps > 0
            n_changes += a >= 0
            if keeps or a >= 0:
                chosen[row] = Chosen(row, int(block.images[place]), keeps, (a, b, c))
    return [chosen[row] for row in sorted(chosen)]


@dataclass(frozen=True)
class _Block:
    """Some questions and their scenes."""

    reading: SplitReading
    rows: Rows
    images: Ints
    questions: SplitQuestions
    scenes: SceneBatch
    scene_rows: Numbers

    @classmethod
    def read(cls, reading: SplitReading, rows: Rows) -> "_Block":
        images = reading.rows.image_idxs[rows]
        indices, places = np.unique(images, return_inverse=True)
        scenes = reading.scenes(indices)
        return cls(reading, rows, images, reading.questions(rows), scenes, places.astype(np.uint32))

    def nothing(self) -> Numbers:
        """(M,) no foreground."""
        return np.zeros(len(self.rows), dtype=np.uint32)

    def no_changes(self) -> Ints:
        """(M, 3) no change."""
        return np.full((len(self.rows), 3), -1, dtype=np.int32)

    def foregrounds(self) -> Numbers:
        """(M,) the objects that stay, one bit each; 0 for a question whose background cannot be edited."""
        reading = self.reading
        try:
            kept = self.questions.foregrounds(self.scenes.graphs, self.scene_rows)
        except ValueError as error:
            raise DatasetError(f"{reading.path}: a question has no answer on its scene ({error})") from error
        n_objects = self.scenes.n_objects[self.scene_rows]
        for place in np.flatnonzero(kept == 0).tolist():
            kept[place] = reading.random_objects(int(self.rows[place]), int(n_objects[place]))
        is_full = kept == (1 << n_objects.astype(np.uint64)) - 1
        indices = np.arange(len(kept), dtype=np.uint64)
        scenes, is_made = edit_scenes(
            reading.world, self.scenes, self.scene_rows, kept, self.no_changes(), indices, pool=reading.pool
        )
        programs = np.ascontiguousarray(reading.rows.programs[self.rows])
        before = execute_tokens(reading.encoder.tokens, programs, self.scenes.graphs, self.scene_rows)
        places = np.flatnonzero(is_made)
        after = np.full(len(kept), NO_ANSWER, dtype=np.int32)
        after[places] = execute_tokens(
            reading.encoder.tokens,
            np.ascontiguousarray(programs[places]),
            scenes.graphs,
            np.arange(len(places), dtype=np.uint32),
        )
        return np.where(is_full | ~is_made | (after != before), 0, kept).astype(np.uint32)

    def changes(self) -> Ints:
        """(M, 3) for each question, a change that exchanges yes and no; -1 if there is none."""
        reading = self.reading
        found = self.questions.value_edits(
            reading.world,
            self.scenes,
            self.scene_rows,
            rows=self.rows,
            seed=reading.seed,
            hop=reading.hop.name,
            split=reading.split,
            held_out=list(reading.hop.held_out) if reading.hop.held_out else None,
            rule=SPLITS[reading.split].rule if reading.hop.held_out else "any",
        )
        return found


def kept_objects(kept: int) -> Sequence[int]:
    """The numbers of the objects whose bits are set."""
    return [each for each in range(kept.bit_length()) if kept >> each & 1]
