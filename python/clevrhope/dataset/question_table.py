"""A table of questions of any kind: read from its HDF5 file when columns are asked for, or made in memory."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope.dataset import nonce_text
from clevrhope.dataset.detokenizer import Detokenizer
from clevrhope.dataset.hdf5 import MAX_ROWS, ProcessFile
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_manifest
from clevrhope.dataset.question_kinds import (
    ABSENT,
    NONCE,
    PAIRS,
    SET_PAIRS,
    SETS,
    SINGLE,
    Column,
    Field,
    Numbers,
    QuestionKind,
    kind_of,
)
from clevrhope.dataset.questions_h5 import COLUMN_CHUNK_ROWS, REMEDY, Ints, check_numbers, read_rows
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError, DatasetError


class QuestionTable:
    """N questions, one per row, with the columns of their kind.

    Columns and the file's attributes are attributes of the table: `table.answers` is (N,), `table.questions`
    (N, Q); shapes and meanings are in `question_kinds`. A column of a file is read when it is first asked
    for, checked against its kind, and kept. `tokens`, `part` and `blocks` read rows
    without keeping them.

    A table pickles without an open file and can be forked.
    """

    kind: QuestionKind
    attributes: Mapping[str, Any]
    """The file's attributes; lists as tuples."""
    hop: str
    split: str
    pool: str
    answers: Ints
    image_idxs: Ints
    question_families: Ints
    question_lengths: Ints
    program_lengths: Ints

    def __init__(
        self,
        kind: QuestionKind,
        columns: Mapping[str, Numbers],
        *,
        vocab: Vocab | None = None,
        texts: Callable[[], Sequence[str]] | None = None,
        **attributes: Any,
    ) -> None:
        """A table in memory.

        Args:
            kind: the kind of the questions.
            columns: all columns of the kind, or some; tokens may have a narrower type than a file's.
            vocab: the vocabulary of tokens and answers.
            texts: returns the sentences; None makes them from the tokens.
            attributes: those of a file, such as `hop`, `split` and `pool`.
        """
        self.kind, self.attributes, self.vocab = kind, attributes, vocab
        self._columns, self._texts = dict(columns), texts
        self._file: ProcessFile | None = None
        self._first, self._is_part = 0, False
        self._n = len(next(iter(columns.values())))

    def __len__(self) -> int:
        return self._n

    def __contains__(self, name: str) -> bool:
        """Whether it has a column; files may lack some."""
        if self._file is None:
            return name in self._columns
        with self._file.reading() as file:
            return name in file

    def __repr__(self) -> str:
        return f"<{len(self):,} questions of {self.hop}/{self.split}>"

    def __getattr__(self, name: str) -> Any:
        """A whole column, or an attribute of the file."""
        if name.startswith("_") or name in ("kind", "attributes", "vocab"):
            raise AttributeError(name)  # asked by copy and pickle before the table is filled
        if name in self._columns:
            return self._columns[name]
        if name in self.kind.columns and self._file is not None:
            return self.load(name)._columns[name]
        if name in self.attributes:
            return self.attributes[name]
        raise AttributeError(f"no column or attribute {name} in questions of kind {self.kind.name}")

    @property
    def path(self) -> Path:
        """The file that the table is read from."""
        if self._file is None:
            raise ValueError("a table in memory has no file")
        return self._file.path

    @cached_property
    def answer_names(self) -> list[str]:
        """The answers of its vocabulary by number."""
        return self._named("answers")

    @property
    def widths(self) -> tuple[int, int]:
        """Number of tokens in a row of questions, and of programs."""
        if self._file is None:
            return self.questions.shape[1], self.programs.shape[1]
        with self._file.reading() as file:
            return file["questions"].shape[1], file["programs"].shape[1]

    @property
    def entry(self) -> dict[str, Any]:
        """What a manifest says of a split that has these questions."""
        entry: dict[str, Any] = {"pool": self.pool, "questions": len(self), "images": len(self.scenes)}
        if self.kind is NONCE:
            forms = Counter(self.forms[number] for number in self.question_families.tolist())
            entry |= {"types": self.types, "forms": forms}
        return entry

    @property
    def scenes(self) -> Ints:
        """The indices of the scenes that the questions are about, sorted, each once."""
        return np.setdiff1d(self.image_idxs, [ABSENT]).astype(np.int32)

    def images_of(self, row: int) -> list[int]:
        """The indices of the scenes that a question is about, in its order."""
        return [index for index in np.atleast_1d(self.image_idxs[row]).tolist() if index != ABSENT]

    def said(self, fields: Sequence[Field], row: int) -> dict[str, Any]:
        """What fields of the kind say about a question, by the fields' names; a list of a row of numbers."""
        return {field.name: self._said(field, row) for field in fields}

    def _said(self, field: Field, row: int) -> Any:
        if field.given and getattr(self, field.given)[row] < 0:
            return None
        number = getattr(self, field.column)[row].tolist()
        return number if field.value is None else field.value(self, number)

    def values(self, field: Field) -> list[int | str | None]:
        """What a field says about each question."""
        numbers: list[int | None] = getattr(self, field.column).tolist()
        if field.given:
            given = getattr(self, field.given).tolist()
            numbers = [None if flag < 0 else n for n, flag in zip(numbers, given, strict=True)]
        if field.value is None:
            return [*numbers]
        named = {n: None if n is None else field.value(self, n) for n in set(numbers)}
        return [named[n] for n in numbers]

    def arrays(self) -> dict[str, Numbers]:
        """The columns by name, in the order in which a file has them."""
        self.load()
        return {name: self._columns[name] for name in self.kind.columns if name in self._columns}

    def load(self, *names: str) -> "QuestionTable":
        """Reads columns, or all of the file, while it is opened once; returns the table.

        Raises:
            DatasetError: the file is damaged, or a number is out of range; names the column and the place.
        """
        if self._file is None:
            return self
        with self._file.reading() as file:
            for name in names or [name for name in self.kind.columns if name in file]:
                self._columns[name] = self._rows(name, 0, len(self))
        if not self._is_part:
            self._file.close()
        return self

    def take(self, rows: Any) -> "QuestionTable":
        """The questions in these rows (an index array or a slice), in their order, in memory."""
        return self._in_memory({name: values[rows] for name, values in self.arrays().items()}, rows)

    def with_columns(self, **columns: Numbers) -> "QuestionTable":
        """The table in memory with other numbers in some columns; its sentences stay as they are."""
        return self._in_memory({**self.arrays(), **columns}, slice(None))

    def _in_memory(self, columns: Mapping[str, Numbers], rows: Any) -> "QuestionTable":
        def texts() -> Sequence[str]:
            every = self.sentences()
            return every[rows] if isinstance(rows, slice) else [every[row] for row in rows]

        return QuestionTable(self.kind, columns, vocab=self.vocab, texts=texts, **self.attributes)

    def part(self, first: int, n: int) -> "QuestionTable":
        """At most `n` questions from `first` on; a file's columns are read when they are asked for."""
        rows = slice(first, min(first + n, len(self)))
        if self._file is None:
            return self.take(rows)
        view = copy(self)
        view._columns = {name: values[rows] for name, values in self._columns.items()}
        view._first, view._n, view._is_part = self._first + first, rows.stop - first, True
        return view

    def parts(self, n_rows: int) -> Iterator["QuestionTable"]:
        """All questions in order, `n_rows` at a time, as `part` gives them."""
        for first in range(0, len(self), n_rows):
            yield self.part(first, n_rows)

    def tokens(self, first: int, n: int = 1) -> tuple[Ints, Ints]:
        """Questions (n, Q) and programs (n, P), int32 tokens, from question `first` on.

        Raises:
            DatasetError: the file is damaged there, or a token is not in the vocabulary.
        """
        stop = min(first + n, len(self))
        questions, programs = (self._rows(name, first, stop) for name in ("questions", "programs"))
        return questions.astype(np.int32, copy=False), programs.astype(np.int32, copy=False)

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows in order, a few thousand at a time: number of the first row, questions, programs."""
        for first in range(0, len(self), COLUMN_CHUNK_ROWS):
            yield first, *self.tokens(first, COLUMN_CHUNK_ROWS)

    def sentences(self) -> Sequence[str]:
        """The sentences of all questions, as in the split's JSON file; requires a vocabulary."""
        if self._texts is not None:
            return self._texts()
        return [
            self.sentence(k, row) for first, rows, _ in self.blocks() for k, row in enumerate(rows, first)
        ]

    def sentence(self, row: int, tokens: Ints) -> str:
        """The sentence of the question in a row with these tokens, as in the split's JSON file.

        An episode's sentence is in its nonce words.
        """
        if self.kind is NONCE:
            return self._spoken.question(self.in_nonce_words(row, tokens)).capitalize()
        written: bytes = self.texts[row].tobytes() if self._are_worded else b""
        text = written.rstrip(b"\0").decode(errors="replace")
        return text or self._spoken.question(tokens)

    def in_nonce_words(self, row: int, tokens: Ints) -> Ints:
        """Tokens of the episode in a row with its nonce words in place of real values; needs a vocabulary."""
        assert self.vocab is not None
        return nonce_text.in_nonce_words(tokens, self.words[row], self.value_names, self.vocab)

    @cached_property
    def _are_worded(self) -> bool:
        return "texts" in self

    @cached_property
    def _spoken(self) -> Detokenizer:
        if self.vocab is None:
            raise ValueError("without a vocabulary there are no words")
        return Detokenizer(self.vocab)

    def check(self) -> "QuestionTable":
        """Reads all columns with one number per question, which checks them, as `load` does."""
        of_one_number = ((), self.kind.columns["image_idxs"].row)
        return self.load(*(name for name, column in self.kind.columns.items() if column.row in of_one_number))

    def _rows(self, name: str, first: int, stop: int) -> Any:
        """Rows of a column: of those kept, or from the file, checked."""
        if name in self._columns:
            return self._columns[name][first:stop]
        if self._file is None:
            raise ValueError(f"the table has no column {name}")
        with self._file.reading() as file:
            if name not in file:
                raise DatasetError(f"{self.path}: it has no array {name}; {REMEDY}")
            found = read_rows(file, name, self._first + first, self._first + stop)
        self._check(name, found, first, stop)
        return found.astype(self.kind.columns[name].dtype, copy=False)  # other programs write wider types

    def _check(self, name: str, numbers: Numbers, first: int, stop: int) -> None:
        column = self.kind.columns[name]
        if column.check is None:
            limit, offset = self._limit(column), self._first + first
            check_numbers(self.path, name, numbers, limit, least=column.least, first=offset)
            return
        faults = column.check(numbers, lambda other: self._rows(other, first, stop), self.attributes)
        if faults.is_wrong.any():
            row = int(np.argmax(faults.is_wrong))
            raise DatasetError(
                f"{self.path}: {name}[{self._first + first + row}] is {numbers[row].tolist()}; expected "
                f"{faults.expected(row)}; {REMEDY}"
            )

    def _limit(self, column: Column) -> int:
        if column.names:
            return len(self.attributes[column.names])
        return len(self._named(column.vocab)) if column.vocab and self.vocab is not None else column.limit

    def _named(self, part: str) -> list[str]:
        """The tokens of a part of the vocabulary, by number."""
        if self.vocab is None:
            raise ValueError("without a vocabulary there are no names")
        found: list[str] = getattr(self.vocab, part)()
        return found


