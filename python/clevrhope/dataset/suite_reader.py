"""Reads the questions that a suite of paired tests made on a split, without those of the split itself."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.detokenizer import all_sentences
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.pairs_h5 import read_pairs
from clevrhope.dataset.questions_h5 import Ints, check_columns, check_numbers
from clevrhope.dataset.split_reader import COLUMNS
from clevrhope.dataset.suite_pools import is_pixel_edit, parse_suite_pool
from clevrhope.dataset.vocab import Vocab


def open_suite(
    layout: Layout, hop: str, suite: str, split: str, *, vocab: Vocab, without_pixel_edits: bool = False
) -> "SuiteReader":
    """Opens the questions that a suite made on a split; `vocab` is the suite's. See `SuiteReader`."""
    path = layout.suite_h5(hop, suite, split)
    return SuiteReader(path, vocab=vocab, without_pixel_edits=without_pixel_edits)


class SuiteReader:
    """The N questions that a suite made on a split, with the columns of `SplitReader`."""

    hop: str
    split: str
    pool: str
    rows: npt.NDArray[np.int64]
    """(N,) each question's row in the suite's file, which also holds the questions of the split."""
    tests: npt.NDArray[np.int16]
    """(N,) the number of each question's test."""
    n_skipped: int
    """Number of questions about images edited pixel by pixel, if these are left out."""
    answers: Ints
    image_idxs: Ints
    question_families: Ints
    question_lengths: Ints
    program_lengths: Ints
    clevr_programs: Ints
    """(N, P) programs in CLEVR's own functions, for questions whose programs use others; else zeros."""

    def __init__(self, path: Path, *, vocab: Vocab, without_pixel_edits: bool = False) -> None:
        """Reads everything.

        Args:
            path: the HDF5 file of pairs.
            vocab: the vocabulary that must contain all tokens and answers.
            without_pixel_edits: leave out questions about images that no scene describes.

        Raises:
            DatasetError: the file is missing, cut off, or not a file of pairs, or a token is not in `vocab`.
        """
        self._vocab = vocab
        pairs = read_pairs(path)
        all_rows = pairs.rows
        for name in ("questions", "programs", "answers"):
            check_numbers(path, name, getattr(all_rows, name), len(getattr(vocab, name)()))
        check_numbers(path, "clevr_programs", all_rows.clevr_programs, len(vocab.programs()))
        check_columns(path, {name: getattr(all_rows, name) for name in COLUMNS})
        self.hop, self.split, self.pool = pairs.hop, pairs.split, pairs.pool
        made = np.flatnonzero(all_rows.orig_idxs < 0)
        # Unlike the dataset's images, those of a suite's own pool can be edited pixel by pixel.
        is_skipped = without_pixel_edits & is_pixel_edit(all_rows.image_idxs[made])
        is_skipped &= parse_suite_pool(pairs.pool) is not None
        self.n_skipped, self.rows = int(is_skipped.sum()), made[~is_skipped]
        self.tests = all_rows.test[self.rows]
        self.answers, self.image_idxs = all_rows.answers[self.rows], all_rows.image_idxs[self.rows]
        self.question_families = all_rows.question_families[self.rows]
        self.question_lengths = all_rows.question_lengths[self.rows]
        self.program_lengths = all_rows.program_lengths[self.rows]
        self.clevr_programs = all_rows.clevr_programs[self.rows]
        self._questions, self._programs = all_rows.questions[self.rows], all_rows.programs[self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{len(self):,} questions that a suite made on {self.hop}/{self.split}>"

    def sentences(self) -> list[str]:
        """The sentences of all questions, as in the suite's JSON file."""
        return all_sentences(self, self._vocab)

    def blocks(self) -> Iterator[tuple[int, Ints, Ints]]:
        """All questions in one block: number of the first row, questions (N, Q), programs (N, P)."""
        yield 0, self._questions, self._programs
