"""The texts of an episode in nonce words: files name real values, and say which word stands for which."""

from typing import TYPE_CHECKING

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS
from clevrhope.splits.nonce.kinds import plural

_END = SPECIAL_TOKENS.index("<END>")
"""The last token that stands for no word."""

if TYPE_CHECKING:
    from clevrhope.dataset.question_table import QuestionTable


def in_nonce_words(table: "QuestionTable", row: int, tokens: Ints) -> Ints:
    """Tokens (...,) of an episode's question or statements, with nonce words in place of real values."""
    assert table.vocab is not None
    numbers, names = table.vocab.question_token_to_idx, table.vocab.questions()
    spoken = tokens.copy()
    for value, word in zip(table.value_names, table.words[row].tolist(), strict=True):
        if word:
            spoken[tokens == numbers[value]] = word
            spoken[tokens == numbers[f"{value}s"]] = numbers[plural(names[word])]
    return spoken


def statements_of(table: "QuestionTable", row: int, *, real: bool = False) -> list[str]:
    """The sentences about an episode's support images, in nonce words or in real ones."""
    assert table.vocab is not None
    names, tokens = table.vocab.questions(), table.statements[row]
    spoken = tokens if real else in_nonce_words(table, row, tokens)
    said = [[names[token] for token in each.tolist() if token > _END] for each in spoken]
    return [f"{' '.join(words)}.".capitalize() for words in said if words]
