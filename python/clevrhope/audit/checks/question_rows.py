"""The check of the remaining keys of question files in JSON.

The check for leaks compares the question, program, answer, image and family with HDF5. This one checks the
split and the row's number, the family's template, the needed relations, and the names of smaller sets.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.audit.folder import AuditFolder, SplitPlace
from clevrhope.audit.report import Check
from clevrhope.dataset.json_rows import open_lines
from clevrhope.dataset.split_files import SplitArrays, read_question_rows
from clevrhope.runtime.forms import COUNT, Fields, ListOf, check_form
from clevrhope.runtime.json_text import parse_json
from clevrhope.splits.hops import Hop

ROWS_AT_ONCE = 65_536

_MAX_HEAD = 1 << 16
"""Number of bytes read from the first line."""


def check_question_rows(folder: AuditFolder, hop: Hop, check: Check) -> None:
    """Checks the question files of a pair, after the check for leaks has read them.

    Raises:
        DatasetError: a file is missing or cannot be read.
    """
    templates = family_places(folder.templates.files())
    for split in folder.splits:
        path = folder.layout.questions_json(hop.name, split.name)
        if split.hop == hop and path.is_file() and folder.is_readable(path):
            with folder.open(split) as arrays:
                RowCheck(split, path, folder.layout.relative(path), templates, check).check(arrays)


def family_places(files: Sequence[tuple[str, bytes]]) -> list[tuple[str, int]]:
    """(file, index in the file) of each family in these template files."""
    return [
        (f"{name}.json", place)
        for name, content in files
        for place in range(len(parse_json(content, f"{name}.json")))
    ]


class RowCheck:
    """The rows of one question file."""

    def __init__(
        self, split: SplitPlace, path: Path, file: str, templates: Sequence[tuple[str, int]], check: Check
    ) -> None:
        self._split, self._path, self._file = split, path, file
        self._templates = templates
        """(file, place in the file) of each family."""
        self._check = check
        self._begin = f'{{"split": {json.dumps(split.name)}, "question_index": '.encode()
        self._written = cache(self._as_written)

    def check(self, arrays: SplitArrays) -> None:
        """Compares each row's keys with the arrays of the same split.

        Raises:
            DatasetError: a row is not a JSON object.
        """
        self._check_prefixes(np.asarray(arrays.attributes.get("prefixes", [])).tolist())
        # A row is parsed only if its bytes are not those that this package writes: there may be 20 million.
        wanted = zip(count(), self._wanted(arrays), read_question_rows(self._path), strict=False)
        for k, (family, needed), (line, row) in wanted:
            if not (row.startswith(b"%b%d," % (self._begin, k)) and self._written(family, needed) in row):
                self._compare(k, needed, parse_json(row, self._path, line=line))

    def _check_prefixes(self, wanted: Sequence[int]) -> None:
        """Checks that the file's `info` names the same smaller train sets as the arrays."""
        with open_lines(self._path) as file:
            head = file.readline(_MAX_HEAD).rstrip()
        if head.endswith(b"["):  # as in files of this package, which have one row per line
            info = parse_json(head + b"]}", self._path)
            check_form(info, Fields({"info": Fields({}, {"prefixes": ListOf(COUNT)})}), self._path)
            there = info["info"].get("prefixes", [])
            if there != wanted:
                self._check.fault(self._file, None, f"info.prefixes is not {wanted}, as in HDF5", there)

    def _wanted(self, arrays: SplitArrays) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Family and `relation_needed` of each row in HDF5."""
        for first in range(0, len(arrays), ROWS_AT_ONCE):
            families = arrays.columns["question_families"][first : first + ROWS_AT_ONCE].tolist()
            needed = arrays.tokens("relation_needed", first, ROWS_AT_ONCE).tolist()
            yield from zip(families, map(tuple, needed), strict=True)

    def _as_written(self, family: int, needed: tuple[int, ...]) -> bytes:
        """The part of a row between its answer and its program."""
        file, place = self._template(family) or ("", -1)
        return (
            f'"question_family_index": {family}, "template_filename": {json.dumps(file)}, '
            f'"template_index": {place}, "relation_needed": {json.dumps(_as_json(needed))}, "program": '
        ).encode()

    def _template(self, family: object) -> tuple[str, int] | None:
        if isinstance(family, int) and 0 <= family < len(self._templates):
            return self._templates[family]
        return None

    def _compare(self, k: int, needed: tuple[int, ...], row: Mapping[str, Any]) -> None:
        wanted: dict[str, object] = {"split": self._split.name, "question_index": k}
        # The check for leaks compares the family itself with HDF5, so this check goes by the one in JSON.
        template = self._template(row.get("question_family_index"))
        if template is not None:
            wanted["template_filename"], wanted["template_index"] = template
        for name, value in wanted.items():
            if row.get(name) != value:
                self._check.fault(self._file, k, f"{name} is not {value}", row.get(name))
        if row.get("relation_needed") != _as_json(needed):
            problem = f"relation_needed is not {row.get('relation_needed')}, as in JSON"
            self._check.fault(self._split.file, k, problem, _as_json(needed))


def _as_json(needed: Sequence[int]) -> list[bool]:
    """A row of the array in its JSON form, without the padding."""
    return [each == 1 for each in needed if each != -1]
