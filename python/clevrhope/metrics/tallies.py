"""Shares of right answers of several runs, over all questions and over bootstrap draws."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.answer_key import TestSet
from clevrhope.metrics.bootstrap import Floats, ratio, resample
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers


@dataclass(frozen=True)
class AnsweredSplit:
    """A test set with the answers of R runs."""

    questions: TestSet
    given: AnswerNumbers
    """(R, N)"""
    parts: Mapping[str, Ints]
    """Breakdown -> (N,) part of each question."""


@dataclass(frozen=True)
class Rates:
    """Shares of right answers in C columns: runs, or parts of a breakdown."""

    found: Floats
    """(C,)"""
    drawn: Floats
    """(n_samples, C)"""
    n_questions: Ints
    """(C,) questions with a prediction."""
    n_images: Ints
    """(C,) images with such a question."""

    @property
    def defined(self) -> list[bool]:
        """For each column, whether it has a question."""
        answered: list[bool] = (self.n_questions > 0).tolist()
        return answered

    def only(self, k: int) -> "Rates":
        """Only the k-th column."""
        return Rates(self.found[[k]], self.drawn[:, [k]], self.n_questions[[k]], self.n_images[[k]])


@dataclass(frozen=True)
class Tallies:
    """The rates of one split."""

    runs: Rates
    """One column for each run."""
    parts: Mapping[str, Rates]
    """Breakdown -> one column for each part."""
    n_questions: int
    """Questions with a prediction in any run."""
    n_images: int


def tally(splits: Sequence[AnsweredSplit], *, n_samples: int, seed: Sequence[int]) -> dict[str, Tallies]:
    """The rates of splits of one pool, which share the draws; the images of a set are drawn together."""
    own_images = [np.unique(each.questions.images[(each.given != NOT_GIVEN).any(axis=0)]) for each in splits]
    images = np.unique(np.concatenate(own_images))
    columns = [columns for each in splits for columns in _columns(each, images)]
    sums = np.concatenate([array for each in columns for array in (each.right, each.given)], axis=1)
    sets = images // splits[0].questions.drawn_together
    sums = np.add.reduceat(sums, np.flatnonzero(np.diff(sets, prepend=-1)), axis=0)
    drawn = np.zeros((n_samples, sums.shape[1]))
    used = sums.any(axis=0)  # a minimal set uses only one of ninety families
    drawn[:, used] = resample(sums[:, used], n_samples=n_samples, seed=seed)
    found = _rates(columns, drawn)
    made = {}
    for each, own in zip(splits, own_images, strict=True):
        made[each.questions.split] = Tallies(
            runs=next(found),
            parts={name: next(found) for name in each.parts},
            n_questions=int((each.given != NOT_GIVEN).any(axis=0).sum()),
            n_images=len(own),
        )
    return made


@dataclass(frozen=True)
class _Columns:
    """Sums for M images in C columns, one for each run or part."""

    right: Floats
    """(M, C) right answers."""
    given: Floats
    """(M, C) answers."""
    n_questions: Ints
    """(C,) questions answered in any run."""


def _columns(split: AnsweredSplit, images: Ints) -> list[_Columns]:
    """First the columns of the runs, then, for each breakdown, the columns of its parts."""
    given = split.given != NOT_GIVEN  # (R, N)
    right = split.given == split.questions.answers
    answered = given.any(axis=0)
    at = np.searchsorted(images, split.questions.images[answered])

    def summed(counts: npt.NDArray[np.generic], part: Ints, n_parts: int) -> Floats:
        cells = at * n_parts + part[answered]
        sums = np.bincount(cells, counts[answered], minlength=len(images) * n_parts)
        return sums.reshape(len(images), n_parts).astype(np.float64)

    whole = np.zeros(len(split.questions), dtype=np.int32)
    by_run = [np.concatenate([summed(row, whole, 1) for row in rows], axis=1) for rows in (right, given)]
    found = [_Columns(by_run[0], by_run[1], given.sum(axis=1, dtype=np.int32))]
    for part in split.parts.values():
        n_parts = int(part.max(initial=0)) + 1
        by_part = [summed(rows.sum(axis=0), part, n_parts) for rows in (right, given)]
        n_questions = np.bincount(part[answered], minlength=n_parts).astype(np.int32)
        found.append(_Columns(by_part[0], by_part[1], n_questions))
    return found


def _rates(columns: Sequence[_Columns], drawn: Floats) -> Iterator[Rates]:
    """Splits the drawn sums into the column groups they come from, and computes their rates."""
    begin = 0
    for each in columns:
        n = each.right.shape[1]
        yield Rates(
            found=ratio(each.right.sum(axis=0), each.given.sum(axis=0)),
            drawn=ratio(drawn[:, begin : begin + n], drawn[:, begin + n : begin + 2 * n]),
            n_questions=each.n_questions,
            n_images=(each.given > 0).sum(axis=0, dtype=np.int32),
        )
        begin += 2 * n
