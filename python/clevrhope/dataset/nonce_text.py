"""The texts of an episode in nonce words: files name real values, and say which word stands for which."""

import re
from collections.abc import Mapping, Sequence

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.splits.nonce.kinds import plural

_END = SPECIAL_TOKENS.index("<END>")
"""The last token that stands for no word."""


def in_nonce_words(tokens: Ints, words: Ints, values: Sequence[str], vocab: Vocab) -> Ints:
    """Tokens (...,) of an episode's question or statements, with nonce words in place of real values.

    Args:
        tokens: numbers of the vocabulary's question tokens.
        words: (V,) the nonce word of each value, as such a number; 0 for none.
        values: the V values.
        vocab: the vocabulary.
    """
    numbers, names = vocab.question_token_to_idx, vocab.questions()
    spoken = tokens.copy()
    for value, word in zip(values, words.tolist(), strict=True):
        if word:
            spoken[tokens == numbers[value]] = word
            spoken[tokens == numbers[f"{value}s"]] = numbers[plural(names[word])]
    return spoken


def statements_of(tokens: Ints, vocab: Vocab) -> list[str]:
    """The sentences that (K, S) tokens about an episode's support images say."""
    names = vocab.questions()
    said = [[names[token] for token in each.tolist() if token > _END] for each in tokens]
    return [f"{' '.join(words)}.".capitalize() for words in said if words]


def meanings_of(words: Ints, values: Sequence[str], vocab: Vocab) -> dict[str, str]:
    """Nonce word -> real value, plurals included, of an episode whose (V,) `words` are given as above."""
    names = vocab.questions()
    said = [(names[word], value) for word, value in zip(words.tolist(), values, strict=True) if word]
    return {**dict(said), **{plural(word): f"{value}s" for word, value in said}}


def in_real_words(text: str, meanings: Mapping[str, str]) -> str:
    """A question or a reply with real values in place of nonce words, in whatever case these are."""
    pattern = rf"\b({'|'.join(sorted(meanings, key=len, reverse=True))})\b"
    return re.sub(pattern, lambda found: meanings[found[0].lower()], text, flags=re.IGNORECASE)


def types_sentence(words_of: Mapping[str, Sequence[str]]) -> str:
    """Says which nonce words are for which attribute, in alphabetical order, which tells nothing else.

    Args:
        words_of: attribute -> the nonce words of its values.
    """
    parts = []
    for kind, words in words_of.items():
        *first, last = sorted(words)
        parts.append(f"{', '.join(first)} and {last} are words for {kind}s")
    return f"Here {', and '.join(parts)}."
