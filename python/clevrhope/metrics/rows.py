"""Rows of predictions, checked and converted to the types used in scoring."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.errors import PredictionsError
from clevrhope.splits.nonce.kinds import control_problem

Indices = npt.NDArray[np.int64]

REQUIRED = ("hop", "split", "question_index", "answer")
OPTIONAL = ("run", "train_size", "suite", "suite_sha256", "control")

_SIZE = re.compile(r"([0-9]{1,15})(?:\.0+)?(k?)")
_WHOLE = re.compile(r"\s*([0-9]{1,18})(?:\.0*)?\s*")
"""A whole number as tables of text hold it: "3", "3.0"."""

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
class Block:
    """Consecutive rows of a file.

    Attributes:
        path: the file.
        word: the text between the file's name and a row's number in messages.
        rows: (n,) lines from 1 in JSON lines, rows from 0 in Parquet.
        targets: what the predictions are about.
        target: (n,) indices into `targets`.
        suite_files: for each of `targets`, the first digits of the SHA-256 of the suite's file, or None.
        question_index: (n,) places of the questions in their files.
        answers: the distinct answers.
        answer: (n,) indices into `answers`.
        right: (n,) the right answers by the file, None where it does not say one; empty if it says none.
    """

    path: Path
    word: str
    rows: Sequence[int]
    targets: Sequence[Target]
    target: Indices
    suite_files: Sequence[str | None]
    question_index: Indices
    answers: Sequence[str]
    answer: Indices
    right: Sequence[str | None] = ()

    def __len__(self) -> int:
        return len(self.target)

    def place(self, k: int) -> str:
        """The k-th row's location, with only the file's name."""
        return f"{self.path.name}{self.word}{self.rows[k]}"


class Rows:
    """Gathers rows for a block; equal targets and equal answers are kept, and converted, once."""

    def __init__(self, path: Path, word: str) -> None:
        """Arguments as in `Block`."""
        self._path, self._word = path, word
        self._numbers: list[int] = []
        self._indices: list[Any] = []
        self._target: list[int] = []
        self._answer: list[int] = []
        # Distinct value -> its number, and the first row that has it. True, 1 and 1.0 are equal as keys of a
        # dictionary, so the keys include the types.
        self._targets: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._answers: dict[tuple[type, Any], tuple[int, int]] = {}

    def add(self, number: int, row: Mapping[str, Any]) -> tuple[int, int]:
        """Adds a row by its number; returns those of its target and of its answer, for `repeat`.

        Raises:
            KeyError, TypeError, AttributeError: the row lacks a column, or has a list or a dictionary.
        """
        keys = self._keys(row, len(self._numbers))
        self.repeat(number, row["question_index"], *keys)
        return keys

    def _keys(self, row: Mapping[str, Any], k: int) -> tuple[int, int]:
        """The numbers of a row's target and answer, which are new ones if it, the k-th row, is the first."""
        key = (row["hop"], row["split"], *(_whole(row.get(name)) for name in OPTIONAL))
        answer = row["answer"]
        target_number, _ = self._targets.setdefault((*key, *map(type, key)), (len(self._targets), k))
        answer_number, _ = self._answers.setdefault((type(answer), answer), (len(self._answers), k))
        return target_number, answer_number

    def repeat(self, number: int, question_index: Any, target: int, answer: int) -> None:
        """Adds a row with a target and an answer that another row has."""
        self._numbers.append(number)
        self._indices.append(question_index)
        self._target.append(target)
        self._answer.append(answer)

    def set_columns(
        self, first: int, columns: Mapping[str, tuple[Sequence[Any], Indices]], question_index: Sequence[Any]
    ) -> None:
        """Sets all rows at once; one row of each target and answer is looked at by itself.

        Args:
            first: the number of the first row.
            columns: name -> the column's distinct values, and (n,) the index of each row's value.
            question_index: (n,) the questions' places.
        """
        group = np.zeros(len(question_index), dtype=np.int64)
        for values, index in columns.values():
            if (index != index[0]).any():
                _, group = np.unique(group * len(values) + index, return_inverse=True)
        _, first_rows, group = np.unique(group, return_index=True, return_inverse=True)
        keys = np.zeros((len(first_rows), 2), dtype=np.int64)
        for number in np.argsort(first_rows).tolist():
            k = int(first_rows[number])
            row = {name: values[index[k]] for name, (values, index) in columns.items()}
            keys[number] = self._keys(row, k)
        self._numbers = [*range(first, first + len(question_index))]
        self._indices = [*question_index]
        self._target, self._answer = keys[group].T.tolist()

    def block(self) -> Block:
        """The rows, converted.

        Raises:
            PredictionsError: a value is invalid; the message names the first such row.
        """
        names = ("hop", "split", *OPTIONAL)
        keys = [
            [self._read(name, value, first) for name, value in zip(names, key, strict=False)]
            for key, (_, first) in self._targets.items()
        ]
        for (_, split, *_, control), (_, first) in zip(keys, self._targets.values(), strict=True):
            if problem := "" if control is None else control_problem(split, control):
                raise PredictionsError(f"{self._place(first)}: {problem}")
        return Block(
            path=self._path,
            word=self._word,
            rows=self._numbers,
            targets=[Target(*key[: len(Target._fields)]) for key in keys],
            target=np.asarray(self._target, dtype=np.int64),
            suite_files=[key[len(Target._fields)] for key in keys],
            question_index=self._question_indices(),
            answers=[self._read("answer", value, first) for (_, value), (_, first) in self._answers.items()],
            answer=np.asarray(self._answer, dtype=np.int64),
        )

    def _question_indices(self) -> Indices:
        values = self._indices
        if not ({*map(type, values)} <= {int} and max(map(abs, values), default=0) <= _LARGEST_INDEX):
            values = [self._read("question_index", value, k) for k, value in enumerate(values)]
        return np.asarray(values, dtype=np.int64)

    def _read(self, name: str, value: Any, k: int) -> Any:
        """A column's value at the k-th row, converted."""
        value = _whole(value)
        if value is None and name in OPTIONAL:
            return None
        convert, expected = _COLUMNS[name]
        converted = convert(value)
        if converted is None:
            raise PredictionsError(f'{self._place(k)}: "{name}" is {shortened(value)}{expected}')
        return converted

    def _place(self, k: int) -> str:
        return f"{self._path}{self._word}{self._numbers[k]}"


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


