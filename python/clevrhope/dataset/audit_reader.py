"""A finished folder's vocabulary, scene files and rows of tokens in; what its questions say and answer out.

A face of the native reader, which reads programs and words with code that shares nothing with what made them.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader, SceneGraphs, Vocabulary
from clevrhope.dataset.finished import Value, Vocab
from clevrhope.errors import DatasetError, SceneError

Ints = npt.NDArray[np.int32]

CLEVR_WORDS: Mapping[str, Sequence[str]] = {
    "thing": ("thing", "object"),
    "large": ("large", "big"),
    "small": ("small", "tiny"),
    "metal": ("metal", "metallic", "shiny"),
    "rubber": ("rubber", "matte"),
    "cube": ("cube", "block"),
    "sphere": ("sphere", "ball"),
}
"""CLEVR's words for values and for an object of any shape; a value without an entry is its own word."""

NO_ANSWER, NO_PROGRAM, UNKNOWN_ANSWER = -1, -2, -3
WHY: Mapping[int, str] = {
    NO_ANSWER: "a unique of not one object",
    NO_PROGRAM: "not a program of CLEVR's functions",
    UNKNOWN_ANSWER: "what it gives is no answer of vocab.json",
}

_PROPERTIES = {"size": "sizes", "color": "colors", "material": "materials", "shape": "shapes"}
_IMAGE_INDEX = re.compile(rb'"image_index":\s*(\d+)')
_MOST_OBJECTS = 32


@dataclass(frozen=True)
class Findings:
    """What rows say: columns (N,), a row each."""

    by_program: npt.NDArray[np.bool_]
    by_words: npt.NDArray[np.bool_]
    answers: Ints
    """Numbers of vocab.json, or one of `WHY` there is none."""


@dataclass(frozen=True)
class Said:
    """What rows of JSON say: the arrays that must be in HDF5."""

    columns: Mapping[str, npt.NDArray[np.integer[Any]]]
    """Name -> (N,)."""
    wide: Mapping[str, Ints]
    """Name -> (N, width)."""
    filenames: list[str]


class PoolGraphs:
    """The scenes of a pool as programs see them, by index."""

    def __init__(self, paths: Iterable[Path], vocabulary: Vocabulary) -> None:
        """Reads scene files.

        Raises:
            DatasetError: a file that is none.
        """
        self._shards: list[SceneGraphs] = []
        self._place: dict[int, tuple[int, int]] = {}
        for shard, path in enumerate(paths):
            data = path.read_bytes()
            try:
                graphs = SceneGraphs.from_json(vocabulary, data, file=str(path))
            except SceneError as error:
                raise DatasetError(str(error)) from error
            indices = [int(index) for index in _IMAGE_INDEX.findall(data)]
            if len(indices) != len(graphs):
                raise DatasetError(f"{path}: {len(graphs)} scenes, but {len(indices)} have an image_index")
            self._shards.append(graphs)
            self._place |= {index: (shard, at) for at, index in enumerate(indices)}

    def places(self, image_idxs: Ints) -> tuple[Ints, npt.NDArray[np.uint32]]:
        """Which file and which place in it each scene has (N,); -1 and 0 for one that is not there."""
        places = [self._place.get(int(index), (-1, 0)) for index in image_idxs]
        shard, at = np.asarray(places, dtype=np.int64).reshape(-1, 2).T
        return shard.astype(np.int32), at.astype(np.uint32)

    def __getitem__(self, shard: int) -> SceneGraphs:
        return self._shards[shard]


class QuestionReader:
    """Reads rows of tokens of one folder, for one pair."""

    def __init__(self, vocab: Vocab, pair: Sequence[Value], words: Mapping[str, Sequence[str]]) -> None:
        """`words` are those for values and for "thing", where they are not CLEVR's."""
        values = list(dict.fromkeys([*vocab.values(), *pair]))
        self.vocabulary = _vocabulary(values)
        named = {**CLEVR_WORDS, **words}
        known: list[tuple[str, int | None, bool, bool]] = [
            (noun, None, False, True) for noun in named["thing"]
        ]
        for value in values:
            place = pair.index(value) if value in pair else None
            known += [(word, place, True, value[0] == "shape") for word in named.get(value[1], (value[1],))]
        self._reader = AuditReader(
            self.vocabulary,
            question_tokens=_by_number(vocab.words),
            program_tokens=_by_number(vocab.functions),
            answers=_by_number(vocab.answers),
            pair=list(pair),
            words=known,
        )

    def say(self, rows: Sequence[bytes], first: int, question_width: int, program_width: int) -> Said:
        """What rows of a question file say; the first of them is number `first`.

        Raises:
            ValueError: one is no question.
        """
        words, programs, numbers, filenames = self._reader.say(rows, question_width, program_width)
        columns: dict[str, npt.NDArray[np.integer[Any]]] = {
            "answers": numbers[0],
            "image_idxs": numbers[1],
            "orig_idxs": np.arange(first, first + len(rows)),
            "question_families": numbers[2],
            "question_lengths": words[1],
            "program_lengths": programs[1],
        }
        return Said(columns, {"questions": words[0], "programs": programs[0]}, filenames)

    def read(self, questions: Ints, programs: Ints, image_idxs: Ints, pool: PoolGraphs) -> Findings:
        """What rows (N, Q) and (N, P) say and answer; a row whose scene is missing has no answer."""
        shards, places = pool.places(image_idxs)
        n = len(image_idxs)
        found = Findings(np.zeros(n, bool), np.zeros(n, bool), np.full(n, NO_ANSWER, np.int32))
        for shard in np.unique(shards).tolist():
            rows = np.flatnonzero(shards == shard)
            graphs = pool[shard] if shard >= 0 else _no_objects(self.vocabulary)
            by_program, by_words, answers = self._reader.read(
                np.ascontiguousarray(questions[rows]),
                np.ascontiguousarray(programs[rows]),
                graphs,
                places[rows],
            )
            found.by_program[rows], found.by_words[rows] = by_program, by_words
            if shard >= 0:
                found.answers[rows] = answers
        return found


def _no_objects(vocabulary: Vocabulary) -> SceneGraphs:
    relations: dict[str, list[list[int]]] = {name: [] for name in vocabulary.relations}
    nothing = json.dumps({"scenes": [{"image_index": 0, "objects": [], "relationships": relations}]})
    return SceneGraphs.from_json(vocabulary, nothing.encode(), file="nothing")


def _vocabulary(values: Sequence[Value]) -> Vocabulary:
    """A vocabulary of these values; what they look like does not matter here."""
    properties: dict[str, dict[str, object]] = {name: {} for name in _PROPERTIES.values()}
    looks: Mapping[str, object] = {"size": 0.5, "color": [0, 0, 0], "material": "m", "shape": "s"}
    for kind, value in values:
        properties[_PROPERTIES[kind]][value] = looks[kind]
    data = json.dumps(properties).encode()
    return Vocabulary(data, file="vocab.json", largest_count=_MOST_OBJECTS)


def _by_number(numbers: Mapping[str, int]) -> list[str]:
    names = [""] * (1 + max(numbers.values(), default=-1))
    for name, number in numbers.items():
        names[number] = name
    return names
