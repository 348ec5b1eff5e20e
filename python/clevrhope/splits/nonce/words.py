"""The nonce words that episodes draw from."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

from clevrhope.errors import SplitError, VocabularyError
from clevrhope.runtime.assets import question_templates
from clevrhope.runtime.forms import TEXT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import read_object

NONCE = "nonce.json"
"""The file of the words, in a folder of question templates."""
_LIKENESS = 0.7
"""The least similarity to a value's name that makes a word unusable."""


@lru_cache(1)
def nonce_words() -> tuple[str, ...]:
    """All nonce words, sorted: each begins and ends with a consonant, and is in no list of English words."""
    path = question_templates() / NONCE
    raw = read_object(path, "nonce words", error=VocabularyError)
    check_form(raw, Fields({"words": ListOf(TEXT)}), path, error=VocabularyError)
    return tuple(raw["words"])


def usable_words(values: Iterable[str], *, least: int) -> tuple[str, ...]:
    """The nonce words that do not resemble the name of a world's value.

    Raises:
        SplitError: fewer than `least` remain.
    """
    names = tuple(values)
    usable = tuple(word for word in nonce_words() if not any(_are_alike(word, name) for name in names))
    if len(usable) < least:
        raise SplitError(
            f"{len(usable)} nonce words do not resemble a name of the world's values, but an episode needs "
            f"{least}; rename values"
        )
    return usable


def _are_alike(word: str, name: str) -> bool:
    is_part = word in name or name in word
    return is_part or SequenceMatcher(None, word, name, autojunk=False).ratio() >= _LIKENESS
