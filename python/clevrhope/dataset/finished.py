"""A finished folder's files in, what the check for leaks looks at out: questions and arrays.

Apart from the readers of the rest of the package, since the check must not share their slips: JSON and HDF5
are read as anybody would read them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import h5py
import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5_words import hdf5_words
from clevrhope.errors import DatasetError

Value: TypeAlias = tuple[str, str]
"""Attribute type and value: ("material", "rubber")."""

Step: TypeAlias = tuple[str, str, tuple[int, ...]]
"""Function, the value or relation it takes ("" for none), and the numbers of its input steps."""

COLUMNS = ("answers", "image_idxs", "orig_idxs", "question_families", "question_lengths", "program_lengths")
"""Arrays with a number a question."""

WIDE = ("questions", "programs")
"""Arrays with a row of tokens a question."""

RELATIONS = "relation_needed"
"""The array with a row of relations a question, which the check for leaks can do without."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked at in a row of a question file."""

    text: str
    steps: tuple[Step, ...]
    answer: str
    image_index: int
    image_filename: str
    family: int


@dataclass(frozen=True)
class Vocab:
    """Numbers of words, functions and answers, from vocab.json."""

    words: Mapping[str, int]
    functions: Mapping[str, int]
    answers: Mapping[str, int]

    def values(self) -> list[tuple[str, str]]:
        """Every (attribute type, value) that a program can filter by."""
        found = (re.fullmatch(r"filter_(\w+)\[(.+)\]", token) for token in self.functions)
        return [(match[1], match[2]) for match in found if match]


def prefix(steps: Sequence[Step]) -> list[str]:
    """The last function, then all of its first input, then all of its second; as `filter_color[red]`."""
    tokens: list[str] = []
    todo = [len(steps) - 1]
    while todo:
        function, argument, inputs = steps[todo.pop()]
        tokens.append(f"{function}[{argument}]" if argument else function)
        todo.extend(reversed(inputs))
    return tokens


class SplitArrays:
    """A split's HDF5 file, open: its small columns at hand, its rows of tokens on demand."""

    def __init__(self, path: Path) -> None:
        """Opens it.

        Raises:
            DatasetError: not such a file.
        """
        remedy = "remove it and run its build again"
        try:
            self._file = h5py.File(path, "r")
            self.attributes: Mapping[str, Any] = dict(self._file.attrs)
            lacks = [f"array {name}" for name in (*COLUMNS, *WIDE) if name not in self._file]
            lacks += [] if "pool" in self.attributes else ["attribute pool"]
            if lacks:
                raise DatasetError(f"{path}: no question file of a dataset (it has no {lacks[0]}); {remedy}")
            self.pool = str(self.attributes["pool"])
            self.columns: Mapping[str, npt.NDArray[Any]] = {name: self._file[name][:] for name in COLUMNS}
            self._wide = {name: self._file[name] for name in WIDE}
            if RELATIONS in self._file:
                self._wide[RELATIONS] = self._file[RELATIONS]
        except OSError as error:
            what = f"no whole question file of a dataset ({hdf5_words(error)})"
            raise DatasetError(f"{path}: {what}; {remedy}") from error
        n_rows = {name: len(each) for name, each in (*self.columns.items(), *self._wide.items())}
        for name, n in n_rows.items():
            if n != n_rows["questions"]:
                raise DatasetError(f"{path}: {name} has {n} rows, questions {n_rows['questions']}")
        self.used: npt.NDArray[np.int32] = np.unique(self.columns["image_idxs"])
        """Indices of the pictures that the split uses, each once, sorted."""

    def __len__(self) -> int:
        return len(self.columns["answers"])

    def tokens(self, name: str, first: int, n: int) -> npt.NDArray[np.int32]:
        """Rows of `questions`, `programs` or `relation_needed`, (n or fewer, width).

        Raises:
            DatasetError: a damaged block, or no such array.
        """
        try:
            rows: npt.NDArray[np.int32] = self._wide[name][first : first + n]
        except KeyError as error:
            raise DatasetError(f"{self._file.filename}: no array {name}") from error
        except OSError as error:
            raise DatasetError(f"{self._file.filename}: {name}: {hdf5_words(error)}") from error
        return rows

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def hdf5_fault(path: Path) -> str | None:
    """Why a file cannot be opened as HDF5, in a few words; None where it can.

    HDF5 files say how long they are, so one that was cut off is found without reading it.

    Raises:
        FileNotFoundError: it is not there.
    """
    try:
        with h5py.File(path, "r"):
            return None
    except FileNotFoundError:
        raise
    except OSError as error:
        return hdf5_words(error)


def read_vocab(path: Path) -> Vocab:
    """Reads vocab.json; a DatasetError says what is wrong with it."""
    raw = read_json(path)
    try:
        return Vocab(raw["question_token_to_idx"], raw["program_token_to_idx"], raw["answer_token_to_idx"])
    except (KeyError, TypeError) as error:
        raise DatasetError(f"{path}: no vocabulary of a dataset ({error} is missing)") from error


def read_question_rows(path: Path) -> Iterator[tuple[int, bytes]]:
    """The rows of a question file, each a line number and a JSON object, unread."""
    return _raw_rows(path, "questions")


def parse_question(path: Path, n: int, line: int, row: bytes) -> Question:
    """A row of a question file, its n-th; a DatasetError says why it is none."""
    fields = _parsed(path, line, row)
    try:
        return Question(
            text=fields["question"],
            steps=tuple(
                (step["function"], "".join(step["value_inputs"]), tuple(step["inputs"]))
                for step in fields["program"]
            ),
            answer=str(fields["answer"]),
            image_index=fields["image_index"],
            image_filename=fields["image_filename"],
            family=fields["question_family_index"],
        )
    except (KeyError, TypeError) as error:
        raise DatasetError(f"{path}: questions[{n}] is no question of CLEVR's files ({error})") from error


def read_json(path: Path) -> Any:
    """A JSON file; a DatasetError says where it is broken."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: no such file") from error
    except json.JSONDecodeError as error:
        raise DatasetError(f"{path}:{error.lineno}:{error.colno}: broken JSON ({error.msg})") from error


def _parsed(path: Path, line: int, row: bytes) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = json.loads(row)
    except json.JSONDecodeError as error:
        raise DatasetError(f"{path}:{line}:{error.colno}: broken JSON ({error.msg})") from error
    return fields


def _raw_rows(path: Path, key: str) -> Iterator[tuple[int, bytes]]:
    """The objects of a file's list, in order: the line that each is in, and its JSON.

    A file with a row a line, as this package writes them, is never whole in memory; any other JSON file of
    CLEVR's kind is read at once.
    """
    try:
        with path.open("rb") as file:
            if not file.readline().rstrip().endswith(b"["):
                for fields in read_json(path)[key]:
                    yield 1, json.dumps(fields).encode()
                return
            for line, text in enumerate(file, 2):
                row = text.strip().rstrip(b",")
                if row.startswith(b"{"):
                    yield line, row
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: no such file") from error
    except (KeyError, TypeError) as error:
        raise DatasetError(f'{path}: no list "{key}" ({error})') from error
