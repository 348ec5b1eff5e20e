"""Rows of predictions, checked and converted to the types used in scoring."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.errors import PredictionsError

Indices = npt.NDArray[np.int64]

REQUIRED = ("hop", "split", "question_index", "answer")
OPTIONAL = ("run", "train_size", "suite", "suite_sha256")

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


def read_target(raw: Sequence[Any], where: Callable[[], str]) -> Target:
    """The target from HOP, split, run, train size and suite, before a digest; `where` locates the row.

    Raises:
        PredictionsError: a column has a wrong type.
    """
    hop, split, run, size, suite, _ = raw
    for name, value in (("hop", hop), ("split", split)):
        if not isinstance(value, str):
            raise PredictionsError(f'{where()}: "{name}" is {shortened(value)}, not a name')
    suite = _whole(suite)
    if suite is not None and not isinstance(suite, str):
        raise PredictionsError(f'{where()}: "suite" is {shortened(suite)}, not a name')
    return Target(hop, split, _run(run, where), _train_size(size, where), suite)


def read_suite_file(value: Any, where: Callable[[], str]) -> str | None:
    """The first digits of a SHA-256, or None.

    Raises:
        PredictionsError: the value is neither.
    """
    value = _whole(value)
    if value is None or (isinstance(value, str) and _DIGEST.fullmatch(value)):
        return value
    raise PredictionsError(
        f'{where()}: "suite_sha256" is {shortened(value)}; expected the SHA-256 of the suite\'s HDF5 file, '
        "or at least its first 8 digits"
    )


def _run(value: Any, where: Callable[[], str]) -> str | None:
    value = _whole(value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise PredictionsError(f'{where()}: "run" is {shortened(value)}, neither a name nor a whole number')


def _train_size(value: Any, where: Callable[[], str]) -> int | None:
    value = _whole(value)
    if value is None:
        return None
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        return int(match[1]) * (1000 if match[2] else 1)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise PredictionsError(
        f'{where()}: "train_size" is {shortened(value)}; expected a number, such as 25000 or "25k"'
    )


def read_answer(value: Any, where: Callable[[], str]) -> str:
    """An answer in CLEVR's spelling; it need not be in the vocabulary.

    Raises:
        PredictionsError: the value is neither a string nor true, false or a whole number.
    """
    value = _whole(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | str):
        return str(value)
    raise PredictionsError(
        f'{where()}: "answer" is {shortened(value)}; expected a string, true, false or a whole number'
    )


def read_indices(values: Sequence[Any], at: Places) -> Indices:
    """(n,) int64 indices of questions in their files.

    Raises:
        PredictionsError: a value is not a whole number; the message names the first such row.
    """
    if {*map(type, values)} <= {int} and (not values or max(values) <= _LARGEST_INDEX >= -min(values)):
        return np.asarray(values, dtype=np.int64)
    indices = []
    for k, value in enumerate(map(_whole, values)):
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST_INDEX:
            raise PredictionsError(
                f'{at(k)}: "question_index" is {shortened(value)}; '
                "expected the question's place in its split's or suite's file, from 0"
            )
        indices.append(value)
    return np.asarray(indices, dtype=np.int64)


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
