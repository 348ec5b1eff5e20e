"""What suites add to a dataset: questions in its train sets, and columns in predictions on their pairs.

In a train set with added questions of a suite, one follows every `EVERY` of its own.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

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
