"""The scores of a suite of paired tests, by split and by group of pairs; shares are in per cent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clevrhope.metrics.pairs.results import CrossingScores, PairScores, ValueScores
from clevrhope.metrics.suites.questions import Replies


@dataclass(frozen=True, slots=True)
class SuitePart:
    """The scores of all pairs of a split, or of those in one part of a breakdown."""

    name: str
    """Of the part: a test, a type, a cell or another; "all pairs" for all."""
    runs: tuple[PairScores, ...]
    """In the order of the condition's runs."""
    mean: PairScores
    """The mean over runs."""


@dataclass(frozen=True, slots=True)
class SuiteCrossing:
    """The scores of a test whose foils complete what is held out, beside those of its control."""

    name: str
    """The test."""
    control: str
    """The test of the same originals whose foils do not complete it."""
    runs: tuple[CrossingScores, ...]
    """In the order of the condition's runs."""
    mean: CrossingScores


@dataclass(frozen=True, slots=True)
class SuiteGroups:
    """The scores of a test in which each original has a partner for every value of a type."""

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
    """Pairs of the suite, answered or not."""
    overall: SuitePart
    parts: Mapping[str, tuple[SuitePart, ...]]
    """"test", "type", "tier" and "asks" (what the partner asks for) -> its parts that have a pair of
    questions. "step" is about the tests of ontology alone, by their direction."""
    cells: Mapping[str, tuple[SuitePart, ...]]
    """Test -> its cells that have a pair of questions; empty where no pair of values is held out. A cell is
    "10" if the original mentions the held-out pair and the partner does not. Cells of several tests are never
    pooled: they are not those of the same tests."""
    beyond: tuple[str, ...]
    """Tests whose pairs are all of tier "beyond": they have words or functions that the dataset has not."""
    same_programs: tuple[str, ...]
    """Tests whose pairs all have the same program on both sides: a model that is given programs gives the
    same answer to both, whatever it has learned."""
    replies: tuple[Replies, ...]
    """What each run says to the questions for yes or no."""
    crossings: tuple[SuiteCrossing, ...] = ()
    """The tests that have a control."""
    groups: tuple[SuiteGroups, ...] = ()
    """The tests with several partners of an original."""
    entailments: tuple[str, ...] = ()
    """Tests in which yes is the right answer to both questions of every pair. There RAD is the share of pairs
    in which yes to the original goes with yes to the partner, among those with yes to the original."""
    constants: Mapping[str, Constant] = field(default_factory=dict)
    """For each test whose partners are yes/no questions, the best constant answer to them."""


@dataclass(frozen=True, slots=True)
class SuiteCondition:
    """All that was predicted for one held-out pair after training on so many questions."""

    hop: str
    train_size: int | None
    """Training questions, as the predictions say; None when they do not."""
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
    """Predictions read for the suite and for the splits' own questions."""
    n_left_aside: int
    """Predictions about HOPs that were not to be scored."""
    n_of_suites: int
    """Predictions about other suites."""
    bootstrap: int
    """Resamples behind each interval; 0 for none."""
    seed: int
    conditions: tuple[SuiteCondition, ...]
    missing: tuple[str, ...] = field(default=())
    """The first pairs that are left out, and the question that lacks an answer."""
    hops_missing: tuple[str, ...] = field(default=())
    """HOPs with the suite but without any prediction."""
    notes: tuple[str, ...] = field(default=())
    """Notes of the files that belong beside every number made from them."""

    @property
    def n_missing(self) -> int:
        """Pairs that are left out because a question was not answered, summed over runs."""
        return sum(split.overall.mean.n_missing for each in self.conditions for split in each.splits.values())

    def condition(self, hop: str, train_size: int | None = None) -> SuiteCondition:
        """The condition of a HOP and train size.

        Raises:
            KeyError: there is none.
        """
        for each in self.conditions:
            if (each.hop, each.train_size) == (hop, train_size):
                return each
        raise KeyError((hop, train_size))
