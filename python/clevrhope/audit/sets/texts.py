"""Checks across splits of questions over several images: which texts they share, and which they should."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.audit.folder import SetFile
from clevrhope.audit.report import CheckResult, Found, where
from clevrhope.audit.sets.batch import ROWS_AT_ONCE
from clevrhope.splits.covr.kinds import COVR_KINDS

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


def check_texts(splits: Sequence[SetFile], texts: Mapping[str, Texts], check: CheckResult) -> None:
    """Checks the splits of one sub-dataset, given the texts of each by name.

    Raises:
        DatasetError: a block of a file is damaged.
    """
    by_name = {split.name: split for split in splits}
    check.n_checked += sum(len(each.digests) for each in texts.values())
    for name, split in by_name.items():
        kind = COVR_KINDS[split.name]
        for other in by_name.values():
            if (kind.half, COVR_KINDS[other.name].half) == (0, 1):
                _apart(split, other, texts, check)
            if kind.paraphrased and other.name != name:
                _rephrased(split, other, texts, check)
        if kind.role == "train":
            _two_answers(split, texts[name], check)
        if kind.paraphrased and kind.questions in by_name:
            check.add(split.file, _other_questions(split, by_name[kind.questions]))


def _apart(a: SetFile, b: SetFile, texts: Mapping[str, Texts], check: CheckResult) -> None:
    """Reports texts that are both in a and in b."""
    shared = np.isin(texts[b.name].digests, texts[a.name].digests)
    check.add(b.file, where(shared, "has a text of another split", lambda k: a.name))


def _rephrased(split: SetFile, other: SetFile, texts: Mapping[str, Texts], check: CheckResult) -> None:
    """Reports questions of a paraphrased split that share their text or phrasing with another split."""
    mine, theirs = texts[split.name], texts[other.name]
    for what, own, used in (
        ("text", mine.digests, theirs.digests),
        ("phrasing", mine.phrasings, theirs.phrasings[theirs.phrasings >= 0]),
    ):
        shared = where(np.isin(own, used), f"has a {what} of another split", lambda k: other.name)
        check.add(split.file, shared)


def _two_answers(split: SetFile, texts: Texts, check: CheckResult) -> None:
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


def _other_questions(split: SetFile, asked: SetFile) -> Iterator[Found]:
    """A split has the same programs, images and answers as another, row by row."""
    with split.open() as mine, asked.open() as theirs:
        if len(mine) != len(theirs):
            yield None, f"not the {len(theirs)} questions of {asked.name}", len(mine)
        n = min(len(mine), len(theirs))
        for name in mine.columns.keys() - {"question_lengths"}:
            there, wanted = mine.columns[name][:n], theirs.columns[name][:n]
            differ = (there != wanted).reshape(n, -1).any(axis=1)
            yield from where(differ, f"{name}: not as in {asked.name}, but", there)
        for first in range(0, n, ROWS_AT_ONCE):
            there, wanted = (
                each.tokens("programs", first, min(ROWS_AT_ONCE, n - first)) for each in (mine, theirs)
            )
            if there.shape != wanted.shape:
                yield None, f"programs: not as wide as in {asked.name}", there.shape
                return
            differ = (there != wanted).any(axis=1)
            rows = range(first, n)
            yield from where(differ, f"programs: not as in {asked.name}", there, rows)
