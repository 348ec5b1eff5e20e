"""The matched gap: the complex gap between comparable questions.

The plain complex gap compares OOD questions, which all mention the held-out pair, with IID questions of every
kind. It thus also reflects that OOD questions are longer, come from other families and are about images with
more objects. The matched gap uses only IID questions that mention a pair of values of the same two attributes
(always a seen pair, because IID questions never mention the held-out pair). It weights them to the OOD
frequencies of families and numbers of objects. If a cell of family and number of objects has no such IID
question, its OOD questions are left out, and counted. There is also a plain gap without them, so that both
gaps cover the same OOD questions. This is a choice of this project; the paper has only the plain gap of all
questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.bootstrap import Floats, draws, ratio
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers
from clevrhope.metrics.estimates import N_DRAWS, Estimate
from clevrhope.metrics.scoring import draw_seed
from clevrhope.splits.kinds import IID, OOD

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MatchedGap:
    """The matched gap of one run, and the questions behind it.

    Attributes:
        points: OOD minus IID accuracy over the cells with a match, in percentage points; None if no cell has
            a match.
        plain: accuracy on the OOD questions of these cells minus that on all IID questions; None likewise.
        n_cells: number of cells of family and number of objects that have OOD questions.
        n_cells_unmatched: number of these cells in which no IID question mentions a seen pair.
        n_ood: number of OOD questions with a prediction.
        n_ood_unmatched: number of these in cells without a match.
        n_iid: number of IID questions that were counted.
    """

    points: Estimate | None
    plain: Estimate | None
    n_cells: int
    n_cells_unmatched: int
    n_ood: int
    n_ood_unmatched: int
    n_iid: int


@dataclass(frozen=True, slots=True)
class Questions:
    """Answered questions of one test set.

    Attributes:
        right: (N,) whether each was answered correctly.
        counts: (N,) whether each counts: it has a prediction, and may be a match.
        cells: (N, C) the properties that must agree, such as family and number of objects.
        images: (N,) the image of each.
        seed: seed for the draws of images.
    """

    right: Flags
    counts: Flags
    cells: Ints
    images: Ints
    seed: Sequence[int]


def match_cells(ood: Questions, iid: Questions, all_iid: Estimate) -> MatchedGap:
    """The gaps over the cells that both have; `all_iid` is the accuracy on all IID questions in per cent."""
    cells = [ood.cells[ood.counts], iid.cells[iid.counts]]
    _, at = np.unique(np.concatenate(cells), axis=0, return_inverse=True)
    at = at.reshape(-1)
    n_cells = int(at.max(initial=-1)) + 1
    n_ood, right_ood = _sums(ood, at[: len(cells[0])], n_cells)
    n_iid, right_iid = _sums(iid, at[len(cells[0]) :], n_cells)
    both = (n_ood[0] > 0) & (n_iid[0] > 0)
    points = plain = None
    if both.any():
        # A draw of images can leave a cell without IID questions; its OOD questions then have no match.
        weight = np.where(both & (n_iid > 0), n_ood, 0)
        in_ood, in_iid = both[at[: len(cells[0])]], both[at[len(cells[0]) :]]
        shares = ratio(np.where(weight > 0, right_ood, 0).sum(axis=1), weight.sum(axis=1))
        of_ood = _estimate(shares, ood, in_ood)
        matched = weight * right_iid / np.maximum(n_iid, 1)
        of_iid = _estimate(ratio(matched.sum(axis=1), weight.sum(axis=1)), iid, in_iid)
        shares = ratio(right_ood[:, both].sum(axis=1), n_ood[:, both].sum(axis=1))
        of_all = _estimate(shares, ood, in_ood)
        points, plain = of_ood.minus(of_iid), of_all.minus(all_iid)
    return MatchedGap(
        points=points,
        plain=plain,
        n_cells=int((n_ood[0] > 0).sum()),
        n_cells_unmatched=int(((n_ood[0] > 0) & ~both).sum()),
        n_ood=int(n_ood[0].sum()),
        n_ood_unmatched=int(n_ood[0, ~both].sum()),
        n_iid=int(n_iid[0, both].sum()),
    )


def _sums(questions: Questions, at: Ints, n_cells: int) -> tuple[Floats, Floats]:
    """Questions and right answers by cell, each (1 + N_DRAWS, n_cells): counts, then those in each draw."""
    images, image_of = np.unique(questions.images, return_inverse=True)
    image_of, right = image_of[questions.counts], questions.right[questions.counts]
    image_of_right, at_right = image_of[right], at[right]
    n, n_right = (np.empty((1 + N_DRAWS, n_cells)) for _ in range(2))
    blocks = [np.ones((1, len(images))), *draws(len(images), n_samples=N_DRAWS, seed=questions.seed)]
    for k, times in enumerate(row for block in blocks for row in block):
        n[k] = np.bincount(at, times[image_of], minlength=n_cells)
        n_right[k] = np.bincount(at_right, times[image_of_right], minlength=n_cells)
    return n, n_right


def _estimate(shares: Floats, questions: Questions, has_match: Flags) -> Estimate:
    """The share and its draws, over the images of those questions that have a match."""
    n_images = len(np.unique(questions.images[questions.counts][has_match]))
    return Estimate.of_share(100 * float(shares[0]), 100 * shares[1:], n_images, seed=questions.seed)


class Matcher:
    """Matched gaps of a folder's HOPs; data that do not depend on predictions are read once for each HOP."""

    def __init__(self, key: AnswerKey) -> None:
        self._key = key
        self._cells_of = cache(self._cells)
        self._mentions = cache(key.mentions_together)

    def gap(
        self, hop: str, given: Mapping[str, AnswerNumbers], all_iid: Estimate | None
    ) -> MatchedGap | None:
        """The matched gap of one run's answers by split; None if the HOP lacks a pair or either split.

        None also where published files do not say families or scenes. Questions without a prediction are left
        out. `all_iid` is the accuracy on all IID questions.

        Raises:
            DatasetError: a file of the folder is missing or incomplete.
        """
        parsed = self._key.parsed(hop)
        types = tuple(kind for kind, _ in (parsed and parsed.held_out) or ())
        if all_iid is None or not types or not {OOD, IID} <= given.keys() & self._key.splits[hop]:
            return None
        if {"family", "objects"} & self._key.unknown.keys():
            return None
        ood, iid = (self._questions(hop, split, given[split]) for split in (OOD, IID))
        mentions = self._mentions(hop, IID, types)
        return match_cells(ood, replace(iid, counts=iid.counts & mentions), all_iid)

    def _questions(self, hop: str, split: str, given: AnswerNumbers) -> Questions:
        test_set = self._key.test_set(hop, split)
        return Questions(
            right=given == test_set.answers,
            counts=given != NOT_GIVEN,
            cells=self._cells_of(hop, split),
            images=test_set.image_idxs,
            seed=draw_seed(hop, test_set.pool),
        )

    def _cells(self, hop: str, split: str) -> Ints:
        """(N, 2) family and number of objects of each question."""
        questions = self._key.test_set(hop, split)
        return np.stack([questions.question_families, self._key.objects(questions)], axis=1)
