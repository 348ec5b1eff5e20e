"""The HDF5 file of a train set with added questions of a suite: one after every `EVERY` of its own.

The file is that of a split (`questions_h5`), with the numbers of the suite's vocabulary and these extra
columns:

| dataset     | shape | type  | holds |
|-------------|-------|-------|-------|
| test        | (N,)  | int16 | the number of the test that an added question belongs to |
| tier        | (N,)  | int8  | 0 for a test in the dataset's own words and functions, 1 for one beyond them |
| relation    | (N,)  | int8  | how its answer relates to its original's: 0 same, 1 flip, 2 is, 3 positive |
| value       | (N,)  | int32 | for `is`: the number of the original's answer that makes it yes; else -1 |
| source_idxs | (N,)  | int32 | the row in train.h5 of the question, or of an added question's original |
| clevr_programs | (N, C) | int32 | as in a file of pairs (`pairs_h5`) |

The first four are -1 for the train set's own questions.

Attributes besides those of a split: `suite`, `tests` (names by number), `types` (the question type of each
test; "" for none), `fingerprint` (SHA-256 of the suite's own files).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.dataset.pairs_h5 import PAIRS
from clevrhope.dataset.questions_h5 import QUESTIONS, Ints, QuestionArrays
from clevrhope.splits.kinds import TRAIN

EVERY = 10
"""One question is added after this many questions of the train set."""

_PREFIX = f"{TRAIN.name}_"


@dataclass(frozen=True)
class AugmentedArrays(QuestionArrays):
    """Questions of a train set, one per row; shapes and meanings as in the table above."""

    test: npt.NDArray[np.int16]
    tier: npt.NDArray[np.int8]
    relation: npt.NDArray[np.int8]
    value: Ints
    source_idxs: Ints
    clevr_programs: Ints


AUGMENTED_COLUMNS = ("test", "tier", "relation", "value", "source_idxs")
"""The columns with one number per question that a split does not have."""

AUGMENTED = Schema(
    "a train set with questions of a suite",
    {
        **QUESTIONS.arrays,
        **dict.fromkeys(AUGMENTED_COLUMNS, Array("iu")),
        "clevr_programs": PAIRS.arrays["clevr_programs"],
    },
    names=(*QUESTIONS.names, "suite", "fingerprint"),
)
"""The schema of the file."""


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


def read_fingerprint(path: Path) -> str:
    """SHA-256 of the files of the suite whose questions were added; raises the errors of `open_hdf5`."""
    with reading_hdf5(path, AUGMENTED) as file:
        return str(file.attrs["fingerprint"])
