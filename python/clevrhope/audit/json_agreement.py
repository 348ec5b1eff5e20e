"""The comparison of question files in JSON with arrays in HDF5, for all kinds of questions.

Each kind of questions brings an encoder, which gives the arrays that rows of JSON should have, and the keys
that no array comes from. `question_encoder` and `row_keys` are those of questions about single images.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clevrhope._core import AuditReader
from clevrhope.audit.report import CheckResult, Found
from clevrhope.dataset.json_rows import open_lines
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.scene_files import MISSING, PoolScenes
from clevrhope.dataset.split_files import SplitArrays, check_question, read_question_rows
from clevrhope.errors import DatasetError
from clevrhope.runtime.forms import COUNT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json

ROWS_AT_ONCE = 8_192
"""Number of rows of a question file that are compared at once."""

_MAX_HEAD = 1 << 16
"""Number of bytes read from the first line."""

Families = Sequence[tuple[str, int]]
"""(template file, index in the file) of each family, by number."""

RowKeys = tuple[Mapping[str, object], Sequence[bytes]]
"""The keys of a row that are not encoded, and the bytes in which this package writes them."""

Columns = Mapping[str, npt.NDArray[Any]]
"""N rows of a question file as the arrays that HDF5 should contain: name -> (N,) or (N, W)."""

Encoder = Callable[[Sequence[tuple[int, bytes]], int], tuple[Columns, Iterable[Found]]]
"""Encodes numbered lines of JSON, of which the first has this row; also gives the faults of rows."""


def compare_json(
    layout: Layout,
    path: Path,
    arrays: SplitArrays,
    encode: Encoder,
    keys: Iterable[RowKeys],
    check: CheckResult,
) -> None:
    """Compares each row of a question file with the arrays in HDF5, and with the keys that it must have.

    The `info` of a file of this package names the same smaller train sets as the arrays.

    Raises:
        DatasetError: the question file cannot be read, or a row is not a question.
    """
    json_file, h5 = layout.relative(path), layout.relative(arrays.path)
    prefixes = np.asarray(arrays.attributes.get("prefixes", [])).tolist()
    with open_lines(path) as file:
        head = file.readline(_MAX_HEAD).rstrip()
    if head.endswith(b"["):  # as in files of this package, which have one row per line
        info = parse_json(head + b"]}", path)
        check_form(info, Fields({}, {"info": Fields({}, {"prefixes": ListOf(COUNT)})}), path)
        stated = info.get("info", {}).get("prefixes", [])
        if stated != prefixes:
            check.fault(json_file, None, f"info.prefixes is not {prefixes}, as in HDF5", stated)
    n = 0
    lines = read_question_rows(path)
    wanted_keys = iter(keys)
    while rows := list(islice(lines, ROWS_AT_ONCE)):
        columns, faults = encode(rows, n)
        check.add(json_file, faults)
        for name, wanted in columns.items():
            is_wide = name not in arrays.columns
            end = n + len(rows)
            stored = arrays.tokens(name, n, len(rows)) if is_wide else arrays.columns[name][n:end]
            differs = (stored != wanted[: len(stored)]).reshape(len(stored), -1).any(axis=1)
            for k in np.flatnonzero(differs).tolist():
                if is_wide:  # the row is parsed only to describe the fault
                    text = parse_json(rows[k][1], path, line=rows[k][0]).get("question")
                    check.fault(h5, n + k, f"{name} does not decode to the text in JSON", text)
                else:
                    problem = f"{name} is not {wanted[k].tolist()}, as in JSON"
                    check.fault(h5, n + k, problem, stored[k].tolist())
        for k, (values, written), (line, row) in zip(range(len(rows)), wanted_keys, rows, strict=False):
            # A row is parsed only if its bytes are not those that this package writes: there may be millions.
            if not all(part in row for part in written):
                fields = parse_json(row, path, line=line)
                for name, value in values.items():
                    if fields.get(name, "") != value:
                        problem = f"{name} is not {json.dumps(value)}, as in HDF5"
                        check.fault(json_file, n + k, problem, json.dumps(fields.get(name)))
        n += len(rows)
    if len(arrays) != n:
        problem = f"has {n} questions, but the HDF5 file has another number"
        check.fault(json_file, None, problem, len(arrays))


def question_encoder(
    reader: AuditReader, path: Path, arrays: SplitArrays, pool: PoolScenes, *, numbered: bool = True
) -> Encoder:
    """The encoder of questions about single images, for the question file at `path`.

    `numbered` says whether `orig_idxs` are the numbers of rows in the question file.
    """
    widths = [arrays.tokens(name, 0, 1).shape[1] for name in ("questions", "programs")]

    def encode(rows: Sequence[tuple[int, bytes]], first: int) -> tuple[Columns, Iterable[Found]]:
        try:
            words, programs, numbers, filenames = reader.encode([row for _, row in rows], *widths)
        except ValueError as error:
            for k, row in enumerate(rows):
                check_question(path, first + k, *row)  # raises an error that names the row
            raise DatasetError(f"{path}: {error}") from error
        answers, image_idxs, families = numbers
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
        scenes = pool.rows(image_idxs).tolist()
        names = [
            (first + k, f"names another image than its scene does, {pool.filenames[scene]}", name)
            for k, (scene, name) in enumerate(zip(scenes, filenames, strict=True))
            if scene != MISSING and name != pool.filenames[scene]
        ]
        return columns, names

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

    `more` are further keys of each row.
    """

    @cache
    def of_family(family: int, needed: tuple[int, ...]) -> RowKeys:
        needed_alone = {"relation_needed": [bool(each) for each in needed if each >= 0]}
        if not 0 <= family < len(families):
            return needed_alone, []
        file, place = families[family]
        values = {"template_filename": file, "template_index": place, **needed_alone}
        return values, [_written({"question_family_index": family, **values})]

    rest = iter(more) if more is not None else None
    for first in range(0, len(arrays), ROWS_AT_ONCE):
        numbers = arrays.columns["question_families"][first : first + ROWS_AT_ONCE].tolist()
        needed = arrays.tokens("relation_needed", first, ROWS_AT_ONCE).tolist()
        for k, (family, relations) in enumerate(zip(numbers, needed, strict=True), first):
            begin = {"split": split, "question_index": k}
            values, written = of_family(family, tuple(relations))
            end = next(rest, {}) if rest is not None else {}
            yield {**begin, **values, **end}, [_written(begin) + b",", *written, _written(end) + b"}"]


def _written(keys: Mapping[str, object]) -> bytes:
    """Keys and values as they are written in a row."""
    return json.dumps(keys)[1:-1].encode()
