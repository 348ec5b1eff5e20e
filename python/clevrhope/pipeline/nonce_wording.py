"""The tokens of an episode's question, program and statements, in real words."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import with_article
from clevrhope.pipeline.nonce_questions import Complex
from clevrhope.splits.nonce.episodes import FORMS, N_A, Group, Types

GRIDS = tuple(dict.fromkeys("_".join(grid) for form in FORMS for grid in form.grids))
"""The names of the grids."""


class GroupRow(NamedTuple):
    """What the rows of a group share in one condition."""

    question: list[int]
    program: list[int]
    statements: list[list[int]]
    words: Ints
    pair: list[int]


class Wording:
    """Says what groups ask, with the values of a world and the numbers of a vocabulary.

    Attributes:
        values: the world's values, types in order.
    """

    def __init__(self, types: Types, vocab: Vocab) -> None:
        self._types, self._vocab = types, vocab
        self.values = [value for _, values in types for value in values]
        self._first = np.cumsum([0, *(len(values) for _, values in types)]).tolist()

    def grid(self, group: Group) -> str:
        """The name of a group's grid."""
        return f"{self._types[group.a][0]}_{self._types[group.b][0]}"

    def of(self, group: Group, condition: int, found: Complex | None) -> GroupRow:
        """What the rows of a group share in a condition; `found` is its question if that is complex."""
        numbers = self._vocab.question_token_to_idx
        words = np.zeros(len(self.values), dtype=np.int32)
        for (kind, value), word in zip(group.named, group.words, strict=True):
            words[self._first[kind] + value] = numbers[word]
        shown = [self._phrase([group.named[word] for word in pair]) for pair in group.mentions[condition]]
        said = [_tokens(numbers, f"this is {with_article(phrase)}".split()) for phrase in shown]
        pair = [self._first[kind] + value for kind, value in (group.named[0], group.named[N_A])]
        question, program = found[2:] if found else self._of_pair(group)
        return GroupRow(question, program, said, words, pair)

    def _of_pair(self, group: Group) -> tuple[list[int], list[int]]:
        """The tokens of the question and of the program of a form that asks about the pair alone."""
        pair = sorted((group.named[0], group.named[N_A]))
        types, asked = self._types, self._types[group.asked or 0][0]
        phrase = self._phrase(pair, plural=group.form.asks == "count")
        question, functions = {
            "exist": (f"is there {with_article(phrase)}", ["exist"]),
            "count": (f"how many {phrase} are there", ["count"]),
            "query": (f"what {asked} is the {phrase}", [f"query_{asked}", "unique"]),
        }[group.form.asks]
        functions += [f"filter_{types[kind][0]}[{types[kind][1][value]}]" for kind, value in reversed(pair)]
        return (
            _tokens(self._vocab.question_token_to_idx, question.split()),
            _tokens(self._vocab.program_token_to_idx, [*functions, "scene"]),
        )

    def _phrase(self, named: Sequence[tuple[int, int]], *, plural: bool = False) -> str:
        """Values as adjectives in the order of their types, and a noun."""
        by_type = {self._types[kind][0]: self._types[kind][1][value] for kind, value in sorted(named)}
        noun = by_type.pop("shape", "thing") + "s" * plural
        return " ".join([*by_type.values(), noun])


def _tokens(numbers: Mapping[str, int], names: Sequence[str]) -> list[int]:
    return [numbers[name] for name in ("<START>", *names, "<END>")]


def filled_rows(rows: Sequence[Sequence[int]], width: int, *, n: int = 0, filling: int = 0) -> Ints:
    """(N, width) rows filled up; at least `n` of them."""
    filled = np.full((max(n, len(rows)), width), filling, dtype=np.int32)
    for place, row in enumerate(rows):
        filled[place, : len(row)] = row
    return filled
