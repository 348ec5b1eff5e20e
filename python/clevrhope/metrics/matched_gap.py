"""The matched gap: the complex gap between questions of the same kinds.

The plain complex gap compares OOD questions, which all mention the held-out pair, with IID questions of every
kind: it also measures that the former are longer, of other families, and about fuller images. The matched
gap takes only those IID questions that mention a pair of the same two types together (a seen one, as the
held-out pair is never mentioned there), and weights them so that families and numbers of objects are as
frequent as in OOD. Cells of family and number of objects in which IID has no such question have no match:
their OOD questions are left out, and counted. A choice of this project; the paper has only the plain gap.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ConfigError, PredictionsError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import NOT_GIVEN, AnswerNumbers
from clevrhope.splits.hops import parse_hop
from clevrhope.splits.kinds import IID, OOD

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MatchedGap:
    """The matched gap of one run, and the questions behind it.

    Attributes:
        points: OOD minus IID accuracy over the cells with a match, in percentage points; None where no cell
            has one.
        ood_percent: accuracy on the OOD questions of these cells.
        iid_percent: accuracy on the IID questions that mention a seen pair, each cell weighted as in OOD.
        n_cells: cells of family and number of objects with OOD questions.
        n_cells_unmatched: those of them in which no IID question mentions a seen pair.
        n_ood: OOD questions with a prediction.
        n_ood_unmatched: those of them in cells without a match.
        n_iid: IID questions that were counted.
    """

    points: float | None
    ood_percent: float | None
    iid_percent: float | None
    n_cells: int
    n_cells_unmatched: int
    n_ood: int
    n_ood_unmatched: int
    n_iid: int


def match_cells(ood_right: Flags, ood_cells: Ints, iid_right: Flags, iid_cells: Ints) -> MatchedGap:
    """The gap over the cells that both have.

    Args:
        ood_right: (N,) whether each OOD question was answered correctly.
        ood_cells: (N, C) the properties that must agree, such as family and number of objects.
        iid_right: (M,) the same for the IID questions that may be matches.
        iid_cells: (M, C) the same.
    """
    cells, at = np.unique(np.concatenate([ood_cells, iid_cells]), axis=0, return_inverse=True)
    at = at.reshape(-1)
    ood_at, iid_at = at[: len(ood_cells)], at[len(ood_cells) :]
    n_ood = np.bincount(ood_at, minlength=len(cells))
    n_iid = np.bincount(iid_at, minlength=len(cells))
    right_ood = np.bincount(ood_at, ood_right, minlength=len(cells))
    right_iid = np.bincount(iid_at, iid_right, minlength=len(cells))
    both = (n_ood > 0) & (n_iid > 0)
    ood = iid = None
    if both.any():
        weight = n_ood[both].sum()
        ood = 100 * float(right_ood[both].sum() / weight)
        iid = 100 * float((n_ood[both] * right_iid[both] / n_iid[both]).sum() / weight)
    return MatchedGap(
        points=None if ood is None or iid is None else ood - iid,
        ood_percent=ood,
        iid_percent=iid,
        n_cells=int((n_ood > 0).sum()),
        n_cells_unmatched=int(((n_ood > 0) & ~both).sum()),
        n_ood=len(ood_right),
        n_ood_unmatched=int(n_ood[~both].sum()),
        n_iid=int(n_iid[both].sum()),
    )


class Matcher:
    """Matched gaps of a folder's HOPs; what does not depend on predictions is read once for each HOP."""

    def __init__(self, key: AnswerKey) -> None:
        self._key = key
        self._cells: dict[tuple[str, str], Ints] = {}
        self._mentions: dict[str, Flags] = {}

    def gap(self, hop: str, given: Mapping[str, AnswerNumbers]) -> MatchedGap | None:
        """The matched gap of one run's answers, by split; None for a HOP without a pair or one of the splits.

        Questions without a prediction are left out.

        Raises:
            DatasetError: a file of the folder is missing or not whole.
            PredictionsError: the number of answers is not the number of questions.
        """
        types = self._types(hop)
        if not types or not {OOD, IID} <= given.keys() & self._key.splits[hop]:
            return None
        right, there = {}, {}
        for split in (OOD, IID):
            answers = self._key.test_set(hop, split).answers
            if len(answers) != len(given[split]):
                raise PredictionsError(
                    f"{len(given[split]):,} answers to {hop} {split}, which has {len(answers):,} questions"
                )
            right[split] = given[split] == answers
            there[split] = given[split] != NOT_GIVEN
        if hop not in self._mentions:
            self._mentions[hop] = self._key.mentions_together(hop, IID, types)
        there[IID] &= self._mentions[hop]
        return match_cells(
            right[OOD][there[OOD]],
            self._cells_of(hop, OOD)[there[OOD]],
            right[IID][there[IID]],
            self._cells_of(hop, IID)[there[IID]],
        )

    def _types(self, hop: str) -> tuple[str, ...]:
        try:
            pair = parse_hop(hop, list(self._key.attributes.items())).pair
        except ConfigError:
            return ()
        return tuple(kind for kind, _ in pair or ())

    def _cells_of(self, hop: str, split: str) -> Ints:
        """(N, 2) family and number of objects of each question."""
        if (hop, split) not in self._cells:
            questions = self._key.test_set(hop, split)
            parts = [self._key.parts(by, questions) for by in ("family", "objects")]
            self._cells[hop, split] = np.stack(parts, axis=1)
        return self._cells[hop, split]
