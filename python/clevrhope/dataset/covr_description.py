"""Describes the questions of a split about sets of images, and digests the rows that a model trains on."""

import hashlib
from pathlib import Path

import numpy as np

from clevrhope.dataset.question_kinds import SETS
from clevrhope.dataset.question_table import read_table
from clevrhope.dataset.questions_h5 import COLUMN_CHUNK_ROWS
from clevrhope.splits.covr.description import Description

_DIGESTED = ("questions", "programs", "answers", "image_idxs")
"""The inputs that a model gets for a question, and the answer that it learns."""


def read_description(path: Path, *, limit: int | None = None) -> Description:
    """Reads the properties and terms of a split's questions, or of the first `limit`.

    Raises:
        DatasetError: the file is missing, or does not hold questions about sets of images.
    """
    table = read_table(path, SETS)
    rows = slice(limit)
    return Description(
        table.split, table.properties[rows], table.terms[rows], table.property_names, table.term_names
    )


def rows_sha256(path: Path, n_rows: int) -> str:
    """SHA-256 of a split's first questions; it stays the same for these when the file grows.

    Raises:
        DatasetError: as for `read_description`.
    """
    digest, left = hashlib.sha256(), n_rows
    for block in read_table(path, SETS).parts(COLUMN_CHUNK_ROWS):
        for name in _DIGESTED:
            column = np.ascontiguousarray(getattr(block, name)[:left])
            digest.update(column.astype(np.dtype("<i4")).tobytes())
        left -= len(block)
        if left <= 0:
            break
    return digest.hexdigest()
