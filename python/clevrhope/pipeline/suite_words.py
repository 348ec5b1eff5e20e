"""What `clevrhope suite` made, as text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clevrhope.describe.suites import CELLS

if TYPE_CHECKING:
    from clevrhope.pipeline.suites import SuiteSplit, TestCounts

_NAME_WIDTH, _COUNT_WIDTH = 24, 9

_LEGEND = (
    "Columns 00 to 11 are pairs by who mentions the held-out pair: the first digit is 1 if the original",
    "does, the second if the partner does.",
)


def suite_lines(made: "Sequence[SuiteSplit]", notes: Sequence[Sequence[str]] = ()) -> Iterator[str]:
    """A table for each split, of its pairs by test and cell; for a test without pairs, why it has none.

    `notes` are sentences for each split.
    """
    for number, split in enumerate(made):
        pairs, questions = counted(split.n_pairs, "pair"), counted(split.n_originals, "question")
        yield f"{split.hop} {split.split}: {pairs} of {questions}"
        cells = [cell for cell in CELLS if any(test.cells.get(cell) for test in split.tests)]
        cells = cells if cells != ["00"] else []
        heads = "".join(f"{head:>{_COUNT_WIDTH}}" for head in ("pairs", *cells))
        yield f"  {'':<{_NAME_WIDTH}}{'':<7}{heads}"
        for test in split.tests:
            name = f"  {test.test:<{_NAME_WIDTH}}{test.tier:<7}"
            if test.n_pairs:
                counts = [f"{n:,}" if n else "" for n in map(test.cells.get, cells)]
                yield "".join(
                    [name, *(f"{n:>{_COUNT_WIDTH}}" for n in (f"{test.n_pairs:,}", *counts))]
                ).rstrip()
            else:
                yield f"{name}{0:>{_COUNT_WIDTH}}  {_why_none(test)}"
        for note in notes[number] if notes else ():
            yield f"  {note}"
    if any(cell != "00" for split in made for test in split.tests for cell in test.cells):
        yield from _LEGEND


def counted(n: int, noun: str) -> str:
    """A number and its noun: 1 pair, 2,000 pairs."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _why_none(test: "TestCounts") -> str:
    """The most common reason why questions have no partner."""
    if not test.skipped:
        return "no question of its families"
    reason, n = max(test.skipped.items(), key=lambda item: item[1])
    return f"{reason} ({n:,} of {counted(sum(test.skipped.values()), 'question')})"
