"""The report of the check for leaks, and its sentences in a datasheet."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from clevrhope._core import AuditViolation
from clevrhope.audit.report import Check, Fault, Found, Line, Lines
from clevrhope.config.question_settings import Strictness
from clevrhope.pages.markdown import listed
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import OOD, SPLITS


class Kind(StrEnum):
    """What a violation is about: the name of a line in the audit's report."""

    PROGRAM = "programs"
    PAIR = "held-out pair"
    PALETTE = "palette"
    SHARED = "apart"
    DISAGREEMENT = "HDF5 and JSON"
    GROUP = "groups"


LINES = (
    Line(Kind.PROGRAM, "questions", "every program, executed again, gives the stored answer"),
    Line(
        Kind.PAIR,
        "questions",
        "no train or IID image, program or text holds the pair, nor, with --strictness implied, does a "
        f"program imply it; every OOD question and {OOD} image does; every question about a value names it",
    ),
    Line(
        Kind.PALETTE,
        "images",
        "if not all combinations of values occur, no image shows another one, except the pair where it "
        "belongs, and no question of a pair names one",
    ),
    Line(Kind.SHARED, "images", "no image is in two splits of a pair, except the minimal ones"),
    Line(
        Kind.DISAGREEMENT,
        "questions",
        "HDF5, JSON and scene files agree on every question",
        ("question files",),
    ),
    Line(
        Kind.GROUP,
        "images",
        "in each group of images nothing changes but the pair's types or the value that is asked for; each "
        "question is asked about every image that it may be, and true of one; each counting set shows and "
        "has the answers 0 to 5, at the same positions",
    ),
)
"""The lines that the check for leaks fills."""

VIOLATIONS: Mapping[AuditViolation, tuple[Kind, str]] = {
    AuditViolation.WRONG_ANSWER: (Kind.PROGRAM, "its program gives {answer}, not the answer"),
    AuditViolation.NO_ANSWER: (Kind.PROGRAM, "its program has no answer ({why})"),
    AuditViolation.PROGRAM_MENTIONS: (Kind.PAIR, "mentions {pair} in its program"),
    AuditViolation.WORDS_MENTION: (Kind.PAIR, "mentions {pair} in its words"),
    AuditViolation.IMPLIES: (Kind.PAIR, "asks for a {pair} through likenesses"),
    AuditViolation.PROGRAM_LACKS_MENTION: (Kind.PAIR, "does not mention {pair} in its program"),
    AuditViolation.WORDS_LACK_MENTION: (Kind.PAIR, "does not mention {pair} in its words"),
    AuditViolation.PROGRAM_UNSEEN: (Kind.PALETTE, "asks for an unseen combination in its program"),
    AuditViolation.WORDS_UNSEEN: (Kind.PALETTE, "asks for an unseen combination in its words"),
}
"""The kind of each violation that the native readers find in questions, and the report's words for it."""


@dataclass(frozen=True)
class SplitCounts:
    """The counts for one split."""

    split: str
    pool: str
    n_questions: int
    n_images: int
    n_images_with_pair: int
    n_mentioning: int
    """Questions whose programs mention the pair."""
    n_implying: int
    """Questions that ask for the pair only through a relation."""
    n_described: int
    """With `--strictness chain`, questions that mention the pair by the default rule only."""
    n_no: int
    """Questions with the answer no."""
    has_json: bool = True
    """Whether the split has a question file, which was compared with its arrays."""
    strictness: Strictness = "description"
    """With `implied`, `n_implying` counts violations."""


