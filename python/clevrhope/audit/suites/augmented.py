"""The checks of train sets with questions of a suite: their order, and their question files."""

import json
from collections.abc import Sequence
from contextlib import closing
from itertools import count

import numpy as np

from clevrhope.audit.checks.json_agreement import JsonAgreement
from clevrhope.audit.checks.question_rows import RowCheck
from clevrhope.audit.folder import AuditFolder, SuitePlace
from clevrhope.audit.leaks.report import Violations
from clevrhope.audit.report import Check
from clevrhope.dataset.native_reader import QuestionReader
from clevrhope.dataset.scene_files import PoolScenes
from clevrhope.dataset.split_files import (
    COLUMNS,
    RELATIONS,
    WIDE,
    AddedPairs,
    SplitArrays,
    read_question_rows,
)
from clevrhope.runtime.json_text import parse_json

BLOCK = 10
"""Questions of the train set before each added one."""


def check_train_order(place: SuitePlace, arrays: AddedPairs, split: SplitArrays, check: Check) -> None:
    """Compares the train set's own questions with those of `train`, and looks where others stand."""
    columns, file = arrays.whole, place.file
    n, is_own = len(columns["answers"]), columns["test"] < 0
    check.n_checked += n
    turn = np.arange(n) % (BLOCK + 1)
    for k in np.flatnonzero(is_own != (turn < BLOCK)).tolist():
        problem = f"not {BLOCK} questions of the train set, then one of the suite"
        check.fault(file, k, problem, "one of the train set" if is_own[k] else "one of the suite")
    for k in np.flatnonzero(columns["orig_idxs"] != np.arange(n)).tolist():
        check.fault(file, k, "orig_idxs is not the row's number", columns["orig_idxs"][k])
    own, sources = np.flatnonzero(is_own), columns["source_idxs"]
    for k in own[sources[own] != np.arange(len(own))].tolist():
        check.fault(file, k, "source_idxs is not the question's row in the train set", sources[k])
    for name in ("tier", "relation", "value"):
        for k in own[columns[name][own] != -1].tolist():
            check.fault(file, k, f"{name} is not -1, as of a question of the train set", columns[name][k])
    n_both = min(len(own), len(split))
    own = own[:n_both]
    for name in COLUMNS:
        mine, theirs = columns[name][own], split.columns[name][:n_both]
        for at in np.flatnonzero(mine != theirs).tolist() if name != "orig_idxs" else ():
            check.fault(file, int(own[at]), f"{name} is not {theirs[at]}, as in row {at} of train", mine[at])
    for name in (*WIDE, RELATIONS):
        mine, theirs = arrays.whole_tokens(name)[own], split.tokens(name, 0, n_both)
        width = theirs.shape[1]
        padding = -1 if name == RELATIONS else 0
        differs = (mine[:, :width] != theirs).any(axis=1) | (mine[:, width:] != padding).any(axis=1)
        for at in np.flatnonzero(differs).tolist():
            check.fault(file, int(own[at]), f"{name} is not that of row {at} of train", mine[at].tolist())
    _check_sources(place, arrays, check)


def _check_sources(place: SuitePlace, arrays: AddedPairs, check: Check) -> None:
    """Checks that each added question has an original before it, which its test takes once."""
    columns = arrays.whole
    added = np.flatnonzero(columns["test"] >= 0)
    sources = columns["source_idxs"][added].astype(np.int64)
    before = np.cumsum(columns["test"] < 0)[added]
    for at in np.flatnonzero((sources < 0) | (sources >= before)).tolist():
        problem = "source_idxs is not the row in train of a question before it"
        check.fault(place.file, int(added[at]), problem, sources[at])
    pairs = np.stack([columns["test"][added], sources], axis=1)
    _, first = np.unique(pairs, axis=0, return_index=True)
    for at in np.setdiff1d(np.arange(len(added)), first).tolist():
        problem = "the same test has made a question of this original before"
        check.fault(place.file, int(added[at]), problem, sources[at])


def check_train_file(
    folder: AuditFolder,
    place: SuitePlace,
    arrays: AddedPairs,
    pool: PoolScenes,
    reader: QuestionReader,
    families: Sequence[tuple[str, int]],
    check: Check,
) -> None:
    """Compares each row of the question file with the arrays; arguments as for `check_question_file`.

    Raises:
        DatasetError: the file cannot be read, or a row is not a question.
    """
    found = Violations()
    file, columns = folder.layout.relative(place.json), arrays.whole
    with closing(SplitArrays(place.h5)) as whole:
        JsonAgreement(reader, place.json, folder.layout.root, place.file, found).compare(whole, pool)
        RowCheck(place, place.json, file, families, check).check(whole)
    for each in found.listed:
        check.fault(each.file, each.index, each.problem, each.value)
    check.n_faults += sum(found.counts.values()) - len(found.listed)
    sources = columns["source_idxs"].tolist()
    rows = zip(count(), columns["test"].tolist(), sources, read_question_rows(place.json), strict=False)
    for k, test, source, (line, row) in rows:
        is_known = 0 <= test < len(arrays.tests)
        wanted = {
            "suite": place.suite,
            "test": arrays.tests[test] if is_known else None,
            "original_index": source if is_known else None,
        }
        if row.endswith(b", " + json.dumps(wanted)[1:].encode()):
            continue
        fields = parse_json(row, place.json, line=line)
        for name, value in wanted.items():
            if fields.get(name, "") != value:
                check.fault(file, k, f"{name} is not {value}, as in HDF5", fields.get(name))
    check.n_checked += len(columns["answers"])