def padded(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Several arrays of token rows as one, with zeros up to the width of the widest."""
    width = max(each.shape[1] for each in rows)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in rows])


def read_table(
    path: Path,
    kind: QuestionKind = SINGLE,
    *,
    limit: int | None = None,
    max_rows: int = MAX_ROWS,
    vocab: Vocab | None = None,
) -> QuestionTable:
    """Opens a file of questions, whose columns are read when they are asked for.

    Args:
        path: the HDF5 file.
        kind: the kind of its questions; `PAIRS` also for those about sets of images.
        limit: only the first `limit` questions; None for all.
        max_rows: the most questions that the file may have; the manifest's number, if a manifest was read.
        vocab: the vocabulary that must contain all tokens and answers; None checks nothing.

    Raises:
        ConfigError: the limit is below 1, or above the number of questions.
        DatasetError: the file is missing, cut off, or not a file of this kind.
    """
    if kind is PAIRS and kind_of(path.stem) is SETS:  # the file has the name of its split
        kind = SET_PAIRS
    file = ProcessFile(path, kind.schema, max_rows=max_rows)
    with file.reading() as opened:
        n = opened["answers"].shape[0]
        attributes = {name: _plain(value) for name, value in opened.attrs.items()}
    if limit is not None and not 1 <= limit <= n:
        raise ConfigError(
            f"{path}: it has {n:,} questions, but the first {limit:,} were asked for; ask for 1 to {n:,}, or "
            "have clevrhope build --train-questions add more to the dataset"
        )
    _check_lists(path, kind, attributes)
    table = QuestionTable.__new__(QuestionTable)
    table.kind, table.attributes, table.vocab = kind, attributes, vocab
    table._columns, table._texts, table._file = {}, None, file
    table._first, table._is_part, table._n = 0, False, n if limit is None else limit
    return table


def open_split(
    layout: Layout, hop: str, split: str, *, vocab: Vocab, limit: int | None = None
) -> QuestionTable:
    """Opens a split, which may have at most the questions in the manifest, and checks its columns.

    Raises as `read_table` and `QuestionTable.check`.
    """
    kind = kind_of(split)
    manifest = read_manifest(layout.manifest, files=False)
    entry = getattr(manifest, kind.listed).get(hop, {}).get(split, {}) if manifest else {}
    path, max_rows = kind.h5(layout, hop, split), int(entry.get("questions", MAX_ROWS))
    return read_table(path, kind, limit=limit, max_rows=max_rows, vocab=vocab).check()


def _check_lists(path: Path, kind: QuestionKind, attributes: dict[str, Any]) -> None:
    """Checks that lists are there and as long as they should be; fills in those that a file may lack."""
    for name, other in kind.lists.items():
        if name not in attributes:
            if name not in kind.optional:
                raise DatasetError(f"{path}: it has no attribute {name}; {REMEDY}")
            attributes[name] = (kind.optional[name],) * len(attributes[other])
        elif other and len(attributes[name]) != len(attributes[other]):
            raise DatasetError(
                f"{path}: its attribute {name} has {len(attributes[name])} numbers; expected "
                f"{len(attributes[other])}, one for each of {other}; {REMEDY}"
            )


def _plain(value: Any) -> Any:
    """An attribute as Python values."""
    if isinstance(value, np.ndarray):
        return tuple(map(_plain, value.tolist()))
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value