def _index(value: Any) -> int | None:
    if isinstance(value, str) and (match := _WHOLE.fullmatch(value)):
        return int(match[1])
    return value if _is_whole(value) and abs(value) <= _LARGEST_INDEX else None


def _answer(value: Any) -> str | None:
    """An answer in CLEVR's spelling; it need not be in the vocabulary."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and "." in value and (match := _WHOLE.fullmatch(value)):
        return str(int(match[1]))
    return str(value) if isinstance(value, int | str) else None


_COLUMNS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "hop": (_name, ", not a name"),
    "split": (_name, ", not a name"),
    "suite": (_name, ", not a name"),
    "control": (_name, ", not a name"),
    "run": (_run, ", neither a name nor a whole number"),
    "train_size": (_train_size, '; expected a number, such as 25000 or "25k"'),
    "suite_sha256": (
        _digest,
        "; expected the SHA-256 of the suite's HDF5 file, or at least its first 8 digits",
    ),
    "answer": (
        _answer,
        "; expected a string, true, false or a whole number (where there is no answer: <UNK>)",
    ),
    "question_index": (_index, "; expected the question's place in its split's or suite's file, from 0"),
}
"""Column -> the function that converts a value, giving None for an invalid one, and what is expected."""


def _whole(value: Any) -> Any:
    """A whole float or decimal as an integer and NaN as None, as tables with missing values store them."""
    if isinstance(value, Decimal):
        value = float(value)
    if not isinstance(value, float):
        return value
    if value != value:
        return None
    return int(value) if value.is_integer() else value


def shortened(value: Any) -> str:
    """A value as JSON, truncated if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
