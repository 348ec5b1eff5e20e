"""Reads the questions of a split from its HDF5 file, one by one or in blocks.

The columns with one number per question stay in memory (11 MB for a train split of the paper's size); the
rows of tokens, 14 times as large, are read on demand.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import h5py
import numpy.typing as npt

from clevrhope.dataset.covr_h5 import SET_COLUMNS, SET_QUESTIONS, check_set_columns, set_attributes
from clevrhope.dataset.detokenizer import all_sentences
from clevrhope.dataset.hdf5 import MAX_ROWS, Schema
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import read_n_questions
from clevrhope.dataset.pairs_h5 import PAIRS, RELATIONS, TIERS
from clevrhope.dataset.process_file import ProcessFile
from clevrhope.dataset.questions_h5 import COLUMN_CHUNK_ROWS, QUESTIONS, Ints, check_columns, check_numbers
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import ConfigError
from clevrhope.splits.covr.kinds import is_covr

COLUMNS = ("answers", "image_idxs", "question_families", "question_lengths", "program_lengths")


def open_split(
    layout: Layout, hop: str, split: str, *, vocab: Vocab, limit: int | None = None
) -> "SplitReader":
    """Opens a split, which may have at most the questions in the manifest. Errors as for `SplitReader`."""
    n = read_n_questions(layout.manifest, hop, split)
    path = layout.questions_h5(hop, split)
    kind = SetReader if is_covr(split) else SplitReader
    return kind(path, limit=limit, max_rows=MAX_ROWS if n is None else n, vocab=vocab)


class SplitReader:
    """A split, or its first `limit` questions; pickles without an open file."""

    hop: str
    split: str
    pool: str
    answers: Ints
    """(N,) numbers of vocab.json."""
    image_idxs: Ints
    """(N,) the scene's index in its pool; (N, I) in a `SetReader`."""
    question_families: Ints
    """(N,) CLEVR's `question_family_index`."""
    question_lengths: Ints
    """(N,) tokens of a question, <START> and <END> included."""
    program_lengths: Ints
    """(N,) tokens of a program, <START> and <END> included."""
    widths: tuple[int, int]
    """Number of tokens in a row of questions, and of programs."""

    _schema: ClassVar[Schema] = QUESTIONS
    _columns: ClassVar[tuple[str, ...]] = COLUMNS

    def __init__(
        self,
        path: Path,
        *,
        limit: int | None = None,
        max_rows: int = MAX_ROWS,
        vocab: Vocab | None = None,
    ) -> None:
        """Reads the columns.

        Args:
            path: the HDF5 file.
            limit: read only the first `limit` questions; None for all.
            max_rows: the most questions that the file may have; the manifest's number, if a manifest was
                read.
            vocab: the vocabulary that must contain all tokens and answers; None checks nothing.

        Raises:
            ConfigError: the limit is below 1, or above the number of questions.
            DatasetError: the file is missing, cut off, or not a question file.
        """
        self.path = path
        self._file = ProcessFile(path, self._schema, max_rows=max_rows)
        with self._file.reading() as file:
            n = file["answers"].shape[0]
            if limit is not None and not 1 <= limit <= n:
                raise ConfigError(
                    f"{path}: it has {n:,} questions, but the first {limit:,} were asked for; ask for 1 to "
                    f"{n:,}, or have clevrhope build --train-questions add more to the dataset"
                )
            self.hop, self.split, self.pool = (str(file.attrs[name]) for name in ("hop", "split", "pool"))
            self.widths = (file["questions"].shape[1], file["programs"].shape[1])
            columns = {name: file[name][:limit] for name in self._columns}
            self._read_more(file, columns)
        self._file.close()
        self._vocab = vocab
        self._check("answers", columns["answers"])
        self.answers, self.image_idxs, self.question_families = (columns[name] for name in COLUMNS[:3])
        self.question_lengths, self.program_lengths = (columns[name] for name in COLUMNS[3:])

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"<{len(self):,} questions of {self.hop}/{self.split}>"

    def _read_more(self, file: h5py.File, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Checks the columns, and keeps those that only this kind of file has."""
        check_columns(self.path, columns)

    def tokens(self, first: int, n: int = 1) -> tuple[Ints, Ints]:
        """Questions (n, Q) and programs (n, P), int32 tokens, from question `first` on.

        Raises:
            DatasetError: the file is damaged there, or a token is not in the vocabulary.
        """
        stop = min(first + n, len(self))
        with self._file.reading() as file:
            questions, programs = file["questions"][first:stop], file["programs"][first:stop]
        self._check("questions", questions)
        self._check("programs", programs)
        return questions, programs

    def _check(self, name: str, numbers: Ints) -> None:
        if self._vocab is not None:
            check_numbers(self.path, name, numbers, len(getattr(self._vocab, name)()))

    def sentences(self) -> list[str]:
        """The sentences of all questions, as in the split's JSON file; requires a vocabulary."""
        if self._vocab is None:
            raise ValueError("without a vocabulary there are no words")
        return all_sentences(self, self._vocab)

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All rows in order, a few thousand at a time: number of the first row, questions, programs."""
        for first in range(0, len(self), COLUMN_CHUNK_ROWS):
            yield first, *self.tokens(first, COLUMN_CHUNK_ROWS)


class SetReader(SplitReader):
    """A split of questions about sets of images; rows of `image_idxs` are padded with -1."""

    structures: npt.NDArray[Any]
    """(N,) numbers in `covr_h5.STRUCTURES`."""
    sources: npt.NDArray[Any]
    """(N,) the position of the source image in its row."""
    templates: tuple[str, ...]
    """Names of templates, by the numbers in `question_families`."""

    _schema = SET_QUESTIONS
    _columns = (*COLUMNS, *SET_COLUMNS)

    def _read_more(self, file: h5py.File, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        attributes = set_attributes(self.path, file)
        check_set_columns(self.path, columns, attributes)
        self.structures, self.sources = (columns[name] for name in SET_COLUMNS)
        self.templates = attributes.templates


class PairReader(SplitReader):
    """The questions of a suite's K pairs on a split: rows 2 k and 2 k + 1 are pair k, the original first."""

    tests: tuple[str, ...]
    """Names of the tests by number."""
    test: npt.NDArray[Any]
    """(2K,) numbers in `tests`."""
    tier: npt.NDArray[Any]
    """(2K,) numbers in `pairs_h5.TIERS`."""
    relation: npt.NDArray[Any]
    """(2K,) numbers in `pairs_h5.RELATIONS`."""
    orig_idxs: Ints
    """(2K,) the question's row in the split's own file; -1 for one that the suite made."""

    _schema = PAIRS
    _columns = (*COLUMNS, "test", "tier", "relation", "orig_idxs")

    def _read_more(self, file: h5py.File, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        check_columns(self.path, {name: columns[name] for name in COLUMNS})
        self.tests = tuple(map(str, file.attrs["tests"]))
        for name, limit in (("test", len(self.tests)), ("tier", len(TIERS)), ("relation", len(RELATIONS))):
            check_numbers(self.path, name, columns[name], limit)
        self.test, self.tier, self.relation = (columns[name] for name in ("test", "tier", "relation"))
        self.orig_idxs = columns["orig_idxs"]
