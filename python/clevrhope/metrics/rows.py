"""Rows of predictions, checked and converted to the types used in scoring."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.errors import PredictionsError

Indices = npt.NDArray[np.int64]

REQUIRED = ("hop", "split", "question_index", "answer")
OPTIONAL = ("run", "train_size", "suite", "suite_sha256")
KEY = ("hop", "split", *OPTIONAL)
"""The columns that say what a prediction is about, apart from its question."""

_SIZE = re.compile(r"(\d+)(k?)")
_LARGEST_INDEX = 2**62
_DIGEST = re.compile(r"[0-9a-f]{8,64}")


class Target(NamedTuple):
    """What a prediction is about, apart from its question."""

    hop: str
    split: str
    run: str | None
    train_size: int | None
    suite: str | None = None
    """The suite of paired tests whose file the question index refers to; None for the split's own file."""

    def __str__(self) -> str:
        model = [] if self.suite is None else [f"suite {self.suite}"]
        model += [] if self.run is None else [f"run {self.run}"]
        model += [] if self.train_size is None else [f"train size {self.train_size}"]
        return " ".join([self.hop, self.split, f"({', '.join(model)})" if model else ""]).strip()


@dataclass(frozen=True)
class Places:
    """The locations of rows, for error messages."""

    path: Path
    word: str
    """The text between the file's name and the row's number."""
    rows: Sequence[int] | Indices
    """(n,) lines from 1 in JSON lines, rows from 0 in Parquet."""

    def __call__(self, k: int) -> str:
        """The k-th row's location, with the file's full path."""
        return f"{self.path}{self.word}{self.rows[k]}"

    def short(self, k: int) -> str:
        """The k-th row's location, with only the file's name."""
        return f"{self.path.name}{self.word}{self.rows[k]}"


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a file."""

    at: Places
    targets: Sequence[Target]
    target: Indices
    """(n,) indices into `targets`."""
    suite_files: Sequence[str | None]
    """For each of `targets`, the first digits of the SHA-256 of the suite's file, or None."""
    question_index: Indices
    """(n,)"""
    answers: Sequence[str]
    answer: Indices
    """(n,) indices into `answers`."""

    def __len__(self) -> int:
        return len(self.target)


def read_block(
    at: Places,
    keys: Sequence[tuple[int, Sequence[Any]]],
    target: Sequence[int] | Indices,
    question_index: Sequence[Any],
    answers: Sequence[tuple[int, Any]],
    answer: Sequence[int] | Indices,
) -> Block:
    """A block from the values of its columns, which are checked.

    Args:
        at: the rows' places.
        keys: the distinct values of the columns `KEY`, each after the place of a row that has them.
        target: (n,) indices into `keys`.
        question_index: (n,) indices of questions in their files.
        answers: the distinct answers, each after the place of a row that has it.
        answer: (n,) indices into `answers`.

    Raises:
        PredictionsError: a value is invalid; the message names the first such row.
    """
    read = [[_read(name, value, at, k) for name, value in zip(KEY, key, strict=True)] for k, key in keys]
    return Block(
        at=at,
        targets=[Target(*key[:-1]) for key in read],
        target=np.asarray(target, dtype=np.int64),
        suite_files=[key[-1] for key in read],
        question_index=_indices(question_index, at),
        answers=[_read("answer", value, at, k) for k, value in answers],
        answer=np.asarray(answer, dtype=np.int64),
    )


def _read(name: str, value: Any, at: Places, k: int) -> Any:
    """A column's value at the k-th row, converted."""
    value = _whole(value)
    if value is None and name in OPTIONAL:
        return None
    convert, expected = _COLUMNS[name]
    found = convert(value)
    if found is None:
        raise PredictionsError(f'{at(k)}: "{name}" is {shortened(value)}{expected}')
    return found


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _run(value: Any) -> str | None:
    return str(value) if isinstance(value, str) or _is_whole(value) else None


def _train_size(value: Any) -> int | None:
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        return int(match[1]) * (1000 if match[2] else 1)
    return value if _is_whole(value) and value >= 0 else None


def _digest(value: Any) -> str | None:
    return value if isinstance(value, str) and _DIGEST.fullmatch(value) else None


def _answer(value: Any) -> str | None:
    """An answer in CLEVR's spelling; it need not be in the vocabulary."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | str) else None


_COLUMNS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "hop": (_name, ", not a name"),
    "split": (_name, ", not a name"),
    "suite": (_name, ", not a name"),
    "run": (_run, ", neither a name nor a whole number"),
    "train_size": (_train_size, '; expected a number, such as 25000 or "25k"'),
    "suite_sha256": (
        _digest,
        "; expected the SHA-256 of the suite's HDF5 file, or at least its first 8 digits",
    ),
    "answer": (_answer, "; expected a string, true, false or a whole number"),
    "question_index": (
        lambda value: value if _is_whole(value) and abs(value) <= _LARGEST_INDEX else None,
        "; expected the question's place in its split's or suite's file, from 0",
    ),
}
"""Column -> the function that converts a value, giving None for an invalid one, and what is expected."""


def _indices(values: Sequence[Any], at: Places) -> Indices:
    if {*map(type, values)} <= {int} and (not values or max(values) <= _LARGEST_INDEX >= -min(values)):
        return np.asarray(values, dtype=np.int64)
    read = [_read("question_index", value, at, k) for k, value in enumerate(values)]
    return np.asarray(read, dtype=np.int64)


def _whole(value: Any) -> Any:
    """A whole float as an integer and NaN as None, because tables with missing values store floats."""
    if not isinstance(value, float):
        return value
    if value != value:
        return None
    return int(value) if value.is_integer() else value


def shortened(value: Any) -> str:
    """A value as JSON, truncated if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
