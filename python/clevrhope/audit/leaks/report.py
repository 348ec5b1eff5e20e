"""What the check for leaks counted and found in, its report and the datasheet's sentences out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from clevrhope.audit.fault import Fault
from clevrhope.splits.hops import Hop
from clevrhope.splits.kinds import SPLITS

MAX_LISTED = 100
"""Violations of a kind that a report lists; it counts them all."""

OF_A_SET = 6
"""Images of a counting set."""


class Kind(Enum):
    """What a violation is about; its value is the name of the audit's line."""

    PROGRAM = "programs"
    """A program that does not give the stored answer."""
    PAIR = "held-out pair"
    """An image or question with the pair where it must not be, or without it where it must be."""
    PALETTE = "palette"
    """An image or question with a combination of values that is not in the palette."""
    SHARED = "apart"
    """An image in two splits."""
    DISAGREEMENT = "HDF5 and JSON"
    """Files that are missing, or say different things of the same question."""
    GROUP = "minimal answers"
    """A group of images whose questions or answers are not those of a group."""


@dataclass(frozen=True)
class Violation(Fault):
    """A fault that the check for leaks found."""

    kind: Kind


@dataclass(frozen=True)
class SplitCounts:
    """What was looked at in a split, all of it."""

    split: str
    pool: str
    n_questions: int
    n_images: int
    n_images_with_pair: int
    n_mentioning: int
    """Questions that mention the pair, by their programs."""
    n_implying: int
    """Questions that ask for the pair by way of a relation alone."""
    n_no: int
    """Questions answered no."""
    has_json: bool = True
    """The split has a question file, which says what its arrays say."""
    may_imply: bool = True
    """The folder is not held to `--strictness implied`, so `n_implying` is a count and no violation."""


@dataclass(frozen=True)
class LeakReport:
    """What was checked of a sub-dataset, and what was found."""

    hop: Hop
    splits: tuple[SplitCounts, ...]
    violations: tuple[Violation, ...]
    """The first `MAX_LISTED` of each kind, as they were found."""
    counts: Mapping[Kind, int]
    """How many there are of each kind; kinds without any are left out."""

    @property
    def n_violations(self) -> int:
        """How many there are in all."""
        return sum(self.counts.values())

    @property
    def ok(self) -> bool:
        """Whether everything was in order."""
        return self.n_violations == 0

    def checked(self) -> tuple[str, ...]:
        """What was looked at and found in order, a sentence each, for the datasheet; none if not `ok`."""
        if not self.ok:
            return ()
        n_questions = sum(each.n_questions for each in self.splits)
        return (
            *(_sentence(each, self.hop) for each in self.splits),
            *_implied(self.splits, self.hop),
            *_palette_sentences(self.hop),
            "No image is in two of these splits"
            + (", the two minimal ones apart" if self.hop.pair else "")
            + ", and no scene of one pool is a copy of another pool's.",
            f"All {n_questions:,} programs, executed again, give the answers in the files"
            + (
                "; HDF5 and JSON agree on every question, program, answer and image."
                if all(each.has_json for each in self.splits)
                else "."
            ),
        )


def _palette_sentences(hop: Hop) -> list[str]:
    if not hop.palette:
        return []
    asked = ", and no question asks for one, in its program or its words" if hop.pair else ""
    return [f"No object has a combination of values that the palette has not{asked}."]


def _sentence(counts: SplitCounts, hop: Hop) -> str:
    about = f"{counts.split}: {counts.n_questions:,} questions on {counts.n_images:,} images"
    if not hop.target:
        return f"{about}."
    kind = SPLITS[counts.split]
    if kind.drawn == "sets":
        return (
            f"{about}, in sets of {OF_A_SET}, whose images are asked the same and have from 0 to "
            f'{OF_A_SET - 1} objects with the value "{hop.words}", each once; every question asks for it, in '
            "its program and its words."
        )
    if kind.asked == "never":
        return f"{about}; no {hop.noun} in any image, nor in any question, be it in its program or its words."
    if kind.shown == "in one":
        what = f"a {hop.noun}" if hop.pair else f'the value "{hop.words}"'
        return (
            f"{about}; exactly one in {hop.corners} shows {what}, every question asks for it, in its "
            f"program and its words, and exactly {100 - 100 / hop.corners:g}% of the answers are no."
        )
    return f"{about}; a {hop.noun} in every image and in every question, in its program and its words."


def _implied(splits: Sequence[SplitCounts], hop: Hop) -> Iterator[str]:
    """How many questions ask for the pair without saying so; none may where likenesses count."""
    counted = [
        f"{each.n_implying:,} of {each.split}" for each in splits if SPLITS[each.split].rule == "without"
    ]
    if hop.pair and counted and not splits[0].may_imply:
        yield (
            "Held out by --strictness implied: by way of likenesses alone (something of one value that is "
            f"or may be like something of the other), {' and '.join(counted)} ask for a {hop.noun}."
        )
    elif hop.pair and counted:
        yield (
            "By way of a relation alone (something of one value that is to be like something of the other), "
            f"{' and '.join(counted)} ask for a {hop.noun}."
        )


class Found:
    """Violations, as they are found."""

    def __init__(self) -> None:
        self.listed: list[Violation] = []
        self.counts: Counter[Kind] = Counter()

    def add(self, kind: Kind, file: str, index: int | None, problem: str, value: object) -> None:
        """Counts one, and lists it among the first of its kind."""
        self.counts[kind] += 1
        if self.counts[kind] <= MAX_LISTED:
            self.listed.append(Violation(file, index, problem, str(value), kind))
