"""The HDF5 file of questions about sets of up to five images (COVR, Bogin et al. 2021), written and read.

The file is that of a split (`questions_h5`), with these differences:

| dataset     | shape  | type  | holds |
|-------------|--------|-------|-------|
| image_idxs  | (N, 5) | int32 | scene indices in the split's pool, -1 after the last image |
| orig_idxs   | (N,)   | int32 | position of the question in the JSON file |
| question_families | (N,) | int32 | the number of its template |
| structures  | (N,)   | int8  | the number of its subgraph's form in `STRUCTURES` |
| sources     | (N,)   | int8  | position in the row of the first image that shows what is described |
| cut         | (N,)   | int8  | whether the answer changes or is lost without the last leaf; -1 if exempt |
| pair_places | (N,)   | int8  | where the held-out pair occurs: a number in `PAIR_PLACES` |
| properties  | (N, R) | int8  | for each property that splits are made by, whether the question has it |
| terms       | (N,)   | int64 | one bit for each term, set if the question has it |

`relation_needed` is absent. Two questions with the same text and two answers are rows 2k and 2k + 1.

A question without a leaf is exempt. Attributes besides `hop`, `split` and `pool`: `templates`,
`property_names` and `term_names`, lists of names by number; and `skipped`, the number of pairs of questions
per template that no attempt found on the split's windows of scenes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from clevrhope.dataset.hdf5 import Array, Schema, reading_hdf5
from clevrhope.dataset.questions_h5 import (
    QUESTIONS,
    Ints,
    QuestionRows,
    check_columns,
    check_numbers,
    read_rows,
)
from clevrhope.errors import DatasetError

MAX_IMAGES = 5
"""The most images of a question."""

ABSENT = -1
"""Fills a row of scene indices after the last image."""

STRUCTURES = ("single", "edge", "chain", "v")
"""Forms of a subgraph: one object, two, three in a row, and one with relations to two others."""

PAIR_PLACES = ("nowhere", "question", "distractor")
"""Where a held-out pair can occur: nowhere, in the question, or only in distractor images."""

Bytes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SetQuestionArrays(QuestionRows):
    """Questions about sets of images, one per row; shapes and meanings as in the table above."""

    orig_idxs: Ints
    structures: Bytes
    sources: Bytes
    cut: Bytes
    pair_places: Bytes
    properties: Bytes
    terms: npt.NDArray[np.int64]


@dataclass(frozen=True)
class SetAttributes:
    """The attributes of a file with questions about sets of images."""

    hop: str
    split: str
    pool: str
    templates: tuple[str, ...]
    property_names: tuple[str, ...]
    term_names: tuple[str, ...]
    skipped: tuple[int, ...] = ()
    """Pairs of questions per template that could not be found; () if the file does not record them."""


_COLUMN = Array("iu")
_LISTS = ("templates", "property_names", "term_names")
_RANGES = {"structures": (0, len(STRUCTURES)), "cut": (-1, 2), "pair_places": (0, len(PAIR_PLACES))}
"""The least number of each column, and the limit that its numbers stay below."""

_UNCHECKED = ("questions", "programs", "properties")

SET_COLUMNS = ("structures", "sources")
"""Columns that a loop over the questions needs besides those that every question file has."""

SET_QUESTIONS = Schema(
    "a file of questions about sets of images",
    {
        **{name: each for name, each in QUESTIONS.arrays.items() if name != "relation_needed"},
        **dict.fromkeys(("structures", "sources", "cut", "pair_places", "terms"), _COLUMN),
        "image_idxs": Array("iu", (MAX_IMAGES,), in_blocks=True),
        "properties": Array("iu", (None,), in_blocks=True),
    },
    names=QUESTIONS.names,
)
"""The schema of the file."""


def read_set_questions(path: Path) -> SetQuestionArrays:
    """Reads all questions of a file; raises the errors of `open_hdf5`."""
    with reading_hdf5(path, SET_QUESTIONS) as file:
        return _questions(file, 0, len(file["answers"]))


def read_set_question_blocks(path: Path, *, n_rows: int) -> Iterator[SetQuestionArrays]:
    """Reads all questions of a file in order, `n_rows` at a time, checked by `check_set_columns`."""
    with reading_hdf5(path, SET_QUESTIONS) as file:
        attributes = set_attributes(path, file)
        n = len(file["answers"])
        for begin in range(0, n, n_rows):
            block = _questions(file, begin, min(begin + n_rows, n))
            checked = {name: rows for name, rows in block.arrays().items() if name not in _UNCHECKED}
            check_set_columns(path, checked, attributes)
            yield block


def read_set_scenes_in_use(path: Path) -> tuple[str, Ints]:
    """A file's pool, and the sorted indices of its scenes, each once; raises the errors of `open_hdf5`."""
    with reading_hdf5(path, SET_QUESTIONS) as file:
        indices: Ints = np.unique(file["image_idxs"][:])
        return str(file.attrs["pool"]), indices[indices != ABSENT]


