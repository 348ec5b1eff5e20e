"""The checks of train sets with added questions of a suite: their order, and their question files."""

from collections.abc import Sequence
from contextlib import closing

import numpy as np

from clevrhope.audit.folder import AuditFolder, SuitePlace
from clevrhope.audit.report import Check
from clevrhope.audit.suites.question_file import check_rows
from clevrhope.dataset.native_reader import QuestionReader
from clevrhope.dataset.scene_files import PoolScenes
from clevrhope.dataset.split_files import (
    COLUMNS,
    RELATIONS,
    WIDE,
    AddedPairs,
    SplitArrays,
)

BLOCK = 10
"""Number of train questions before each added one."""


def check_train_order(place: SuitePlace, arrays: AddedPairs, split: SplitArrays, check: Check) -> None:
    """Compares the train set's own questions with those of `train`, and checks where added ones stand."""
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
    """Checks that each added question has an original before it, which its test uses only once."""
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
    """Compares each row of the question file with the arrays; takes the arguments of `check_question_file`.

    Raises:
        DatasetError: the file cannot be read, or a row is not a question.
    """
    columns = arrays.whole
    wanted = (
        {
            "suite": place.suite,
            "test": arrays.tests[test] if 0 <= test < len(arrays.tests) else None,
            "original_index": source if 0 <= test < len(arrays.tests) else None,
        }
        for test, source in zip(columns["test"].tolist(), columns["source_idxs"].tolist(), strict=True)
    )
    with closing(SplitArrays(place.h5)) as whole:
        check_rows(folder, place, whole, pool, reader, families, check, wanted=wanted, numbered=True)
    check.n_checked += len(columns["answers"])
