"""The official data in HDF5, as CLOSURE's preprocessing writes it.

Arrays of a question file: questions, questions_len, programs, programs_len (int32, padded with 0),
image_idxs, orig_idxs, question_families, answers, types (integers). Families are places in a template file
that no column names, and types are numbered anew in each run, so neither is read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.dataset.hdf5 import Array, Schema, open_hdf5, reading_hdf5
from clevrhope.dataset.source_images import CHANNELS_FIRST, ImageRecord
from clevrhope.dataset.vocab import Vocab
from clevrhope.errors import DatasetError
from clevrhope.sources.official.names import FIRST_RUN, PLAIN, OfficialFile
from clevrhope.sources.source import NO_FAMILY, Columns, Numbering, SourceSplit, image_numbers

ROWS_AT_ONCE = 65_536

_IMAGES = "image_idxs"
QUESTIONS = Schema(
    "a question file of the official CLEVR-HOPE",
    {
        name: Array("iu", (None,) if name in ("questions", "programs") else (), in_blocks=True)
        for name in ("questions", "questions_len", "programs", "programs_len", _IMAGES, "answers")
    },
    remedy="download it again",
)


def hdf5_split(
    file: OfficialFile, vocab: Vocab, of_images: Path | None, features: Path | None
) -> SourceSplit:
    """The split in a question file.

    Args:
        file: the question file.
        vocab: the numbers of its words, functions and answers.
        of_images: the file with its images, as the array `features`.
        features: the file of detector features of its images.

    Raises:
        DatasetError: the file is not one of the official data; says what was found and expected.
    """
    with reading_hdf5(file.path, QUESTIONS) as opened:
        n, note = _plain(file, opened)
    found = None
    if of_images is not None:
        with reading_hdf5(of_images, CHANNELS_FIRST) as opened:
            found = ImageRecord("features", (of_images.absolute(),), (len(opened["features"]),))

    def blocks(numbering: Numbering) -> Iterator[Columns]:
        opened = open_hdf5(file.path, QUESTIONS)
        try:
            for first in range(0, n, ROWS_AT_ONCE):
                yield _columns(file, opened, first, min(first + ROWS_AT_ONCE, n), vocab)
        finally:
            opened.close()

    return file.split_source(n, blocks, lambda: found, note=note, features=features, vocab=vocab)


def _plain(file: OfficialFile, opened: Any) -> tuple[int, str]:
    """How many questions of a file belong to the published set, and how that was found out."""
    n = int(opened["answers"].shape[0])
    if file.number not in FIRST_RUN or file.split not in PLAIN:
        return n, ""
    plain, all_of_them = PLAIN[file.split]
    if n <= plain:
        return n, ""
    if n == all_of_them:
        return plain, f"the first {plain:,} of {n:,} questions; paired ones follow"
    images = opened[_IMAGES][:].astype(np.int64)
    falls = np.flatnonzero(np.diff(images) < 0)  # paired questions begin again with the first images
    first = min(int(falls[0]) + 1 if len(falls) else n, plain)
    return first, f"the first {first:,} of {n:,} questions, by the order of images; paired ones follow"


def _columns(file: OfficialFile, opened: Any, first: int, stop: int, vocab: Vocab) -> Columns:
    def read(name: str, limit: int, has: str = "its vocab.json") -> Any:
        numbers = opened[name][first:stop]
        if numbers.size and (numbers.min() < 0 or numbers.max() >= limit):
            row = int(np.argwhere((numbers < 0) | (numbers >= limit))[0][0])
            raise DatasetError(
                f"{file.path}: {name}[{first + row}] has a number that is not 0 to {limit - 1}, which {has} "
                "has"
            )
        return numbers.astype(np.int32)

    names = {
        "questions": len(vocab.questions()),
        "programs": len(vocab.programs()),
        "answers": len(vocab.answers()),
    }
    columns = {name: read(name, limit) for name, limit in names.items()}
    for name in ("questions", "programs"):
        width = columns[name].shape[1]
        columns[f"{name[:-1]}_lengths"] = read(f"{name}_len", width + 1, f"an array of {width} columns")
    images = opened[_IMAGES][first:stop]
    columns["image_idxs"] = image_numbers(images, lambda k: f"{file.path}: {_IMAGES}[{first + k}]")
    columns["question_families"] = np.full(stop - first, NO_FAMILY, dtype=np.int32)
    return columns


FRCNN = "_vg_frcnn.h5"
"""How the names of files of detector features end."""


def not_of_images(path: Path) -> str:
    """Why an HDF5 file has no images, `features` (N, 3, height, width) uint8; "" if it has them."""
    try:
        with reading_hdf5(path, CHANNELS_FIRST):
            return ""
    except DatasetError as error:
        return str(error)
