"""Runs as instances of their models: the questions that each has right, and what follows for a regression."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from clevrhope.dataset.questions_h5 import Ints
from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.pairs import SAME_KIND
from clevrhope.metrics.pairs.relations import Flags
from clevrhope.metrics.suites.rights import PairRights, SplitRights, rights
from clevrhope.report.results import Result
from clevrhope.report.runs import LAST
from clevrhope.report.setups import dropped

KINDS = {test: kind for test, places in SAME_KIND.items() for paper, kind in places if paper == "rad"}
"""Test -> RAD's name of the questions that it changes, such as Y/N<-C."""


@dataclass(frozen=True)
class Counts:
    """How many pairs of some sets there are, and how many questions of theirs a run has right."""

    pairs: int = 0
    originals: int = 0
    partners: int = 0
    both: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.pairs + other.pairs,
            self.originals + other.originals,
            self.partners + other.partners,
            self.both + other.both,
        )


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
    def drops(self) -> bool:
        """Whether it was trained without some questions of a type."""
        return bool(dropped(self.result.source.setup))

    def accuracy(self, split: str, *, half: int | None = None) -> float | None:
        """Accuracy on a split in per cent, or on one of its halves; None without answers."""
        own = self.splits.get(split)
        if own is None:
            return None
        chosen = own.answered & _in_half(own.images, half)
        return 100 * float(own.right[chosen].mean()) if chosen.any() else None

    def counts(self, split: str, *, half: int) -> dict[str, Counts]:
        """RAD's kind of questions -> counts of the pairs in one half of a split."""
        return self._counts.get((split, half), {})

    @cached_property
    def _counts(self) -> dict[tuple[str, int], dict[str, Counts]]:
        found: dict[tuple[str, int], dict[str, Counts]] = {}
        for split, suites in self.pairs.items():
            for half in HALVES:
                of_half = found.setdefault((split, half), {})
                for kind, counts in (each for suite in suites for each in _by_kind(suite, half)):
                    of_half[kind] = of_half.get(kind, Counts()) + counts
        return found


HALVES = (0, 1)
"""The images with even numbers, and those with odd ones. What is predicted is measured on others than what
predicts it, since RAD splits the validation set in two, and noise in common would look like a connection."""


def measure_instances(results: Sequence[Result]) -> list[Instance]:
    """The runs with predictions about suites, by their last weights, except those that cannot be read."""
    keys: dict[Path, AnswerKey] = {}
    found = []
    for each in results:
        if not each.suites or each.checkpoint != LAST or each.source.after:
            continue
        place = each.source.dataset.resolve()
        if place not in keys:
            keys[place] = AnswerKey(each.source.dataset)
        splits: dict[str, SplitRights] = {}
        pairs: dict[str, list[PairRights]] = {}
        for suite in each.suites:
            try:
                own, paired = rights(keys[place], suite, each.source.path)
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


def _by_kind(rows: PairRights, half: int) -> Iterator[tuple[str, Counts]]:
    """The counts of each kind of RAD's, of pairs in the dataset's own words and functions."""
    chosen = rows.answered & rows.is_in & _in_half(rows.images, half)
    for number, test in enumerate(rows.tests):
        of_test = chosen & (rows.test == number)
        if test in KINDS and of_test.any():
            original, partner = rows.original[of_test], rows.partner[of_test]
            yield (
                KINDS[test],
                Counts(
                    pairs=int(of_test.sum()),
                    originals=int(original.sum()),
                    partners=int(partner.sum()),
                    both=int((original & partner).sum()),
                ),
            )
