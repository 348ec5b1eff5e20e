"""What suites add to a dataset: questions in its train sets, and columns in predictions on their pairs.

In a train set with added questions of a suite, one follows every `EVERY` of its own.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.layout import Layout
from clevrhope.dataset.question_kinds import PAIRS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.suite_pools import is_pixel_edit, parse_suite_pool
from clevrhope.dataset.vocab import Vocab
from clevrhope.runtime.atomic import record
from clevrhope.splits.kinds import TRAIN

DIGITS = 12
"""Length of the digests in rows of predictions."""

EVERY = 10
"""One question is added after this many questions of the train set."""

_PREFIX = f"{TRAIN.name}_"


def augmented_split(suite: str) -> str:
    """The name of the train set with added questions of a suite, such as train_carets."""
    return _PREFIX + suite


def suite_of_split(split: str) -> str | None:
    """The suite whose questions were added to a train set; None for `train` itself and for other splits."""
    return split.removeprefix(_PREFIX) if split.startswith(_PREFIX) else None


def n_augmented(n: int) -> int:
    """Number of rows that hold the first n questions of a train set and the questions added to them."""
    return n + n // EVERY


def rows_of_own(n: int) -> npt.NDArray[np.int64]:
    """(n,) the rows of the first n questions of the train set."""
    own = np.arange(n, dtype=np.int64)
    return own + own // EVERY


def rows_of_added(n: int) -> npt.NDArray[np.int64]:
    """(n // EVERY,) the rows of the questions that were added to the first n of the train set."""
    return np.arange(n // EVERY, dtype=np.int64) * (EVERY + 1) + EVERY


def suite_columns(suite: str, pairs: Path) -> dict[str, str]:
    """The columns by which predictions identify the suite and the file of its pairs.

    Raises:
        DatasetError: the file is missing or cannot be read.
    """
    return {"suite": suite, "suite_sha256": record(pairs).sha256[:DIGITS]}


class SuiteQuestions(NamedTuple):
    """The questions that a suite made on a split, without those of the split itself."""

    table: QuestionTable
    rows: npt.NDArray[np.int64]
    """(N,) each question's row in the suite's file, which also holds the questions of the split."""
    n_skipped: int
    """Number of questions about images edited pixel by pixel, if these are left out."""


def open_suite(
    layout: Layout, hop: str, suite: str, split: str, *, vocab: Vocab, without_pixel_edits: bool = False
) -> SuiteQuestions:
    """Reads the questions that a suite made on a split.

    Args:
        layout: the dataset.
        hop: the HOP.
        suite: the suite.
        split: the split.
        vocab: the suite's vocabulary, which must contain all tokens and answers.
        without_pixel_edits: leave out questions about images that no scene describes.

    Raises:
        DatasetError: the file is missing, cut off, or not a file of pairs, or a token is not in `vocab`.
    """
    pairs = read_table(layout.suite_h5(hop, suite, split), PAIRS, vocab=vocab).check()
    made = np.flatnonzero(pairs.orig_idxs < 0)
    # Unlike the dataset's images, those of a suite's own pool can be edited pixel by pixel.
    is_skipped = np.zeros(len(made), dtype=np.bool_)
    if without_pixel_edits and parse_suite_pool(pairs.pool) is not None:
        is_skipped = is_pixel_edit(pairs.image_idxs[made])
    rows = made[~is_skipped]
    return SuiteQuestions(pairs.take(rows), rows, int(is_skipped.sum()))
