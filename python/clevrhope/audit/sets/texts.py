"""Checks across splits of questions over several images: which texts they share, and which they should."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import AuditFolder, SetSplit
from clevrhope.audit.report import Check
from clevrhope.audit.sets.batches import ROWS_AT_ONCE

LEAST_SHARE = 0.98
"""Least share of train's texts that must have two answers or more."""


@dataclass(frozen=True)
class Texts:
    """The texts of a split's N questions."""

    digests: npt.NDArray[np.uint64]
    """(N,) a digest of each text."""
    phrasings: npt.NDArray[np.int64]
    """(N,) a number for each phrasing of each kind of question; -1 if JSON does not give one."""
    answers: npt.NDArray[np.int32]


def joined(parts: Sequence[Texts]) -> Texts:
    """The concatenated texts of batches."""
    return Texts(
        digests=np.concatenate([np.zeros(0, dtype=np.uint64), *(each.digests for each in parts)]),
        phrasings=np.concatenate([np.zeros(0, dtype=np.int64), *(each.phrasings for each in parts)]),
        answers=np.concatenate([np.zeros(0, dtype=np.int32), *(each.answers for each in parts)]),
    )


def check_texts(
    folder: AuditFolder, splits: Sequence[SetSplit], texts: Mapping[str, Texts], check: Check
) -> None:
    """Checks the splits of one sub-dataset, given the texts of each by name.

    Raises:
        DatasetError: a block of a file is damaged.
    """
    by_name = {split.name: split for split in splits}
    check.n_checked += sum(len(each.digests) for each in texts.values())
    for name, split in by_name.items():
        kind = split.kind
        for other in by_name.values():
            if (kind.half, other.kind.half) == (0, 1):
                _apart(split, other, texts, check)
            if kind.paraphrased and other.name != name:
                _rephrased(split, other, texts, check)
        if kind.role == "train":
            _two_answers(split, texts[name], check)
        if kind.paraphrased and kind.questions in by_name:
            _same_questions(folder, split, by_name[kind.questions], check)


def _apart(a: SetSplit, b: SetSplit, texts: Mapping[str, Texts], check: Check) -> None:
    """Reports texts that are both in a and in b."""
    shared = np.isin(texts[b.name].digests, texts[a.name].digests)
    for k in np.flatnonzero(shared).tolist():
        check.fault(b.file, k, "has a text of another split", a.name)


def _rephrased(split: SetSplit, other: SetSplit, texts: Mapping[str, Texts], check: Check) -> None:
    """Reports questions of a paraphrased split that share their text or phrasing with another split."""
    mine, theirs = texts[split.name], texts[other.name]
    for what, own, used in (
        ("text", mine.digests, theirs.digests),
        ("phrasing", mine.phrasings, theirs.phrasings[theirs.phrasings >= 0]),
    ):
        for k in np.flatnonzero(np.isin(own, used)).tolist():
            check.fault(split.file, k, f"has a {what} of another split", other.name)


def _two_answers(split: SetSplit, texts: Texts, check: Check) -> None:
    """Checks how many texts have two answers; in an odd number of questions, the last one is unpaired."""
    n = len(texts.digests) // 2 * 2
    both = np.stack([texts.digests[:n], texts.answers[:n].astype(np.uint64)], axis=1)
    of_text = np.unique(both, axis=0)[:, 0]
    _, n_answers = np.unique(of_text, return_counts=True)
    if not len(n_answers):
        return
    share = float((n_answers > 1).mean())
    check.notes.append(
        f"questions over several images: {share:.1%} of {len(n_answers):,} texts in {split.hop.name} "
        f"{split.name} have two answers or more"
    )
    if share < LEAST_SHARE:
        problem = f"less than {LEAST_SHARE:.0%} of texts have two answers"
        check.fault(split.file, None, problem, f"{share:.1%}")


def _same_questions(folder: AuditFolder, split: SetSplit, asked: SetSplit, check: Check) -> None:
    """Checks that a split has the same programs, images and answers as another, row by row."""
    with folder.open_sets(split) as mine, folder.open_sets(asked) as theirs:
        if len(mine) != len(theirs):
            check.fault(split.file, None, f"not the {len(theirs)} questions of {asked.name}", len(mine))
        n = min(len(mine), len(theirs))
        for name in mine.columns.keys() - {"question_lengths"}:
            there, wanted = mine.columns[name][:n], theirs.columns[name][:n]
            for k in np.flatnonzero((there != wanted).reshape(n, -1).any(axis=1)).tolist():
                check.fault(split.file, k, f"{name}: not as in {asked.name}, but", there[k].tolist())
        for first in range(0, n, ROWS_AT_ONCE):
            rows = min(ROWS_AT_ONCE, n - first)
            programs = [each.tokens("programs", first, rows) for each in (mine, theirs)]
            if programs[0].shape != programs[1].shape:
                check.fault(split.file, None, f"programs: not as wide as in {asked.name}", programs[0].shape)
                return
            for k in np.flatnonzero((programs[0] != programs[1]).any(axis=1)).tolist():
                check.fault(
                    split.file, first + k, f"programs: not as in {asked.name}", programs[0][k].tolist()
                )
