"""The result of `clevrhope suite`, as text."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from clevrhope.describe.suites import CELLS
from clevrhope.splits.kinds import SPLITS

if TYPE_CHECKING:
    from clevrhope.pipeline.suite_maker import SuiteSplit

_NAME_WIDTH, _COUNT_WIDTH = 28, 8

_LEGEND = (
    "Columns 00 to 11 are pairs by who mentions the held-out pair: the first digit is 1 if the original",
    "does, the second if the partner does. A dash: no pair of the test can be there.",
)


def suite_lines(splits: "Sequence[SuiteSplit]", notes: Sequence[Sequence[str]] = ()) -> Iterator[str]:
    """For each split, a table of its pairs by test and cell; for a test without pairs, the reason.

    `notes` are sentences for each split.
    """
    for number, split in enumerate(splits):
        questions = counted(split.n_originals, "question")
        # Train sets with added questions are not in SPLITS.
        made = f"{questions} and {split.n_pairs:,} added"
        if split.split in SPLITS:
            made = f"{counted(split.n_pairs, 'pair')} on the images of {questions}"
        if split.n_before not in (0, split.n_pairs):
            made += f"; they replace the {split.n_before:,} that were there"
        yield f"{split.hop} {split.split}: {made}"
        has_cells = _has_cells(split)
        never = {test.test: test.impossible if has_cells else () for test in split.tests}
        cells = [cell for cell in CELLS if any(test.cells.get(cell) for test in split.tests)]
        if any(never.values()):
            cells = list(CELLS)
        cells = cells if has_cells else []
        heads = "".join(f"{head:>{_COUNT_WIDTH}}" for head in ("pairs", *cells))
        yield f"  {'':<{_NAME_WIDTH}}{'':<7}{heads}"
        for test in split.tests:
            counts = ["-" if cell in never[test.test] else f"{test.cells.get(cell, 0):,}" for cell in cells]
            row = "".join(f"{n:>{_COUNT_WIDTH}}" for n in (f"{test.n_pairs:,}", *counts))
            yield f"  {test.test:<{_NAME_WIDTH}}{test.tier:<7}{row}"
        remarks = [*_why_none(split), *_short_cells(split), *(notes[number] if notes else ())]
        for remark in remarks:
            yield from wrap(remark, 100, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
    if any(map(_has_cells, splits)):
        yield from _LEGEND


def _has_cells(split: "SuiteSplit") -> bool:
    """Whether pairs can be in several cells: on other splits, the split's rule allows only one cell."""
    return split.split in SPLITS and SPLITS[split.split].rule == "with"


def _short_cells(split: "SuiteSplit") -> Iterator[str]:
    """The cells that are not full, and how they could be filled."""
    short = [f"{test.test} {cell} by {n:,}" for test in split.tests for cell, n in test.short.items()]
    if short:
        yield f"Cells that are short of {counted(split.per_cell, 'pair')}: {', '.join(short)}"
        if split.origin == "questions":
            yield "With --from search, more originals are searched for on the images of the split."


def counted(n: int, noun: str) -> str:
    """A number with its noun: 1 pair, 2,000 pairs."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _why_none(split: "SuiteSplit") -> Iterator[str]:
    """The most common reasons why tests have no pairs, each with all tests to which it applies."""
    tests: dict[str, list[str]] = {}
    for test in split.tests:
        if test.n_pairs:
            continue
        reason = "no question of its families"
        if test.skipped:
            reason, n = max(test.skipped.items(), key=lambda item: item[1])
            reason += f" ({n:,} of {counted(sum(test.skipped.values()), 'question')})"
        tests.setdefault(reason, []).append(test.test)
    for reason, names in tests.items():
        yield f"No pairs of {', '.join(names)}: {reason}"
