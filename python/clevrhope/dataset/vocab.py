"""The vocabulary of a dataset, vocab.json: the numbers of words, functions and answers.

The file has the format of the public CLEVR models. Its lists contain everything that can occur in the
folder's world with its templates, not only what did occur, so a larger dataset or another pair never changes
a number.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import INDEX, Fields, Kind, MapOf, check_form
from clevrhope.runtime.json_text import read_json

SPECIAL_TOKENS = ("<NULL>", "<START>", "<END>", "<UNK>")
"""The first numbers, in this order: padding, the marks of beginning and end, and an unknown word."""

NO_ANSWER = "<UNK>"
"""Stands in predictions if a model gave no readable answer; it counts as wrong."""

NOT_TRAINED = "not trained on the splits"
"""The note in predictions of a model that was not trained on a split: its gaps say nothing about one."""

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


@dataclass(frozen=True)
class Vocab:
    """Three maps from token to number, as in vocab.json."""

    question_token_to_idx: Mapping[str, int]
    program_token_to_idx: Mapping[str, int]
    answer_token_to_idx: Mapping[str, int]

    def questions(self) -> list[str]:
        """Question tokens by number."""
        return by_number(self.question_token_to_idx)

    def programs(self) -> list[str]:
        """Program tokens by number."""
        return by_number(self.program_token_to_idx)

    def answers(self) -> list[str]:
        """Answers by number, including the places of the special tokens."""
        return by_number(self.answer_token_to_idx)


_MAPS = tuple(each.name for each in fields(Vocab))
_NUMBER = Kind("a number below 65,536", lambda value: INDEX.test(value) and value < 1 << 16)
VOCAB = Fields(dict.fromkeys(_MAPS, MapOf(_NUMBER)))
"""The form of vocab.json."""


def make_vocab(words: Iterable[str], program_tokens: Iterable[str], answers: Iterable[str]) -> Vocab:
    """Numbers the entries of each list: special tokens first, the others sorted."""
    return Vocab(_numbered(words), _numbered(program_tokens), _numbered(answers))


def extended_vocab(
    vocab: Vocab,
    *,
    words: Iterable[str] = (),
    program_tokens: Iterable[str] = (),
    answers: Iterable[str] = (),
) -> Vocab:
    """Extends a vocabulary, whose numbers stay; new entries follow, words sorted."""

    def extended(numbers: Mapping[str, int], more: Iterable[str]) -> dict[str, int]:
        new = [token for token in dict.fromkeys(more) if token not in numbers]
        first = max(numbers.values(), default=-1) + 1
        return {**numbers, **{token: first + place for place, token in enumerate(new)}}

    return Vocab(
        extended(vocab.question_token_to_idx, sorted(words)),
        extended(vocab.program_token_to_idx, program_tokens),
        extended(vocab.answer_token_to_idx, answers),
    )


def write_vocab(path: Path, vocab: Vocab) -> None:
    """Writes vocab.json whole."""
    write_whole(path, vocab_json(vocab))


def vocab_json(vocab: Vocab, **more: Mapping[str, int]) -> bytes:
    """The content of vocab.json; `more` maps follow those of the vocabulary."""
    content = {name: getattr(vocab, name) for name in _MAPS} | more
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def read_vocab(path: Path) -> Vocab:
    """Reads vocab.json; those of the public CLEVR models can be read too.

    Raises:
        DatasetError: the file is missing or not a vocabulary.
    """
    raw = read_json(path, "a vocabulary", remedy="run the dataset's build again to make it")
    check_form(raw, VOCAB, path)
    return vocab_from_json(raw)


def vocab_from_json(raw: Mapping[str, Mapping[str, int]]) -> Vocab:
    """The vocabulary in a JSON object of the form `VOCAB`, whose other keys are ignored."""
    return Vocab(**{name: raw[name] for name in _MAPS})


def vocab_digest(vocab: Vocab) -> str:
    """SHA-256 of all words, program tokens and answers with their numbers."""
    maps = [dict(getattr(vocab, name)) for name in _MAPS]
    return hashlib.sha256(json.dumps(maps, sort_keys=True).encode()).hexdigest()


def bare_text(text: str) -> str:
    """A text without case, punctuation, spaces and what cannot be seen, to tell whether two differ."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in "LMN")


def by_number(numbers: Mapping[str, int]) -> list[str]:
    """The tokens in the order of their numbers; "" for a number without a token."""
    tokens = [""] * (max(numbers.values(), default=-1) + 1)
    for token, number in numbers.items():
        tokens[number] = token
    return tokens


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    rest = sorted(set(tokens) - set(SPECIAL_TOKENS))
    return {token: number for number, token in enumerate([*SPECIAL_TOKENS, *rest])}
