"""What the words of an episode stand for, and which of them each statement of its support has."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from clevrhope.dataset.question_table import QuestionTable


class Meaning(NamedTuple):
    """A word of an episode with the value that it stands for."""

    word: str
    kind: str
    """The attribute type of the value."""
    value: str


def meanings(
    table: QuestionTable, row: int, attributes: Mapping[str, Sequence[str]]
) -> tuple[tuple[Meaning, ...], tuple[Meaning, ...]]:
    """The words for values of A and those for values of B in an episode, its question's words first.

    Args:
        table: episodes, with a vocabulary.
        row: the episode's row.
        attributes: each attribute type of the world with its values.
    """
    assert table.vocab is not None
    names, kinds = table.vocab.questions(), {each: kind for kind, of in attributes.items() for each in of}
    asked = [table.value_names[number] for number in table.pairs[row].tolist()]
    all_words = [
        Meaning(names[word], kinds[value], value)
        for value, word in zip(table.value_names, table.words[row].tolist(), strict=True)
        if word
    ]
    of_a, of_b = (
        tuple(
            sorted((each for each in all_words if each.kind == kinds[value]), key=lambda x: x.value != value)
        )
        for value in asked
    )
    return of_a, of_b


def mentions(table: QuestionTable, row: int, of: Sequence[Meaning]) -> list[int]:
    """(K,) for each statement of a row's support, the place in `of` of the word that it has."""
    assert table.vocab is not None
    numbers = [table.vocab.question_token_to_idx[each.value] for each in of]
    statements = table.statements[row]
    return [numbers.index(token) for each in statements for token in each.tolist() if token in numbers]


def phrase(words: Mapping[str, str], kinds: Iterable[str]) -> str:
    """What has the words of some types: adjectives in the order of `kinds`, and a noun."""
    return " ".join(
        [*(words[kind] for kind in kinds if kind in words and kind != "shape"), words.get("shape", "thing")]
    )
