"""Rows of token numbers in, English questions, programs and answers out.

A question file keeps no punctuation at the end of a question; as every question of CLEVR's templates ends in
a question mark, one is put there.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clevrhope import _core
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError, VocabularyError


class Spoken:
    """Turns the numbers of one folder's vocab.json back into what they stand for."""

    def __init__(self, vocab: Vocab) -> None:
        self._words = vocab.questions()
        self._functions = vocab.programs()
        self._answers = vocab.answers()

    def question(self, row: Ints, length: int) -> str:
        """The sentence of a row (Q,) with `length` tokens, <START> and <END> among them."""
        text = " ".join([self._words[token] for token in row[1 : length - 1].tolist()])
        return f"{text.replace(' ;', ';').replace(' ,', ',')}?"

    def program(self, row: Ints, length: int) -> list[str]:
        """The functions of a row (P,) in prefix order, such as `filter_color[red]`."""
        return [self._functions[token] for token in row[1 : length - 1].tolist()]

    def answer(self, number: int) -> str:
        """An answer's name."""
        return self._answers[number]


class ProgramNodes:
    """Turns rows of program tokens into the nodes that CLEVR's question files have."""

    def __init__(self, vocab: Vocab, attributes: Mapping[str, Sequence[str]]) -> None:
        """`attributes` are the types and their values, as a manifest's world has them.

        Raises:
            DatasetError: they are no vocabulary, or the program tokens do not fit them.
        """
        # The core takes a vocabulary from a properties file, of which programs need the names alone.
        names = {kind: dict.fromkeys(attributes.get(kind, ())) for kind in _PROPERTIES}
        properties = {
            plural: {value: shown or value for value in names[kind]}
            for kind, (plural, shown) in _PROPERTIES.items()
        }
        try:
            vocabulary = _core.Vocabulary(
                json.dumps(properties).encode(), file="manifest.json: world.attributes"
            )
            self._tokens = _core.ProgramTokens(vocabulary, vocab.programs())
        except (VocabularyError, ValueError) as error:
            raise DatasetError(f"vocab.json and manifest.json do not fit each other: {error}") from error

    def nodes(self, rows: Ints) -> list[list[dict[str, Any]]]:
        """The nodes of each of (n, P) rows: `inputs`, `function`, `value_inputs`."""
        programs = _core.Programs.from_tokens(self._tokens, np.ascontiguousarray(rows))
        return [json.loads(programs.to_json(k)) for k in range(len(programs))]


_PROPERTIES: Mapping[str, tuple[str, Any]] = {
    "size": ("sizes", 0.5),
    "color": ("colors", [0, 0, 0]),
    "material": ("materials", None),
    "shape": ("shapes", None),
}
"""Type -> its key in a properties file, and a value that any name can have there; None for the name."""
