"""Reads a finished split for the audit: its arrays, and the rows of its question file.

The audit must not share bugs with the package's other readers, so it reads JSON and HDF5 with this code, as
an outsider would.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import (
    MAX_ROWS,
    cannot_be_read,
    damage,
    hdf5_words,
    open_hdf5,
    open_to_read,
)
from clevrhope.dataset.json_rows import open_lines, read_list, rows_of_lines
from clevrhope.dataset.question_kinds import ADDED, PAIRS, SETS, SINGLE, QuestionKind
from clevrhope.dataset.vocab import VOCAB
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import ANY, INDEX, TEXT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json, read_json

Value: TypeAlias = tuple[str, str]
"""Attribute type and value: ("material", "rubber")."""

COLUMNS = ("answers", "image_idxs", "orig_idxs", "question_families", "question_lengths", "program_lengths")
"""Arrays with one number per question."""


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

    @cached_property
    def answer_names(self) -> Mapping[int, str]:
        """The names of answers by number."""
        return {number: name for name, number in self.answers.items()}

    def answer(self, number: int) -> str:
        """The name of an answer; its number if it has none."""
        return self.answer_names.get(int(number), str(int(number)))

    @cached_property
    def _word_names(self) -> Mapping[int, str]:
        return {number: word for word, number in self.words.items()}

    def text(self, tokens: Iterable[int]) -> str:
        """A row of tokens as text, without <START>, <END> and padding."""
        return " ".join(self._word_names.get(token, f"[{token}]") for token in tokens if token > 2)


class SplitArrays:
    """A split's open HDF5 file: its columns are in memory, its rows of tokens are read on demand."""

    kind: QuestionKind = SINGLE

    def __init__(self, path: Path, kind: QuestionKind | None = None, *, max_rows: int = MAX_ROWS) -> None:
        """Opens the file; `max_rows` is the number of questions in the manifest, if a manifest was read.

        `kind` is the kind of the questions, if it has no class of its own here.

        Raises:
            DatasetError: as for `open_hdf5`.
        """
        self.path = path
        self.kind = kind or self.kind
        self._schema = self.kind.schema
        self._file = open_hdf5(path, self._schema, max_rows=max_rows)
        try:
            with damage(path, self._schema):
                self._read()
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> None:
        self.attributes: Mapping[str, Any] = dict(self._file.attrs)
        self.pool = str(self.attributes["pool"])
        wide = {name for name, column in self.kind.columns.items() if column.row and name != "image_idxs"}
        self.columns: Mapping[str, npt.NDArray[Any]] = {
            name: self._numbers(name, self._file[name][:]) for name in self.kind.columns if name not in wide
        }
        self._wide = {name: self._file[name] for name in wide if name in self._file}
        self.used: npt.NDArray[np.int32] = np.unique(self.columns["image_idxs"])
        """Indices of the images that the split uses, sorted, each once."""

    def __len__(self) -> int:
        return len(self.columns["answers"])

    def __repr__(self) -> str:
        return f"<{len(self):,} questions of {self.path}>"

    def tokens(self, name: str, first: int, n: int) -> npt.NDArray[np.int32]:
        """At most `n` rows of `questions`, `programs` or `relation_needed` from `first` on, as (rows, width).

        Raises:
            DatasetError: a block is damaged, or the file does not have the array.
        """
        if name not in self._wide:
            raise DatasetError(f"{self.path}: no array {name}")
        with damage(self.path, self._schema):
            return self._numbers(name, self._wide[name][first : first + n])

    def text(self, vocab: Vocab, row: int) -> str:
        """The text of a question."""
        return vocab.text(self.tokens("questions", row, 1)[0].tolist())

    def _numbers(self, name: str, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows in the column's own type, as other programs may write them in a wider one."""
        found = rows.astype(self.kind.columns[name].dtype, copy=False)
        if found is not rows and (wrong := found != rows).any():
            raise DatasetError(f"{self.path}: {name} holds {rows[wrong][0]}, which is not an {found.dtype}")
        return found

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class PairArrays(SplitArrays):
    """The open HDF5 file of a suite's pairs on a split, with two rows per pair."""

    kind = PAIRS
    is_paraphrased = False
    """Whether its partners are texts from elsewhere."""

    def _read(self) -> None:
        super()._read()
        self.is_paraphrased = "texts" in self._wide
        self.tests = tuple(map(str, self.attributes["tests"]))
        """Names of the tests by number."""
        self.types = tuple(map(str, self.attributes["types"]))
        """The question type of each test."""
        self.controls = tuple(map(str, self.attributes.get("controls", ("",) * len(self.tests))))
        """For each test, the one for which its pairs are controls; "" for none."""
        self.n_originals = int(self.attributes["n_originals"])
        """Number of questions in the split when the pairs were made."""
        self.fingerprint = str(self.attributes.get("fingerprint", ""))
        """Fingerprint of the suite's files."""
        self.n_pairs = len(self) // 2
        self.lone: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        """Rows of questions whose original is not in the file, all of them behind the pairs."""


class AddedPairs(PairArrays):
    """The open HDF5 file of a train set with questions of a suite, each paired with its original.

    Questions whose originals were searched for, and not added, follow these pairs.
    `whole` holds the columns of the file. `rows` maps each row here to a row of the file, or to -1 for an
    original that the file does not have.
    """

    kind = ADDED

    def _read(self) -> None:
        SplitArrays._read(self)
        self.tests = tuple(map(str, self.attributes["tests"]))
        self.types = tuple(map(str, self.attributes["types"]))
        self.controls = tuple(map(str, self.attributes["controls"]))
        self.fingerprint = str(self.attributes["fingerprint"])
        whole, is_own = self.columns, self.columns["test"] < 0
        self.whole = whole
        own, added = np.flatnonzero(is_own), np.flatnonzero(~is_own)
        self.n_originals = len(own)
        is_lone = whole["source_idxs"][added] == -1
        added, lone = added[~is_lone], added[is_lone]
        sources, n = whole["source_idxs"][added].astype(np.int64), len(added)
        there = (sources >= 0) & (sources < len(own))
        given = np.full(n, -1, dtype=np.int64)
        given[there] = own[sources[there]]
        self.n_pairs, self.lone = n, 2 * n + np.arange(len(lone))
        of_pairs: npt.NDArray[np.int64] = np.stack([given, added], axis=1).reshape(-1)
        self.rows: npt.NDArray[np.int64] = np.concatenate([of_pairs, lone])
        rows_added = np.concatenate([np.repeat(added, 2), lone])
        originals = np.stack([np.where(there, sources, -1), np.full(n, -1)], axis=1).reshape(-1)
        self.columns = {
            **{name: whole[name][self.rows] for name in COLUMNS},
            **{name: whole[name][rows_added] for name in ("test", "tier", "relation", "value")},
            "orig_idxs": np.concatenate([originals, np.full(len(lone), -1)]),
            "pair_idxs": np.repeat(np.arange(n), 2),
            "role": np.tile([0, 1], n),
            # No added question mentions the held-out values, and no image of a train set shows them together.
            "cell": np.zeros(len(self.rows), dtype=np.int8),
            "touches": np.zeros(len(self.rows), dtype=np.int8),
        }
        self._tokens: dict[str, npt.NDArray[np.int32]] = {}

    def tokens(self, name: str, first: int, n: int) -> npt.NDArray[np.int32]:
        """Rows of the pairs, as `SplitArrays.tokens`."""
        if name not in self._tokens:
            self._tokens[name] = self.whole_tokens(name)[self.rows]
        return self._tokens[name][first : first + n]

    def whole_tokens(self, name: str) -> npt.NDArray[np.int32]:
        """All rows of the file."""
        return super().tokens(name, 0, len(self.whole["answers"]))


class SetArrays(SplitArrays):
    """The open HDF5 file of questions over several images; `image_idxs` are (N, 5), padded with -1."""

    kind = SETS

    def _read(self) -> None:
        super()._read()
        self.used = self.used[self.used >= 0]
        self.templates = tuple(map(str, self.attributes.get("templates", ())))
        """Names of the templates by number."""


def hdf5_fault(path: Path) -> str | None:
    """Why a file cannot be opened as HDF5, in a few words; None if it can.

    HDF5 files record their length, so a truncated file is found without reading it.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    try:
        with open_to_read(path):
            return None
    except FileNotFoundError:
        raise
    except Exception as error:
        return cannot_be_read(error) or hdf5_words(error)


def read_vocab(path: Path) -> Vocab:
    """Reads vocab.json.

    Raises:
        DatasetError: the file is missing or not a vocabulary.
    """
    raw = read_json(path, "a vocabulary")
    check_form(raw, VOCAB, path)
    return Vocab(*(raw[name] for name in VOCAB.needed))


def read_question_rows(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the rows of a question file, in order: line number and JSON.

    A file with one row per line, as this package writes it, is not parsed; any other JSON file in CLEVR's
    format is.

    Raises:
        DatasetError: the file is missing or not in CLEVR's format.
    """
    with open_lines(path) as file:
        if not file.readline(_MAX_HEAD).rstrip().endswith(b"["):
            for fields in read_list(path, "questions"):
                yield 1, json.dumps(fields).encode()
            return
        yield from rows_of_lines(file, path)


def check_question(path: Path, n: int, line: int, row: bytes) -> None:
    """Checks the n-th row of a question file, at this line; raises DatasetError if it is not a question."""
    check_form(parse_json(row, path, line=line), _QUESTION, path, place=f"questions[{n}]")


_QUESTION = Fields(
    {
        "question": TEXT,
        "program": ListOf(Fields({"function": TEXT, "value_inputs": ListOf(TEXT), "inputs": ListOf(INDEX)})),
        "answer": ANY,
        "image_index": INDEX,
        "image_filename": TEXT,
        "question_family_index": INDEX,
    }
)

_MAX_HEAD = 1 << 16
"""The most bytes of the first line in a file with one row per line."""
