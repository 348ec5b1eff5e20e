"""Makes the native readers of questions for the audit, whose code is independent of the generator's."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader, TextReader, Vocabulary
from clevrhope.dataset.split_files import Value, Vocab
from clevrhope.dataset.vocab import CLEVR_WORDS, by_number

Ints = npt.NDArray[np.int32]

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


def question_reader(
    vocab: Vocab,
    held_out: Sequence[Value],
    words: Mapping[str, Sequence[str]],
    vocabulary: Vocabulary,
    *,
    in_chains: bool = False,
) -> AuditReader:
    """A reader of one folder's questions, for one pair.

    `words` are those for values and for "thing" that differ from CLEVR's; `vocabulary` is the scenes'. With
    `in_chains`, only a chain of filters mentions the pair, and in words only a noun phrase.

    Raises:
        VocabularyError: a held-out value is not in the vocabulary.
    """
    return AuditReader(
        vocabulary,
        question_tokens=by_number(vocab.words),
        program_tokens=by_number(vocab.functions),
        answers=by_number(vocab.answers),
        held_out=list(held_out),
        words=known_words(vocab, words, held_out),
        in_chains=in_chains,
    )


def text_reader(vocab: Vocab, templates: Sequence[tuple[str, bytes]], synonyms: bytes) -> TextReader:
    """The native parser for texts of a vocabulary; `templates` are named files in the order of families."""
    return TextReader(
        vocabulary_of(vocab),
        question_tokens=by_number(vocab.words),
        program_tokens=by_number(vocab.functions),
        answers=by_number(vocab.answers),
        templates=templates,
        synonyms=synonyms,
    )


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
