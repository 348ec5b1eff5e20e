"""Words, functions and answers in, vocab.json as the public CLEVR models read it out.

The lists hold everything that can occur in the folder's world with its templates, not what happened to occur,
so that a larger dataset or another pair never changes a number.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from clevrhope.runtime.atomic import write_whole
from clevrhope.runtime.forms import INDEX, Fields, Kind, MapOf, check_form
from clevrhope.runtime.json_text import read_json

SPECIAL_TOKENS = ("<NULL>", "<START>", "<END>", "<UNK>")
"""Come first, in this order: 0 pads, then the marks of beginning, end and the unknown."""

NO_ANSWER = "<UNK>"
"""What predictions have where a model gave no answer that can be read: counts as wrong."""


@dataclass(frozen=True)
class Vocab:
    """Three maps from token to number, as in vocab.json."""

    question_token_to_idx: Mapping[str, int]
    program_token_to_idx: Mapping[str, int]
    answer_token_to_idx: Mapping[str, int]

    def questions(self) -> list[str]:
        """Question tokens by number."""
        return _by_number(self.question_token_to_idx)

    def programs(self) -> list[str]:
        """Program tokens by number."""
        return _by_number(self.program_token_to_idx)

    def answers(self) -> list[str]:
        """Answers by number; the special tokens' places included."""
        return _by_number(self.answer_token_to_idx)


def make_vocab(words: Iterable[str], program_tokens: Iterable[str], answers: Iterable[str]) -> Vocab:
    """Numbers each list: special tokens first, the rest sorted."""
    return Vocab(_numbered(words), _numbered(program_tokens), _numbered(answers))


def write_vocab(path: Path, vocab: Vocab) -> None:
    """Writes vocab.json whole."""
    content = {
        "question_token_to_idx": vocab.question_token_to_idx,
        "program_token_to_idx": vocab.program_token_to_idx,
        "answer_token_to_idx": vocab.answer_token_to_idx,
    }
    write_whole(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def read_vocab(path: Path) -> Vocab:
    """Reads vocab.json, the public CLEVR models' own included.

    Raises:
        DatasetError: not such a file.
    """
    raw = read_json(path, "a vocabulary", remedy="run its build again to make it")
    check_form(raw, _FORM, path)
    return Vocab(raw["question_token_to_idx"], raw["program_token_to_idx"], raw["answer_token_to_idx"])


_NUMBER = Kind("a number below 65,536", lambda value: INDEX.test(value) and value < 1 << 16)
_FORM = Fields(
    dict.fromkeys(("question_token_to_idx", "program_token_to_idx", "answer_token_to_idx"), MapOf(_NUMBER))
)


def _numbered(tokens: Iterable[str]) -> dict[str, int]:
    rest = sorted(set(tokens) - set(SPECIAL_TOKENS))
    return {token: number for number, token in enumerate([*SPECIAL_TOKENS, *rest])}


def _by_number(numbers: Mapping[str, int]) -> list[str]:
    tokens = [""] * (max(numbers.values(), default=-1) + 1)
    for token, number in numbers.items():
        tokens[number] = token
    return tokens
