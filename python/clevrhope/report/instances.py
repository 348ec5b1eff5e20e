"""Runs as instances of their models: the questions that each has right, and what follows for a regression."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.pairs import SAME_KIND
from clevrhope.metrics.pairs.relations import Flags
from clevrhope.metrics.suites.rights import PairRights, SplitRights, rights
from clevrhope.report.results import Keys, Result
from clevrhope.report.runs import LAST
from clevrhope.report.setups import dropped

KINDS = {test: kind for test, places in SAME_KIND.items() for paper, kind in places if paper == "rad"}
"""Test -> RAD's name of the questions that it changes, such as Y/N<-C."""


@dataclass(frozen=True)
class Instance:
    """A run, the questions that it has right, and the pairs of which it has either question right."""

    result: Result
    splits: Mapping[str, SplitRights]
    """Split -> its own questions."""
    pairs: Mapping[str, Sequence[PairRights]]
    """Split -> the pairs of each suite."""

    @property
    def model(self) -> str:
        """The model of which it is an instance, however it was trained, with its way of answering."""
        source = self.result.source
        return f"{source.model}, {source.way.replace('_', ' ')}" if source.way else source.model

    @property
    def dropped(self) -> tuple[str, ...]:
        """The types of which it was trained without some questions."""
        return dropped(self.result.source.setup)

    def accuracy(self, split: str, *, half: int | None = None) -> float | None:
        """Accuracy on a split in per cent, or on one of its halves; None without answers."""
        own = self.splits.get(split)
        if own is None:
            return None
        chosen = own.answered & _in_half(own.images, half)
        return 100 * float(own.right[chosen].mean()) if chosen.any() else None

    def pairs_of(self, split: str, kinds: Container[str], *, half: int) -> tuple[Flags, Flags]:
        """(P,) whether the originals and the partners of P answered pairs are right.

        They are pairs of RAD's kinds of questions in one half of a split, in the dataset's own words and
        functions.
        """
        original, partner = [np.zeros(0, dtype=bool)], [np.zeros(0, dtype=bool)]
        for rows in self.pairs.get(split, ()):
            tests = [number for number, test in enumerate(rows.tests) if KINDS.get(test) in kinds]
            chosen = rows.answered & rows.is_in & _in_half(rows.images, half) & np.isin(rows.test, tests)
            original.append(rows.original[chosen])
            partner.append(rows.partner[chosen])
        return np.concatenate(original), np.concatenate(partner)


HALVES = (0, 1)
"""The images with even numbers, and those with odd ones. What is predicted is measured on others than what
predicts it, since RAD splits the validation set in two, and noise in common would look like a connection."""


def measure_instances(results: Sequence[Result], *, keys: Keys | None = None) -> list[Instance]:
    """The runs with predictions about suites, by their last weights, except those that cannot be read."""
    keys = keys or cache(AnswerKey)
    found = []
    for each in results:
        if not each.suites or each.checkpoint != LAST or each.source.after:
            continue
        splits: dict[str, SplitRights] = {}
        pairs: dict[str, list[PairRights]] = {}
        for suite in each.suites:
            try:
                own, paired = rights(keys(each.source.dataset), suite, each.source.path)
            except ClevrhopeError:
                continue  # measure_suites says why
            splits |= {of.target.split: of for of in own if _is_of(of, each)}
            for rows in paired:
                if _is_of(rows, each):
                    pairs.setdefault(rows.target.split, []).append(rows)
        if pairs:
            found.append(Instance(each, splits, pairs))
    return found


def _is_of(rows: SplitRights | PairRights, result: Result) -> bool:
    """Whether rows are of the run of a result; a file may hold several runs."""
    source, target = result.source, rows.target
    size = source.train_size if target.train_size is None else target.train_size
    run = source.run if target.run is None else target.run
    return (target.hop, size, run or "") == (result.hop, result.train_size, result.run)


def _in_half(images: Ints, half: int | None) -> Flags:
    chosen: Flags = np.ones(len(images), dtype=bool) if half is None else images % 2 == half
    return chosen
