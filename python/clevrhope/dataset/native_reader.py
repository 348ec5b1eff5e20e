"""A finished folder's vocabulary and rows of tokens in; what its questions say and answer out.

A face of the native reader, which reads programs and words with code that shares nothing with what made them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader, AuditScenes, Vocabulary
from clevrhope.dataset.scene_files import Rows
from clevrhope.dataset.split_files import Value, Vocab

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
UNTOLD = -2
"""In a row of needed relations: they cannot be told, as the program has no answer."""
WHY: Mapping[int, str] = {
    NO_ANSWER: "a unique of not one object",
    NO_PROGRAM: "not a program of CLEVR's functions",
    UNKNOWN_ANSWER: "what it gives is no answer of vocab.json",
}

_PROPERTIES = {"size": "sizes", "color": "colors", "material": "materials", "shape": "shapes"}
_MOST_OBJECTS = 32


@dataclass(frozen=True)
class Findings:
    """What rows say: columns (N,), a row each."""

    by_program: npt.NDArray[np.bool_]
    by_words: npt.NDArray[np.bool_]
    implied: npt.NDArray[np.bool_]
    """Asks for the pair, be it by likenesses, as of a cylinder that has the material of a rubber cube."""
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


class QuestionReader:
    """Reads rows of tokens of one folder, for one pair."""

    def __init__(
        self, vocab: Vocab, pair: Sequence[Value], words: Mapping[str, Sequence[str]], vocabulary: Vocabulary
    ) -> None:
        """`words` are those for values and for "thing", where they are not CLEVR's; `vocabulary` the scenes'.

        Raises:
            VocabularyError: held-out values that the vocabulary has not.
        """
        values = vocab.values()
        named = {**CLEVR_WORDS, **words}
        known: list[tuple[str, int | None, bool, bool]] = [
            (noun, None, False, True) for noun in named["thing"]
        ]
        for value in values:
            place = pair.index(value) if value in pair else None
            known += [(word, place, True, value[0] == "shape") for word in named.get(value[1], (value[1],))]
        self._reader = AuditReader(
            vocabulary,
            question_tokens=names_by_number(vocab.words),
            program_tokens=names_by_number(vocab.functions),
            answers=names_by_number(vocab.answers),
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

    def read(self, questions: Ints, programs: Ints, scenes: AuditScenes, rows: Rows) -> Findings:
        """What rows (N, Q) and (N, P) say, and answer on the scenes at `rows` (N,); none where that is -1."""
        return Findings(*self._reader.read(questions, programs, scenes, rows))

    def relations_needed(
        self, programs: Ints, scenes: AuditScenes, rows: Rows, width: int
    ) -> npt.NDArray[np.int8]:
        """(N, width) of programs (N, P): 1 for a relation that the answer needs, 0 for another, -1 behind.

        A row that cannot be told is `UNTOLD` throughout.
        """
        return self._reader.relations_needed(programs, scenes, rows, width)


def vocabulary_of(vocab: Vocab) -> Vocabulary:
    """A vocabulary of a vocab.json's values; what they look like does not matter here."""
    attributes: dict[str, list[str]] = {kind: [] for kind in _PROPERTIES}
    for kind, value in vocab.values():
        attributes[kind].append(value)
    return vocabulary_with(attributes)


def vocabulary_with(attributes: Mapping[str, Sequence[str]]) -> Vocabulary:
    """A vocabulary of these types' values."""
    looks: Mapping[str, object] = {"size": 0.5, "color": [0, 0, 0], "material": "m", "shape": "s"}
    properties = {
        _PROPERTIES[kind]: dict.fromkeys(values, looks[kind]) for kind, values in attributes.items()
    }
    data = json.dumps(properties).encode()
    return Vocabulary(data, file="vocab.json", largest_count=_MOST_OBJECTS)


def names_by_number(numbers: Mapping[str, int]) -> list[str]:
    """Names at the places of their numbers; "" where there is none."""
    names = [""] * (1 + max(numbers.values(), default=-1))
    for name, number in numbers.items():
        names[number] = name
    return names
