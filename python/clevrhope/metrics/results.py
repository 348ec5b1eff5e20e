"""The results of `score`: accuracies, gaps and their intervals.

Accuracies are in per cent, gaps and deviations in percentage points.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Interval:
    """Where 95% of the bootstrap's values lie: from its 2.5th to its 97.5th percentile."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of right answers, of one run or in the mean over runs."""

    percent: float
    interval: Interval | None
    """None without a bootstrap. It covers the sampling of the test set, not that of runs."""
    n_questions: int
    """Questions with a prediction; in a mean over runs, with one in any of them."""
    n_pictures: int
    """Images of these questions, which the bootstrap draws (of preliminary sets, whole sets at once)."""
    deviation: float | None = None
    """Standard deviation over two or more runs (ddof 1); else None."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Out-of-distribution minus in-distribution accuracy: negative for a drop (CLEVR-HOPE, section 4.2)."""

    points: float
    interval: Interval | None
    deviation: float | None = None
    """As for an accuracy."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Accuracies by split, and the gaps between two of them by name: "complex", "minimal", "val", "test"."""

    splits: Mapping[str, Accuracy]
    gaps: Mapping[str, Gap]


@dataclass(frozen=True, slots=True)
class Run:
    """One trained model."""

    run: str | None
    """As the predictions name it; None when they do not."""
    scored: Scored


@dataclass(frozen=True, slots=True)
class Part:
    """The questions of one family, answer type or number of objects; all answers of all runs together."""

    name: str
    """`one_hop.json 3` (file and place in it), `color`, `yes/no`, `count`, or a number of objects."""
    scored: Scored


@dataclass(frozen=True, slots=True)
class Condition:
    """All that was predicted for one held-out pair after training on so many questions."""

    hop: str
    train_size: int | None
    """Training questions, as the predictions say; None when they do not."""
    runs: tuple[Run, ...]
    mean: Scored
    """The mean over the runs that have the split, or both splits of the gap."""
    breakdowns: Mapping[str, tuple[Part, ...]]
    """"family", "answer" or "objects" -> its parts, in order."""
    missing: Mapping[str, int]
    """Split -> questions without a prediction, summed over runs; only with `partial` is there any."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything that was scored, in the order of the folder's HOPs, then by train size."""

    folder: Path
    n_predictions: int
    """Predictions scored."""
    n_left_aside: int
    """Predictions about HOPs that were not to be scored."""
    bootstrap: int
    """Resamples behind each interval; 0 for none."""
    seed: int
    conditions: tuple[Condition, ...]
    hops_missing: tuple[str, ...] = field(default=())
    """HOPs of the folder without any prediction; only with `partial` are there any."""
    notes: tuple[str, ...] = field(default=())
    """Notes of the files that belong beside every number made from them, such as "not trained on the
    splits"."""
    n_of_suites: int = 0
    """Predictions about suites of paired tests, which are scored by suite."""

    @property
    def n_missing(self) -> int:
        """Questions without a prediction, except for HOPs without any."""
        return sum(sum(each.missing.values()) for each in self.conditions)

    def condition(self, hop: str, train_size: int | None = None) -> Condition:
        """The condition of a HOP and train size.

        Raises:
            KeyError: there is none.
        """
        for each in self.conditions:
            if (each.hop, each.train_size) == (hop, train_size):
                return each
        raise KeyError((hop, train_size))
