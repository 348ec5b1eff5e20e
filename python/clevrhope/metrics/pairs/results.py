"""The scores of pairs of questions. Shares are in per cent, differences in percentage points."""

from collections.abc import Mapping
from dataclasses import dataclass

from clevrhope.metrics.results import Interval


@dataclass(frozen=True, slots=True)
class Measure:
    """A share or a difference of two shares, for one run or as the mean over the runs that define it."""

    value: float | None
    """None, never 0, where the share's denominator is 0 in every run."""
    n: int
    """The denominator; in a mean over runs, the sum of the denominators."""
    interval: Interval | None = None
    """None without a bootstrap. It covers the sampling of images, not the variation between runs."""
    deviation: float | None = None
    """Standard deviation over two or more runs (ddof 1); else None."""


@dataclass(frozen=True, slots=True)
class PairScores:
    """The scores of a group of pairs, where D are the originals and D' the partners.

    Only pairs with both questions answered are scored. Sources: Jimenez et al., "CARETS", for ACC, CONS
    and C-ACC; Rosenberg et al., "Are VQA Systems RAD?", section 2.1, for RAD.
    """

    accuracy: Measure
    """ACC: the share of right answers over originals and partners together."""
    original_accuracy: Measure
    """Accuracy(D)."""
    partner_accuracy: Measure
    """Accuracy(D')."""
    consistency: Measure
    """CONS: the share of SAME pairs with equal answers and of other pairs with different answers. It does not
    use the right answers. If the partner is a yes/no question and the original is not, nearly all answers
    differ."""
    strict_consistency: Measure
    """The share of pairs whose answers satisfy the pair's relation and are of the kinds asked for. The right
    answers are not used. For yes/no pairs, SAME or FLIP, it is 1 - 2 (ACC - C-ACC) minus the share of pairs
    in which neither answer is right and one of them is neither yes nor no. Consistency is not accuracy: a
    model that mistakes one material for another can be fully consistent and often wrong."""
    both_right: Measure
    """C-ACC: the share of pairs with both answers right."""
    rad: Measure
    """RAD(D, D'): of the pairs with the original right, the share with the partner right too. It is C-ACC
    divided by Accuracy(D). If the two are right independently of each other, it is Accuracy(D')."""
    rad_backward: Measure
    """RAD(D', D): of the pairs with the partner right, the share with the original right too."""
    rad_minus_accuracy: Measure
    """RAD(D, D') minus Accuracy(D'), in percentage points."""
    n_pairs: int
    """Pairs with both questions answered. In a mean over runs, this and the next two are sums over runs."""
    n_missing: int
    """Pairs left out because a question was not answered."""
    n_unread: int
    """Answers that are not in the vocabulary, including those in pairs that are left out."""


@dataclass(frozen=True, slots=True)
class PairGroup:
    """The scores of all pairs, or of those in one part of a breakdown."""

    part: int | None
    """The part's number; None for all pairs."""
    runs: tuple[PairScores, ...]
    """In the order of the runs."""
    mean: PairScores
    """The mean over runs."""


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """The scores of K pairs; all groups and runs share the draws of images."""

    overall: PairGroup
    parts: Mapping[str, tuple[PairGroup, ...]]
    """Breakdown -> its parts that have a pair, by number."""
    bootstrap: int
    """Number of bootstrap samples; 0 for no intervals."""
    seed: int


@dataclass(frozen=True, slots=True)
class ValueScores:
    """How often a model that is asked about every value of an attribute says yes to exactly one of them."""

    one_yes: Measure
    """The share of groups in which exactly one partner got yes; only the answer yes counts as yes."""
    named_yes: Measure
    """The share of groups in which exactly one partner got yes and its value is the model's own answer to the
    original."""
    n_groups: int
    """Groups with all questions answered. In a mean over runs, this and the next two are sums over runs."""
    n_missing: int
    """Groups left out because a question was not answered."""
    n_unread: int
    """Answers that are not in the vocabulary, including those in groups that are left out."""


@dataclass(frozen=True, slots=True)
class ScoredValues:
    """The scores of groups of questions for each run, and their mean."""

    runs: tuple[ValueScores, ...]
    mean: ValueScores
    bootstrap: int
    seed: int


@dataclass(frozen=True, slots=True)
class CrossingScores:
    """How often a model is right about partners whose foil completes the held-out pair, and about controls.

    Only originals with both partners answered are scored.
    """

    crossing: Measure
    """Accuracy on the partners whose foil completes the held-out pair."""
    control: Measure
    """Accuracy on the partners of the same originals whose foil does not."""
    difference: Measure
    """Crossing minus control, in points. Below 0, the model says yes to the held-out pair more often."""
    n_originals: int
    """Originals scored. In a mean over runs, this and the next two are sums over runs."""
    n_missing: int
    """Originals left out because a partner was not answered."""
    n_unread: int
    """Answers that are not in the vocabulary, including those about originals that are left out."""


@dataclass(frozen=True, slots=True)
class ScoredCrossings:
    """The scores of crossings and their controls for each run, and their mean."""

    runs: tuple[CrossingScores, ...]
    mean: CrossingScores
    bootstrap: int
    seed: int
