"""The scores of pairs of questions. Shares are in per cent, differences in percentage points."""

from collections.abc import Mapping
from dataclasses import dataclass

from clevrhope.metrics.results import Interval


@dataclass(frozen=True, slots=True)
class Measure:
    """A share, or a difference of two, of one run or in the mean over the runs in which it is defined."""

    value: float | None
    """None where the share has an empty denominator in every run; it is never 0 instead."""
    n: int
    """The denominator; in a mean over runs, its sum."""
    interval: Interval | None = None
    """None without a bootstrap. It covers the sampling of images, not that of runs."""
    deviation: float | None = None
    """Standard deviation over two or more runs (ddof 1); else None."""


@dataclass(frozen=True, slots=True)
class PairScores:
    """The scores of a group of pairs. D are its originals, D' its partners.

    Only pairs with both questions answered are scored. Sources: Jimenez et al., "CARETS", for ACC, CONS
    and C-ACC; Rosenberg et al., "Are VQA Systems RAD?", section 2.1, for RAD.
    """

    accuracy: Measure
    """ACC: right answers among those to the originals and partners together."""
    original_accuracy: Measure
    """Accuracy(D)."""
    partner_accuracy: Measure
    """Accuracy(D')."""
    consistency: Measure
    """CONS: equal answers to SAME pairs, different answers to all others. It needs no right answers. Where a
    partner is a yes/no question and its original is not, nearly any answers differ."""
    strict_consistency: Measure
    """The relation of the pair holds between the answers, which are of the kinds asked for. It needs no right
    answers. For yes/no pairs, SAME or FLIP, it is 1 - 2 (ACC - C-ACC) less the share of pairs in which
    neither answer is right and one of them is neither yes nor no. Consistency does not show accuracy: a model
    that takes one material for another can be consistent everywhere and often wrong."""
    both_right: Measure
    """C-ACC: both answers are right."""
    rad: Measure
    """RAD(D, D'): of the pairs with the original right, those with the partner right too. It is C-ACC divided
    by Accuracy(D). If being right about one question says nothing of the other, it is Accuracy(D')."""
    rad_backward: Measure
    """RAD(D', D): of the pairs with the partner right, those with the original right too."""
    rad_minus_accuracy: Measure
    """RAD(D, D') minus Accuracy(D'), in points."""
    n_pairs: int
    """Pairs with both questions answered; in a mean over runs, summed over them, as are the next two."""
    n_missing: int
    """Pairs with a question that was not answered, which are left out."""
    n_unread: int
    """Answers that were given but are not in the vocabulary, also in pairs that are left out."""


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
    """Resamples behind each interval; 0 for none."""
    seed: int


@dataclass(frozen=True, slots=True)
class ValueScores:
    """How often a model that is asked with every value of a type says yes to one of them alone."""

    one_yes: Measure
    """Groups in which exactly one partner got yes. Other answers than yes and no are not yes."""
    named_yes: Measure
    """Groups in which exactly one partner got yes and has the value that the model itself gave as its answer
    to the original."""
    n_groups: int
    """Groups with all questions answered; in a mean over runs, summed over them, as are the next two."""
    n_missing: int
    """Groups with a question that was not answered, which are left out."""
    n_unread: int
    """Answers that were given but are not in the vocabulary, also in groups that are left out."""


@dataclass(frozen=True, slots=True)
class ScoredValues:
    """The scores of groups of questions by run, and in the mean."""

    runs: tuple[ValueScores, ...]
    mean: ValueScores
    bootstrap: int
    seed: int


@dataclass(frozen=True, slots=True)
class CrossingScores:
    """How often a model is right where a foil completes what was held out, and beside it where one does not.

    Only originals of which both partners were answered are scored.
    """

    crossing: Measure
    """Accuracy on the partners whose foil completes what was held out."""
    control: Measure
    """Accuracy on the partners of the same originals whose foil does not."""
    difference: Measure
    """The first minus the second, in points: below 0, the model says yes to what was held out more often."""
    n_originals: int
    """Originals; in a mean over runs, summed over them, as are the next two."""
    n_missing: int
    """Originals with a partner that was not answered, which are left out."""
    n_unread: int
    """Answers that were given but are not in the vocabulary, also to what is left out."""


@dataclass(frozen=True, slots=True)
class ScoredCrossings:
    """The scores of crossings and their controls by run, and in the mean."""

    runs: tuple[CrossingScores, ...]
    mean: CrossingScores
    bootstrap: int
    seed: int
