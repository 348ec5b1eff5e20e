"""Reads the meanings and answers of questions for the audit.

Wraps the native reader, whose code for programs and words is independent of the generator's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditFindings, AuditReader, AuditScenes, Vocabulary
from clevrhope.dataset.scene_files import Rows
from clevrhope.dataset.split_files import Value, Vocab
from clevrhope.dataset.vocab import by_number

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

NO_ANSWER, NO_SCENE, UNDETERMINED = AuditReader.NO_ANSWER, AuditReader.NO_SCENE, AuditReader.UNANSWERED
"""Codes in place of answers; `UNDETERMINED` fills the needed relations of a program without an answer."""
WHY: Mapping[int, str] = {
    NO_ANSWER: "a unique of not one object",
    AuditReader.NO_PROGRAM: "not a program of CLEVR's functions",
    AuditReader.UNKNOWN_ANSWER: "its answer is not in vocab.json",
}

_PROPERTIES: Mapping[str, tuple[str, object]] = {
    "size": ("sizes", 0.5),
    "color": ("colors", [0, 0, 0]),
    "material": ("materials", "m"),
    "shape": ("shapes", "s"),
}
"""Attribute type -> its key in a properties file, and a look that any of its values can have there."""
_MOST_OBJECTS = 32


@dataclass(frozen=True)
class EncodedRows:
    """Questions of a JSON file as the arrays that the split's HDF5 file should contain."""

    columns: Mapping[str, npt.NDArray[np.integer[Any]]]
    """Name -> (N,)."""
    wide: Mapping[str, Ints]
    """Name -> (N, width)."""
    filenames: list[str]


class QuestionReader:
    """Reads rows of tokens of one folder, for one pair."""

    def __init__(
        self,
        vocab: Vocab,
        held_out: Sequence[Value],
        words: Mapping[str, Sequence[str]],
        vocabulary: Vocabulary,
        *,
        in_chains: bool = False,
    ) -> None:
        """`words` are those for values and for "thing" that differ from CLEVR's; `vocabulary` is the scenes'.

        With `in_chains`, only a chain of filters mentions the pair, and in words only a noun phrase.

        Raises:
            VocabularyError: a held-out value is not in the vocabulary.
        """
        self._reader = AuditReader(
            vocabulary,
            question_tokens=by_number(vocab.words),
            program_tokens=by_number(vocab.functions),
            answers=by_number(vocab.answers),
            held_out=list(held_out),
            words=known_words(vocab, words, held_out),
            in_chains=in_chains,
        )

    def encode(
        self, rows: Sequence[bytes], first: int, question_width: int, program_width: int
    ) -> EncodedRows:
        """Encodes rows of a question file; the first row has the number `first`.

        Raises:
            ValueError: a row is not a question.
        """
        words, programs, numbers, filenames = self._reader.encode(rows, question_width, program_width)
        columns: dict[str, npt.NDArray[np.integer[Any]]] = {
            "answers": numbers[0],
            "image_idxs": numbers[1],
            "orig_idxs": np.arange(first, first + len(rows)),
            "question_families": numbers[2],
            "question_lengths": words[1],
            "program_lengths": programs[1],
        }
        return EncodedRows(columns, {"questions": words[0], "programs": programs[0]}, filenames)

    def read(self, questions: Ints, programs: Ints, scenes: AuditScenes, rows: Rows) -> AuditFindings:
        """The meanings of questions (N, Q) with programs (N, P), and answers on the scenes at `rows` (N,).

        Answers are numbers of vocab.json, or keys of `WHY`; `NO_SCENE` where a row is -1.
        """
        return self._reader.read(questions, programs, scenes, rows)

    def relations_needed(
        self, programs: Ints, scenes: AuditScenes, rows: Rows, width: int
    ) -> npt.NDArray[np.int8]:
        """(N, width) for programs (N, P): 1 if the answer needs the relation, 0 if not, -1 for padding.

        If a program has no answer, its whole row is `UNDETERMINED`.
        """
        return self._reader.relations_needed(programs, scenes, rows, width)


def known_words(
    vocab: Vocab, words: Mapping[str, Sequence[str]], held_out: Sequence[Value]
) -> list[tuple[str, int | None, bool, bool]]:
    """The words for objects and values, in the form that native readers take.

    Each entry has a word, the position of its value in `held_out` (None if it is not there), whether the word
    stands for a value, and whether it can be a noun. `words` are those that differ from CLEVR's.
    """
    named = {**CLEVR_WORDS, **words}
    known: list[tuple[str, int | None, bool, bool]] = [(noun, None, False, True) for noun in named["thing"]]
    for value in vocab.values():
        place = held_out.index(value) if value in held_out else None
        known += [(word, place, True, value[0] == "shape") for word in named.get(value[1], (value[1],))]
    return known


def vocabulary_of(vocab: Vocab) -> Vocabulary:
    """A native vocabulary with the values of a vocab.json."""
    attributes: dict[str, list[str]] = {kind: [] for kind in _PROPERTIES}
    for kind, value in vocab.values():
        attributes[kind].append(value)
    return vocabulary_with(attributes)


def vocabulary_with(
    attributes: Mapping[str, Sequence[str]], *, largest_count: int = _MOST_OBJECTS
) -> Vocabulary:
    """A native vocabulary with the values of these types.

    The core makes a vocabulary from a properties file, so values get a placeholder look, which has no effect
    here.

    Raises:
        VocabularyError: a type has no values, or a value has an invalid name.
    """
    properties = {
        plural: dict.fromkeys(attributes.get(kind, ()), look) for kind, (plural, look) in _PROPERTIES.items()
    }
    data = json.dumps(properties).encode()
    return Vocabulary(data, file="vocab.json", largest_count=largest_count)
