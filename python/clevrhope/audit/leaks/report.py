"""The report of the check for leaks; its sentences in a datasheet are the template parts/leaks.md."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clevrhope._core import AuditViolation
from clevrhope.audit.report import Fault, Found, Results
from clevrhope.config.question_settings import Strictness
from clevrhope.pages import render_markdown
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS


class LeakKind(StrEnum):
    """What a violation is about: the name of a line in the audit's report."""

    PROGRAM = "programs"
    PAIR = "held-out pair"
    PALETTE = "palette"
    SHARED = "apart"
    DISAGREEMENT = "HDF5 and JSON"
    GROUP = "groups"


VIOLATIONS: Mapping[AuditViolation, tuple[LeakKind, str]] = {
    AuditViolation.WRONG_ANSWER: (LeakKind.PROGRAM, "its program gives {answer}, not the answer"),
    AuditViolation.NO_ANSWER: (LeakKind.PROGRAM, "its program has no answer ({why})"),
    AuditViolation.PROGRAM_MENTIONS: (LeakKind.PAIR, "mentions {pair} in its program"),
    AuditViolation.WORDS_MENTION: (LeakKind.PAIR, "mentions {pair} in its words"),
    AuditViolation.IMPLIES: (LeakKind.PAIR, "asks for {a_pair} through likenesses"),
    AuditViolation.PROGRAM_LACKS_MENTION: (LeakKind.PAIR, "does not mention {pair} in its program"),
    AuditViolation.WORDS_LACK_MENTION: (LeakKind.PAIR, "does not mention {pair} in its words"),
    AuditViolation.PROGRAM_UNSEEN: (LeakKind.PALETTE, "asks for an unseen combination in its program"),
    AuditViolation.WORDS_UNSEEN: (LeakKind.PALETTE, "asks for an unseen combination in its words"),
}
"""The kind of each violation that the native readers find in questions, and the report's words for it."""


@dataclass(frozen=True)
class SplitCounts:
    """The counts for one split."""

    split: str
    n_questions: int
    n_images: int
    n_mentioning: int
    """Questions whose programs mention the pair."""
    n_implying: int
    """Questions that ask for the pair only through a relation."""
    n_described: int
    """With `--strictness chain`, questions that mention the pair by the default rule only."""
    has_json: bool
    """Whether the split has a question file, which was compared with its arrays."""


@dataclass(frozen=True)
class LeakReport:
    """The counts for a sub-dataset, and the violations that were found."""

    hop: Hop
    splits: tuple[SplitCounts, ...]
    results: Results
    """What was found, by `LeakKind`."""
    strictness: Strictness
    """With `implied`, `n_implying` of splits counts violations."""

    @property
    def violations(self) -> tuple[Fault, ...]:
        """The first `MAX_LISTED` faults of each line."""
        return tuple(fault for result in self.results.values() for fault in result.faults)

    @property
    def n_violations(self) -> int:
        """Number of all faults."""
        return sum(result.n_faults for result in self.results.values())

    @property
    def ok(self) -> bool:
        """Whether there are no violations."""
        return self.n_violations == 0

    def checked(self) -> tuple[str, ...]:
        """The proven statements, as sentences for the datasheet; empty if not `ok`."""
        if not self.ok:
            return ()
        without = [split for split in self.splits if SPLITS[split.split].rule == "without"]
        text = render_markdown(
            "parts/leaks.md",
            **{"hop": self.hop, "splits": self.splits, "without": without},
            **{"kinds": SPLITS, "strictness": self.strictness},
        )
        return tuple(text.strip().split("\n\n"))


def add_violations(
    results: Results,
    file: str,
    found: tuple[Sequence[tuple[int, AuditViolation]], Mapping[AuditViolation, int]],
    describe: Callable[[int, AuditViolation], Found],
) -> None:
    """Adds what a native reader found in questions of a file.

    Args:
        results: those to which faults are added.
        file: the questions' file.
        found: rows with one violation each, and the total number of each violation.
        describe: returns the fault of a row's violation.
    """
    rows, counts = found
    for k, violation in rows:
        results[VIOLATIONS[violation][0]].add(file, [describe(k, violation)])
    listed = Counter(violation for _, violation in rows)
    for violation, n in counts.items():
        results[VIOLATIONS[violation][0]].n_faults += n - listed[violation]