def read_set_attributes(path: Path) -> SetAttributes:
    """Reads a file's attributes; raises the errors of `open_hdf5`, also where a list of names is missing."""
    with reading_hdf5(path, SET_QUESTIONS) as file:
        return set_attributes(path, file)


def set_attributes(path: Path, file: h5py.File) -> SetAttributes:
    """The attributes of an open file.

    Raises:
        DatasetError: a list of names is missing.
    """
    for name in _LISTS:
        if name not in file.attrs:
            raise DatasetError(f"{path}: it has no attribute {name}; {SET_QUESTIONS.remedy}")
    hop, split, pool = (str(file.attrs[name]) for name in SET_QUESTIONS.names)
    lists = [tuple(map(str, file.attrs[name])) for name in _LISTS]
    skipped = tuple(map(int, file.attrs.get("skipped", ())))
    if skipped and len(skipped) != len(lists[0]):
        raise DatasetError(
            f"{path}: its attribute skipped has {len(skipped)} numbers; expected {len(lists[0])}, one for "
            f"each template; {SET_QUESTIONS.remedy}"
        )
    templates, property_names, term_names = lists
    return SetAttributes(hop, split, pool, templates, property_names, term_names, skipped)


def check_set_columns(
    path: Path, columns: Mapping[str, npt.NDArray[np.integer[Any]]], attributes: SetAttributes
) -> None:
    """Checks that each column's numbers are in range.

    Args:
        path: the file.
        columns: some of its arrays with one number per question, and `image_idxs`.
        attributes: the attributes of the file.

    Raises:
        DatasetError: a number is not in its range; names the array and the first place.
    """
    ranges = {**_RANGES, "question_families": (0, len(attributes.templates))}
    for name, column in columns.items():
        if name in ranges:
            least, limit = ranges[name]
            check_numbers(path, name, column, limit, least=least)
        elif name not in ("image_idxs", "sources", "terms"):
            check_columns(path, {name: column})
    _check_image_idxs(path, columns["image_idxs"])
    if "sources" in columns:
        _check_sources(path, columns["sources"], columns["image_idxs"])
    if "terms" in columns:
        _check_terms(path, columns["terms"], len(attributes.term_names))


def _check_image_idxs(path: Path, image_idxs: npt.NDArray[Any]) -> None:
    """Checks that each row (N, 5) holds one to five different scenes, followed by `ABSENT`.

    Raises:
        DatasetError: a row does not; names the first.
    """
    there = image_idxs >= 0
    is_padded = (image_idxs == ABSENT) | there
    in_order = np.sort(image_idxs, axis=1)
    twice = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)
    wrong = (
        ~is_padded.all(axis=1) | ~there[:, 0] | (there[:, 1:] > there[:, :-1]).any(axis=1) | twice.any(axis=1)
    )
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DatasetError(
            f"{path}: image_idxs[{row}] is {image_idxs[row].tolist()}; expected one to {MAX_IMAGES} "
            f"different scenes, then {ABSENT}; {SET_QUESTIONS.remedy}"
        )


def _check_sources(path: Path, sources: npt.NDArray[Any], image_idxs: npt.NDArray[Any]) -> None:
    """Checks that each source is the position of an image in its row.

    Raises:
        DatasetError: a source is not; names the first.
    """
    n_images = (image_idxs >= 0).sum(axis=1)
    wrong = (sources < 0) | (sources >= n_images)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DatasetError(
            f"{path}: sources[{row}] is {sources[row]}; expected the place of an image, 0 to "
            f"{n_images[row] - 1}; {SET_QUESTIONS.remedy}"
        )


def _check_terms(path: Path, terms: npt.NDArray[Any], n_terms: int) -> None:
    wrong = terms >> min(n_terms, 63) != 0  # also true for negative numbers
    if n_terms < 64 and wrong.any():
        row = int(np.argmax(wrong))
        raise DatasetError(
            f"{path}: terms[{row}] is {terms[row]}; expected bits of the {n_terms} term_names alone; "
            f"{SET_QUESTIONS.remedy}"
        )


def _questions(file: h5py.File, begin: int, end: int) -> SetQuestionArrays:
    names = (each.name for each in fields(SetQuestionArrays))
    return SetQuestionArrays(**{name: read_rows(file, name, begin, end) for name in names})
