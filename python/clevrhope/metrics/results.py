"""The results of `score`: accuracies, gaps and their intervals.

Accuracies are in per cent, gaps and deviations in percentage points.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% bootstrap interval, from the 2.5th to the 97.5th percentile."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of right answers, for one run or as the mean over runs."""

    percent: float
    interval: Interval | None
    """None without a bootstrap. It covers the sampling of the test set, not the variation between runs."""
    n_questions: int
    """Questions with a prediction; for a mean over runs, with a prediction in any of them."""
    n_pictures: int
    """Images of these questions, which the bootstrap draws (for preliminary sets, it draws whole sets)."""
    deviation: float | None = None
    """Standard deviation over two or more runs (ddof 1); else None."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Out-of-distribution minus in-distribution accuracy: negative for a drop (CLEVR-HOPE, section 4.2)."""

    points: float
    interval: Interval | None
    deviation: float | None = None
    """Standard deviation over two or more runs (ddof 1); else None."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Accuracies by split, and the gaps between two of them by name: "complex", "minimal", "val", "test"."""

    splits: Mapping[str, Accuracy]
    gaps: Mapping[str, Gap]


@dataclass(frozen=True, slots=True)
class Run:
    """One trained model."""

    run: str | None
    """The run's name in the predictions; None if they do not name it."""
    scored: Scored


@dataclass(frozen=True, slots=True)
class Part:
    """The scores on the questions of one family, answer type or number of objects, pooled over all runs."""

    name: str
    """`one_hop.json 3` (file and index in it), `color`, `yes/no`, `count`, or a number of objects."""
    scored: Scored


@dataclass(frozen=True, slots=True)
class Condition:
    """The scores of all runs for one held-out pair and train size."""

    hop: str
    train_size: int | None
    """Number of training questions according to the predictions; None if they do not give it."""
    runs: tuple[Run, ...]
    mean: Scored
    """The mean over the runs that have the split, or both splits of the gap."""
    breakdowns: Mapping[str, tuple[Part, ...]]
    """"family", "answer" or "objects" -> its parts, in order."""
    missing: Mapping[str, int]
    """Split -> questions without a prediction, summed over runs; empty unless `partial` is set."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The results of scoring, in the order of the folder's HOPs, then by train size."""

    folder: Path
    n_predictions: int
    """Number of predictions scored."""
    n_left_aside: int
    """Number of predictions ignored because their HOP was not to be scored."""
    bootstrap: int
    """Number of bootstrap samples; 0 for no intervals."""
    seed: int
    conditions: tuple[Condition, ...]
    hops_missing: tuple[str, ...] = field(default=())
    """HOPs of the folder without any prediction; empty unless `partial` is set."""
    notes: tuple[str, ...] = field(default=())
    """Notes from the files, such as "not trained on the splits". Print them beside every number made from
    these predictions."""
    n_of_suites: int = 0
    """Number of predictions about suites of paired tests, which `score_suite` scores."""

    @property
    def n_missing(self) -> int:
        """Number of questions without a prediction, not counting HOPs without any prediction."""
        return sum(sum(each.missing.values()) for each in self.conditions)

    def condition(self, hop: str, train_size: int | None = None) -> Condition:
        """The condition of a HOP and train size.

        Raises:
            KeyError: there is no such condition.
        """
        for each in self.conditions:
            if (each.hop, each.train_size) == (hop, train_size):
                return each
        raise KeyError((hop, train_size))
