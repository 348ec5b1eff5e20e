"""The scores of a suite of paired tests, by split and by group of pairs; shares are in per cent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clevrhope.metrics.pairs.results import CrossingScores, PairScores, ValueScores
from clevrhope.metrics.suites.questions import Replies


@dataclass(frozen=True, slots=True)
class SuitePart:
    """The scores of all pairs of a split, or of the pairs in one part of a breakdown."""

    name: str
    """The part's name, such as a test, type or cell; "all pairs" for all of them."""
    runs: tuple[PairScores, ...]
    """In the order of the condition's runs."""
    mean: PairScores
    """The mean over runs."""


@dataclass(frozen=True, slots=True)
class SuiteCrossing:
    """The scores of a test whose foils complete the held-out pair, beside those of its control."""

    name: str
    """The test."""
    control: str
    """The test on the same originals whose foils do not complete the held-out pair."""
    runs: tuple[CrossingScores, ...]
    """In the order of the condition's runs."""
    mean: CrossingScores


@dataclass(frozen=True, slots=True)
class SuiteGroups:
    """The scores of a test in which each original has a partner for every value of an attribute."""

    name: str
    """The test."""
    runs: tuple[ValueScores, ...]
    """In the order of the condition's runs."""
    mean: ValueScores


@dataclass(frozen=True, slots=True)
class Constant:
    """The answer that is right most often about the partners of a test, and its Acc(D') in per cent."""

    answer: str
    percent: float


@dataclass(frozen=True, slots=True)
class SuiteSplitScores:
    """The scores of the pairs on one split."""

    n_pairs: int
    """Number of pairs of the suite, whether answered or not."""
    overall: SuitePart
    parts: Mapping[str, tuple[SuitePart, ...]]
    """"test", "type", "tier" and "asks" (what the partner asks for) -> its non-empty parts. "step" covers
    only the ontology tests, by their direction."""
    cells: Mapping[str, tuple[SuitePart, ...]]
    """Test -> its non-empty cells; empty where no pair of values is held out. Cell "10" has the pairs whose
    original mentions the held-out pair and whose partner does not. Cells are never pooled over tests, because
    the same cell does not come from the same tests."""
    beyond: tuple[str, ...]
    """Tests whose pairs are all of tier "beyond": they use words or functions that the dataset lacks."""
    same_programs: tuple[str, ...]
    """Tests in which both questions of every pair have the same program. A model that is given programs gives
    both the same answer, whatever it has learned."""
    replies: tuple[Replies, ...]
    """How each run answers the yes/no questions."""
    crossings: tuple[SuiteCrossing, ...] = ()
    """The tests that have a control."""
    groups: tuple[SuiteGroups, ...] = ()
    """The tests in which an original has several partners."""
    entailments: tuple[str, ...] = ()
    """Tests in which yes is the right answer to both questions of every pair. There RAD is the share of pairs
    answered yes to the partner, among those answered yes to the original."""
    constants: Mapping[str, Constant] = field(default_factory=dict)
    """For each test whose partners are yes/no questions, the best constant answer to them."""


@dataclass(frozen=True, slots=True)
class SuiteCondition:
    """The scores of all runs for one held-out pair and train size."""

    hop: str
    train_size: int | None
    """Number of training questions according to the predictions; None if they do not give it."""
    runs: tuple[str | None, ...]
    """Names of the runs; None for one without a name."""
    splits: Mapping[str, SuiteSplitScores]


@dataclass(frozen=True, slots=True)
class SuiteScores:
    """The scores of a suite, in the order of the folder's HOPs, then by train size."""

    folder: Path
    suite: str
    tier: str
    """"in" or "beyond" if only the pairs of one tier are scored, else "both"."""
    n_predictions: int
    """Number of predictions read for the suite and for the splits' own questions."""
    n_left_aside: int
    """Number of predictions ignored because their HOP was not to be scored."""
    n_of_suites: int
    """Number of predictions about other suites."""
    bootstrap: int
    """Number of bootstrap samples; 0 for no intervals."""
    seed: int
    conditions: tuple[SuiteCondition, ...]
    missing: tuple[str, ...] = field(default=())
    """The first pairs that were left out, each with the question that lacks an answer."""
    hops_missing: tuple[str, ...] = field(default=())
    """HOPs with the suite but without any prediction."""
    notes: tuple[str, ...] = field(default=())
    """Notes from the files. Print them beside every number made from these predictions."""

    @property
    def n_missing(self) -> int:
        """Number of pairs left out because a question was not answered, summed over runs."""
        return sum(split.overall.mean.n_missing for each in self.conditions for split in each.splits.values())

    def condition(self, hop: str, train_size: int | None = None) -> SuiteCondition:
        """The condition of a HOP and train size.

        Raises:
            KeyError: there is no such condition.
        """
        for each in self.conditions:
            if (each.hop, each.train_size) == (hop, train_size):
                return each
        raise KeyError((hop, train_size))