@dataclass(frozen=True)
class LeakReport:
    """The counts for a sub-dataset, and the violations that were found."""

    hop: Hop
    splits: tuple[SplitCounts, ...]
    n_images: int
    """Number of images of all splits; those that the minimal sets share count once."""
    lines: Mapping[str, Check]
    """What was found, by `Kind`."""

    @property
    def violations(self) -> tuple[Fault, ...]:
        """The first `MAX_LISTED` faults of each line."""
        return tuple(fault for line in self.lines.values() for fault in line.faults)

    @property
    def n_violations(self) -> int:
        """Number of all faults."""
        return sum(line.n_faults for line in self.lines.values())

    @property
    def ok(self) -> bool:
        """Whether there are no violations."""
        return self.n_violations == 0

    def checked(self) -> tuple[str, ...]:
        """The proven statements, as sentences for the datasheet; empty if not `ok`."""
        if not self.ok:
            return ()
        n_questions = sum(each.n_questions for each in self.splits)
        found = [
            *(_sentence(each, self.hop) for each in self.splits),
            *_described(self.splits, self.hop),
            *_implied(self.splits, self.hop),
        ]
        if self.hop.palette:
            in_words = (
                ", and no question asks for one, in its program or its words" if self.hop.held_out else ""
            )
            found.append(f"No object has a combination of values that is not in the palette{in_words}.")
        apart = " except the minimal ones" if self.hop.held_out else ""
        agree = "; HDF5 and JSON agree on every question, program, answer and image"
        return (
            *found,
            f"No image is in two of these splits{apart}, and no scene is in two pools.",
            f"All {n_questions:,} programs, executed again, give the answers in the files"
            + (f"{agree}." if all(each.has_json for each in self.splits) else "."),
        )


def _sentence(counts: SplitCounts, hop: Hop) -> str:
    about = f"{counts.split}: {counts.n_questions:,} questions on {counts.n_images:,} images"
    if not hop.target:
        return f"{about}."
    kind = SPLITS[counts.split]
    if kind.drawn == "sets":
        return (
            f"{about}, in sets of 6: the images of a set have the same question, and from 0 to 5 objects "
            f'with the value "{hop.words}", each number once; every question asks for the value, in its '
            "program and its words."
        )
    if kind.asked == "anywhere":
        return f"{about}, of which {counts.n_mentioning:,} ask for a {hop.noun}."
    if kind.asked == "never":
        return (
            f"{about}; there is no {hop.noun} in any image, nor in the program or the words of any question."
        )
    if kind.shown == "in one":
        what = f"a {hop.noun}" if hop.held_out else f'the value "{hop.words}"'
        return (
            f"{about}; exactly one in {hop.corners} shows {what}, every question asks for it in its program "
            f"and its words, and exactly {100 - 100 / hop.corners:g}% of the answers are no."
        )
    return (
        f"{about}; there is a {hop.noun} in every image, and in the program and the words of every question."
    )


def _described(splits: Sequence[SplitCounts], hop: Hop) -> Iterator[str]:
    """With `--strictness chain`, a sentence on how many questions the default rule would not have made."""
    without = [each for each in splits if SPLITS[each.split].rule == "without"]
    if hop.held_out and without and splits[0].strictness == "chain":
        counted = [f"{each.n_described:,} of {each.split}" for each in without]
        yield (
            'Held out by --strictness chain: in a description that passes through "or" or "and", which the '
            f"default rule forbids, {listed(counted)} ask for a {hop.noun}."
        )


def _implied(splits: Sequence[SplitCounts], hop: Hop) -> Iterator[str]:
    """A sentence on how many questions imply the pair, or that none does if these are held out."""
    counted = [
        f"{each.n_implying:,} of {each.split}" for each in splits if SPLITS[each.split].rule == "without"
    ]
    if hop.held_out and counted:
        how = (
            "Through a relation alone (something with one value that must be like something with the other)"
            if splits[0].strictness != "implied"
            else "Held out by --strictness implied: through likenesses alone (something with one value that "
            "is or may be like something with the other)"
        )
        yield f"{how}, {listed(counted)} ask for a {hop.noun}."


def add_violations(
    lines: Lines,
    file: str,
    found: tuple[Sequence[tuple[int, AuditViolation]], Mapping[AuditViolation, int]],
    describe: Callable[[int, AuditViolation], Found],
) -> None:
    """Adds what a native reader found in questions of a file.

    Args:
        lines: the lines to which faults are added.
        file: the questions' file.
        found: rows with one violation each, and the total number of each violation.
        describe: returns the fault of a row's violation.
    """
    rows, counts = found
    for k, violation in rows:
        lines[VIOLATIONS[violation][0]].add(file, [describe(k, violation)])
    listed = Counter(violation for _, violation in rows)
    for violation, n in counts.items():
        lines[VIOLATIONS[violation][0]].n_faults += n - listed[violation]
