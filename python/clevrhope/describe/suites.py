"""Measures the pairs of a suite on a split: the pairs of each test, their cells, and the share of yes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from clevrhope.dataset.contents import check_suite
from clevrhope.dataset.layout import Layout
from clevrhope.dataset.manifest import Manifest
from clevrhope.dataset.question_kinds import PAIRS, RELATIONS, TIERS
from clevrhope.dataset.question_table import QuestionTable, read_table
from clevrhope.dataset.vocab import read_vocab
from clevrhope.errors import DatasetError
from clevrhope.splits.kinds import SPLITS

CELLS = ("00", "01", "10", "11")
"""Whether the original mentions the held-out pair, then whether the partner does."""


@dataclass(frozen=True)
class TestStats:
    """The measurements of a test's pairs."""

    __test__ = False  # pytest would collect a class with this name as tests

    test: str
    type: str
    """The type of question; "" for none."""
    tier: str
    relations: tuple[str, ...]
    """Rules by which partners' answers follow from originals', in the order of `RELATIONS`."""
    n_pairs: int
    cells: Mapping[str, int]
    """Cell -> number of its pairs, for cells that have any."""
    n_yes: int
    """Number of partners with the answer yes."""
    n_yes_no: int
    """Number of partners with the answer yes or no."""

    @property
    def yes_share(self) -> float:
        """Share of yes, from 0 to 1, among partners with the answer yes or no; nan if there are none."""
        return self.n_yes / self.n_yes_no if self.n_yes_no else float("nan")


@dataclass(frozen=True)
class SuiteStats:
    """The measurements of a suite's pairs on a split."""

    suite: str
    hop: str
    split: str
    n_originals: int
    """Number of questions of the split when the pairs were made."""
    tests: Sequence[TestStats]
    """The tests that have a pair, in the order of the suite."""
    empty: Sequence[str]
    """Names of the tests without a pair."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all tests."""
        return sum(each.n_pairs for each in self.tests)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells: all of them if a pair of values is held out, else none."""
        return CELLS if "pair" in SPLITS[self.split].of else ()


def measure_suites(
    layout: Layout, manifest: Manifest, hop: str, splits: Sequence[str] | None = None
) -> Iterator[SuiteStats]:
    """The measurements of all suites in the manifest of a sub-dataset, on the given splits or on all.

    Raises:
        DatasetError: a file is missing, damaged or not a file of paired tests.
    """
    for suite in sorted(manifest.suites.get(hop, {})):
        yield from _measure_suite(layout, manifest, hop, suite, splits)


def measure_readable_suites(layout: Layout, manifest: Manifest, hop: str) -> Iterator[SuiteStats]:
    """Like `measure_suites`, but leaves out suites with an unreadable file and measures the others."""
    for suite in sorted(manifest.suites.get(hop, {})):
        with suppress(DatasetError):
            yield from list(_measure_suite(layout, manifest, hop, suite, None))


def _measure_suite(
    layout: Layout, manifest: Manifest, hop: str, suite: str, splits: Sequence[str] | None
) -> Iterator[SuiteStats]:
    of_suite = manifest.suites[hop][suite]
    check_suite(layout, manifest, hop, suite)
    vocab = read_vocab(layout.suite_vocab(hop, suite))
    for split in SPLITS:
        if split in of_suite and (splits is None or split in splits):
            path = layout.suite_h5(hop, suite, split)
            yield measure_pairs(read_table(path, PAIRS, vocab=vocab), vocab.answer_token_to_idx)


def measure_pairs(pairs: QuestionTable, answers: Mapping[str, int]) -> SuiteStats:
    """The measurements of a file of pairs; `answers` has the number of each answer."""
    rows = pairs
    tests, tiers, relations = rows.test[::2], rows.tier[::2], rows.relation[::2]
    cells, given = rows.cell[::2], rows.answers[1::2]
    yes, no = (given == answers.get(name, -1) for name in ("yes", "no"))
    found, empty = [], []
    for number, (name, kind) in enumerate(zip(pairs.tests, pairs.types, strict=True)):
        mine = tests == number
        if not mine.any():
            empty.append(name)
            continue
        counts = Counter(cells[mine].tolist())
        found.append(
            TestStats(
                test=name,
                type=kind,
                tier=TIERS[int(tiers[mine][0])],
                relations=tuple(RELATIONS[each] for each in np.unique(relations[mine]).tolist()),
                n_pairs=int(mine.sum()),
                cells={CELLS[cell]: counts[cell] for cell in sorted(counts)},
                n_yes=int((yes & mine).sum()),
                n_yes_no=int(((yes | no) & mine).sum()),
            )
        )
    return SuiteStats(pairs.suite, pairs.hop, pairs.split, pairs.n_originals, found, empty)
