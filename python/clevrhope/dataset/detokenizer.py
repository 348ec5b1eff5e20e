"""Turns rows of token numbers back into English questions, programs and answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clevrhope._core import Programs, ProgramTokens
from clevrhope.dataset.native_reader import vocabulary_with
from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import DatasetError, VocabularyError

_END = SPECIAL_TOKENS.index("<END>")
"""The last token that stands for no word or function: padding and marks come before it."""


class Detokenizer:
    """The text behind the numbers of one folder's vocab.json."""

    def __init__(self, vocab: Vocab) -> None:
        self._words = vocab.questions()
        self._functions = vocab.programs()
        self._answers = vocab.answers()

    def question(self, row: Ints) -> str:
        """The sentence of a row (Q,).

        Tokens do not include the mark at the end of a question, which in all of CLEVR's templates is "?".
        """
        text = " ".join([self._words[token] for token in row[row > _END].tolist()])
        return f"{text.replace(' ;', ';').replace(' ,', ',')}?"

    def program(self, row: Ints) -> list[str]:
        """The functions of a row (P,) in prefix order, such as `filter_color[red]`."""
        return [self._functions[token] for token in row[row > _END].tolist()]

    def answer(self, number: int) -> str:
        """The answer with this number."""
        return self._answers[number]

    def texts(self, question: Ints, program: Ints, answer: int) -> dict[str, str]:
        """Question, program and answer of an item in words."""
        return {
            "question_text": self.question(question),
            "program_text": " ".join(self.program(program)),
            "answer_text": self.answer(answer),
        }


class ProgramNodes:
    """Turns rows of program tokens into the nodes that CLEVR's question files have."""

    def __init__(self, vocab: Vocab, attributes: Mapping[str, Sequence[str]]) -> None:
        """`attributes` maps each type to its values, as in the manifest's world.

        Raises:
            DatasetError: they do not form a vocabulary, or the program tokens do not match them.
        """
        try:
            vocabulary = vocabulary_with(attributes)
            self._tokens = ProgramTokens(vocabulary, vocab.programs())
        except (VocabularyError, ValueError) as error:
            raise DatasetError(f"vocab.json and manifest.json do not fit each other: {error}") from error

    def nodes(self, rows: Ints) -> list[list[dict[str, Any]]]:
        """The nodes of each of the (n, P) rows: `inputs`, `function`, `value_inputs`."""
        programs = Programs.from_tokens(self._tokens, np.ascontiguousarray(rows))
        return [json.loads(programs.to_json(k)) for k in range(len(programs))]
