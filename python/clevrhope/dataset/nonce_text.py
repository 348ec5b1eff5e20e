"""The texts of an episode in nonce words: files name real values, and say which word stands for which."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.dataset.vocab import SPECIAL_TOKENS, Vocab
from clevrhope.errors import with_article
from clevrhope.splits.nonce.kinds import plural

_END = SPECIAL_TOKENS.index("<END>")
"""The last token that stands for no word."""


def in_nonce_words(tokens: Ints, words: Ints, values: Sequence[str], vocab: Vocab) -> Ints:
    """Tokens (...,) of an episode's question or statements, with nonce words in place of real values.

    An article before one is that of the nonce word: "an orange cube" is "a bemif cube".

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
    for *row, place in np.argwhere(spoken != tokens).tolist():
        article, word = (names[spoken[(*row, at)]] for at in (place - 1, place))
        if article.lower() in ("a", "an"):
            agreeing = with_article(word).split()[0]
            spoken[(*row, place - 1)] = numbers[article[0] + agreeing[1:]]
    return spoken


def statements_of(tokens: Ints, vocab: Vocab) -> list[str]:
    """The sentences that (K, S) tokens about an episode's support images say."""
    names = vocab.questions()
    said = [[names[token] for token in each.tolist() if token > _END] for each in tokens]
    return [f"{' '.join(words)}.".capitalize() for words in said if words]


def in_real_words(text: str, meanings: Mapping[str, str]) -> str:
    """A question or reply with real values in place of nonce words in any case or number, by `meanings`."""
    known = {**meanings, **{plural(word): f"{value}s" for word, value in meanings.items()}}

    def real(found: re.Match[str]) -> str:
        value = known[found[2].lower()]
        return found[1] + with_article(value)[1:] if found[1] else value

    return re.sub(rf"\b(?:(a)n? )?({'|'.join(known)})\b", real, text, flags=re.IGNORECASE)


def types_sentence(words_of: Mapping[str, Iterable[str]]) -> str:
    """Says which nonce words are for which attribute, in alphabetical order, which tells nothing else."""
    parts = []
    for kind, words in words_of.items():
        *first, last = sorted(words)
        parts.append(f"{', '.join(first)} and {last} are words for {kind}s")
    return f"Here {', and '.join(parts)}."
