"""The comparison of question files in JSON with arrays in HDF5, for all kinds of questions.

Each kind of questions brings an encoder, which gives the arrays that rows of JSON should have, and the keys
that no array comes from. `question_encoder` and `row_keys` are those of questions about single images.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.report import Check, Found
from clevrhope.dataset.json_rows import open_lines
from clevrhope.dataset.scene_files import MISSING, PoolScenes
from clevrhope.dataset.split_files import SplitArrays, parse_question, read_question_rows
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import COUNT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json

ROWS_AT_ONCE = 8_192
"""Number of rows of a question file that are compared at once."""

_MAX_HEAD = 1 << 16
"""Number of bytes read from the first line."""

Families = Sequence[tuple[str, int]]
"""(template file, index in the file) of each family, by number."""


@dataclass(frozen=True)
class Compared:
    """The two files of the same questions."""

    path: Path
    json: str
    """Path of the question file below the folder."""
    h5: str
    """Path of the HDF5 file below the folder."""


@dataclass(frozen=True)
class Encoded:
    """N rows of a question file as the arrays that HDF5 should contain."""

    columns: Mapping[str, npt.NDArray[Any]]
    """Name -> (N,) or (N, W)."""
    faults: Iterable[Found] = ()
    """Faults of the rows themselves, by row in the file."""


@dataclass(frozen=True)
class RowKeys:
    """The keys of a row that are not encoded, with the bytes in which this package writes them."""

    values: Mapping[str, object]
    begin: bytes = b""
    middle: bytes = b""
    end: bytes = b""


Encoder = Callable[[Sequence[tuple[int, bytes]], int], Encoded]
"""Encodes numbered lines of JSON, of which the first has this row."""
Keys = Iterable[RowKeys]


def compare_json(
    files: Compared, arrays: SplitArrays, encode: Encoder, keys: Keys | None, check: Check
) -> None:
    """Compares each row of a question file with the arrays in HDF5, and with the keys that it must have.

    Raises:
        DatasetError: the question file cannot be read, or a row is not a question.
    """
    n = 0
    lines, wanted_keys = read_question_rows(files.path), iter(keys or ())
    while rows := list(islice(lines, ROWS_AT_ONCE)):
        encoded = encode(rows, n)
        check.add(files.json, encoded.faults)
        for name, wanted in encoded.columns.items():
            is_wide = name not in arrays.columns
            there = arrays.tokens(name, n, len(rows)) if is_wide else arrays.columns[name][n : n + len(rows)]
            differ = (there != wanted[: len(there)]).reshape(len(there), -1).any(axis=1)
            for k in np.flatnonzero(differ).tolist():
                # Rows are parsed only here, to describe the fault.
                text = parse_json(rows[k][1], files.path, line=rows[k][0]).get("question")
                problem = f"{name} is not {wanted[k].tolist()}, as in JSON"
                if is_wide:
                    check.fault(files.h5, n + k, f"{name} does not decode to the text in JSON", text)
                else:
                    check.fault(files.h5, n + k, problem, there[k].tolist())
        for k, row_keys, (line, row) in zip(range(len(rows)), wanted_keys, rows, strict=False):
            # A row is parsed only if its bytes are not those that this package writes: there may be millions.
            is_written = row.startswith(row_keys.begin) and row_keys.middle in row
            if not is_written or not row.endswith(row_keys.end):
                fields = parse_json(row, files.path, line=line)
                for name, value in row_keys.values.items():
                    if fields.get(name, "") != value:
                        problem = f"{name} is not {json.dumps(value)}, as in HDF5"
                        check.fault(files.json, n + k, problem, json.dumps(fields.get(name)))
        n += len(rows)
    if len(arrays) != n:
        problem = f"has {n} questions, but the HDF5 file has another number"
        check.fault(files.json, None, problem, len(arrays))


def question_encoder(
    reader: AuditReader,
    files: Compared,
    arrays: SplitArrays,
    pool: PoolScenes,
    *,
    numbered: bool = True,
) -> Encoder:
    """The encoder of questions about single images.

    `numbered` says whether `orig_idxs` are the numbers of rows in the question file.
    """
    widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]

    def encode(rows: Sequence[tuple[int, bytes]], first: int) -> Encoded:
        try:
            words, programs, numbers, filenames = reader.encode([row for _, row in rows], *widths)
        except ValueError as error:
            for k, row in enumerate(rows):
                parse_question(files.path, first + k, *row)  # raises an error that names the row
            raise DatasetError(f"{files.path}: {error}") from error
        answers, image_idxs, families = numbers
        scenes = pool.rows(image_idxs).tolist()
        names = [
            (first + k, f"names another image than its scene does, {pool.filenames[scene]}", name)
            for k, (scene, name) in enumerate(zip(scenes, filenames, strict=True))
            if scene != MISSING and name != pool.filenames[scene]
        ]
        columns: dict[str, npt.NDArray[Any]] = {
            "answers": answers,
            "image_idxs": image_idxs,
            **({"orig_idxs": np.arange(first, first + len(rows))} if numbered else {}),
            "question_families": families,
            "question_lengths": words[1],
            "program_lengths": programs[1],
            "questions": words[0],
            "programs": programs[0],
        }
        return Encoded(columns, names)

    return encode


def family_places(files: Sequence[tuple[str, bytes]]) -> list[tuple[str, int]]:
    """(file, index in the file) of each family in these template files."""
    return [
        (f"{name}.json", place)
        for name, content in files
        for place in range(len(parse_json(content, f"{name}.json")))
    ]


def row_keys(
    split: str, arrays: SplitArrays, families: Families, more: Iterable[Mapping[str, object]] | None = None
) -> Iterator[RowKeys]:
    """The keys of rows of questions about single images, which beside an array's values name its template.

    `more` are further keys, at the end of each row.
    """

    @cache
    def of_family(family: int, needed: tuple[int, ...]) -> tuple[Mapping[str, object], bytes]:
        needed_alone = {"relation_needed": [bool(each) for each in needed if each >= 0]}
        if not 0 <= family < len(families):
            return needed_alone, b""
        file, place = families[family]
        values = {"template_filename": file, "template_index": place, **needed_alone}
        return values, json.dumps({"question_family_index": family, **values})[1:-1].encode()

    begin = f'{{"split": {json.dumps(split)}, "question_index": '.encode()
    rest = iter(more) if more is not None else None
    for first in range(0, len(arrays), ROWS_AT_ONCE):
        numbers = arrays.columns["question_families"][first : first + ROWS_AT_ONCE].tolist()
        needed = arrays.tokens("relation_needed", first, ROWS_AT_ONCE).tolist()
        for k, (family, relations) in enumerate(zip(numbers, needed, strict=True), first):
            values, middle = of_family(family, tuple(relations))
            ends = next(rest, {}) if rest is not None else {}
            keys = {"split": split, "question_index": k, **values, **ends}
            end = b", " + json.dumps(ends)[1:].encode() if ends else b""
            yield RowKeys(keys, b"%b%d, " % (begin, k), middle, end)


def compare_prefixes(files: Compared, arrays: SplitArrays, check: Check) -> None:
    """Checks that the question file's `info` names the same smaller train sets as the arrays.

    Raises:
        DatasetError: the file cannot be read.
    """
    wanted = np.asarray(arrays.attributes.get("prefixes", [])).tolist()
    with open_lines(files.path) as file:
        head = file.readline(_MAX_HEAD).rstrip()
    if head.endswith(b"["):  # as in files of this package, which have one row per line
        info = parse_json(head + b"]}", files.path)
        check_form(info, Fields({"info": Fields({}, {"prefixes": ListOf(COUNT)})}), files.path)
        there = info["info"].get("prefixes", [])
        if there != wanted:
            check.fault(files.json, None, f"info.prefixes is not {wanted}, as in HDF5", there)
