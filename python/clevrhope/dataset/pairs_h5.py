"""The HDF5 file of a suite's pairs on one split: writing and reading both questions of each pair.

The file is that of a split (`questions_h5`) with 2 K rows for K pairs. The original of a pair comes before
its partner. There are these extra columns:

| dataset    | shape | type  | holds |
|------------|-------|-------|-------|
| pair_idxs  | (2K,) | int32 | the pair's number |
| role       | (2K,) | int8  | 0 for the original, 1 for the partner |
| test       | (2K,) | int16 | the test's number; the attribute `tests` has the names |
| tier       | (2K,) | int8  | 0 for a test in the dataset's own words and functions, 1 for one beyond them |
| cell       | (2K,) | int8  | 2 if the original mentions the held-out pair, plus 1 if the partner does |
| touches    | (2K,) | int8  | 1 if the image shows the held-out pair, plus 2 if the answer completes it |
| relation   | (2K,) | int8  | relation between the answers: 0 same, 1 flip, 2 is, 3 positive |
| value      | (2K,) | int32 | for `is`: the original's answer for which the partner is yes; else -1 |
| orig_idxs  | (2K,) | int32 | the question's row in the split's own file; -1 for one that the suite made |
| clevr_programs | (2K, P) | int32 | for a program with functions beyond CLEVR's, an equivalent; or zeros |

Attributes of the file, besides those of a split: `suite`, `tests`, `types` (the question type of each test;
"" for none), `controls` (for each test, the one for which its pairs are controls; "" for none), `n_originals`
(questions of the split when the pairs were made), `fingerprint` (SHA-256 of the suite's own files), `origin`
("search" if originals of the dataset's families were also searched for) and `per_cell` (how many pairs the
search should give each cell of a test).
"""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.dataset.questions_h5 import QUESTIONS, Ints, QuestionArrays, check_numbers
from clevrhope.runtime.atomic import record

Bytes = npt.NDArray[np.int8]

DIGITS = 12
"""Length of the digests in rows of predictions."""

TIERS = ("in", "beyond")
"""Names of tiers by their numbers."""

ROLES = ("original", "partner")
"""Names of roles by their numbers."""

RELATIONS = ("same", "flip", "is", "positive")
"""Names of relations by their numbers."""


@dataclass(frozen=True)
class PairArrays(QuestionArrays):
    """Questions of pairs, one per row; shapes and meanings as in the table above."""

    pair_idxs: Ints
    role: Bytes
    test: npt.NDArray[np.int16]
    tier: Bytes
    cell: Bytes
    touches: Bytes
    relation: Bytes
    value: Ints
    orig_idxs: Ints
    clevr_programs: Ints


CLEVR_PROGRAMS = "clevr_programs"

_COLUMN = Array("iu")
_TOKENS = Array("iu", (None,), in_blocks=True)
_OWN = [each.name for each in fields(PairArrays) if each.name not in QuestionArrays.__dataclass_fields__]

PAIRS = Schema(
    "a file of paired tests",
    {**QUESTIONS.arrays, **dict.fromkeys(_OWN, _COLUMN), CLEVR_PROGRAMS: _TOKENS},
    names=(*QUESTIONS.names, "suite"),
)
"""The schema of a file of pairs."""


@dataclass(frozen=True)
class PairFile:
    """The pairs of a suite on one split."""

    suite: str
    hop: str
    split: str
    pool: str
    tests: tuple[str, ...]
    """Names of the tests by number."""
    types: tuple[str, ...]
    """The question type of each test; "" for none."""
    controls: tuple[str, ...]
    """For each test, the one for which its pairs are controls, on the same originals; "" for none."""
    n_originals: int
    """Number of questions in the split when the pairs were made."""
    rows: PairArrays

    def __len__(self) -> int:
        return len(self.rows) // 2


def read_pairs(path: Path) -> PairFile:
    """Reads all pairs of a file.

    Raises:
        DatasetError: the file is missing, damaged or not a file of paired tests.
    """
    with reading_hdf5(path, PAIRS) as file:
        rows = PairArrays(**{each.name: file[each.name][:] for each in fields(PairArrays)})
        attributes = file.attrs
        tests = tuple(map(str, attributes["tests"]))
        return PairFile(
            **{name: str(attributes[name]) for name in ("suite", "hop", "split", "pool")},
            tests=tests,
            controls=tuple(map(str, attributes.get("controls", ("",) * len(tests)))),
            types=tuple(map(str, attributes["types"])),
            n_originals=int(attributes["n_originals"]),
            rows=rows,
        )


def read_search(path: Path) -> tuple[str, int] | None:
    """How a suite's pairs were searched for: `origin` and `per_cell`; None for pairs on edited images.

    Raises:
        DatasetError: as for `read_pairs`.
    """
    with reading_hdf5(path, PAIRS) as file:
        if "origin" not in file.attrs:
            return None
        return str(file.attrs["origin"]), int(file.attrs["per_cell"])


def suite_columns(suite: str, pairs: Path) -> dict[str, str]:
    """The columns by which predictions identify the suite and the file of its pairs.

    Raises:
        DatasetError: the file is missing or cannot be read.
    """
    return {"suite": suite, "suite_sha256": record(pairs).sha256[:DIGITS]}


def check_pairs(path: Path, pairs: PairFile, *, n_answers: int) -> None:
    """Checks that numbers which stand for names are in range; `n_answers` is the vocabulary's.

    Raises:
        DatasetError: one is out of range; names the file and the first such number.
    """
    limits = {
        "answers": n_answers,
        "role": len(ROLES),
        "test": min(len(pairs.tests), len(pairs.types)),
        "tier": len(TIERS),
        "cell": 4,
        "relation": len(RELATIONS),
    }
    for name, limit in limits.items():
        check_numbers(path, name, getattr(pairs.rows, name), limit)
    check_numbers(path, "value", pairs.rows.value, n_answers, least=-1)
