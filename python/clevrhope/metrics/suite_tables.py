"""The scores of a suite as text tables for people."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clevrhope.metrics.measures import CROSSINGS, GROUPS, JOINED, PAIRS
from clevrhope.metrics.results import Condition, Results, Scores, SplitScores
from clevrhope.metrics.shares import Measures
from clevrhope.metrics.suite_groups import CONNECTIVE, COVERAGE
from clevrhope.metrics.suites import YES_NO
from clevrhope.metrics.text_tables import (
    Line,
    constant_text,
    deviation_text,
    interval_text,
    table_lines,
    value_text,
)
from clevrhope.pages import render_lines

_LEGEND_WIDTH = 105

_COUNTS = {"missing": "n_missing", "unread": "n_unread"}
"""Heading -> count, of those that are shown only where they are not 0."""

AGREEMENT = ("accuracy", "consistency", "strict_consistency", "both_right")
"""The measures of the first table, by test and cell."""

ROBUSTNESS = ("original_accuracy", "partner_accuracy", "rad", "rad_minus_accuracy", "rad_backward")
"""The measures of the second table; a single table would be wider than a terminal."""

ALL_CELLS = "all"
"""The cell of a row about all pairs: of a test in several cells, or where no pair of values is held out."""

ALL_PAIRS = "all pairs"
"""The name of the group of all pairs."""

MOST_COMPARED = 12
"""The most columns of a table in which runs are compared with each other."""

OTHER_GROUPS = ("crossings", "groups", CONNECTIVE, COVERAGE, YES_NO.by)
"""Groups with other measures than pairs have."""


def suite_lines(results: Results) -> Iterator[str]:
    """A table for each HOP, train size and split, with the runs, their mean and the breakdowns."""
    for line in render_lines("scores/pairs.md"):
        yield from textwrap.wrap(line, _LEGEND_WIDTH)
    for condition in results.conditions:
        for split, scores in condition.splits.items():
            yield ""
            yield from _split(results, condition, split, scores)


def _split(results: Results, condition: Condition, split: str, scores: SplitScores) -> Iterator[str]:
    trained = "" if condition.train_size is None else f", trained on {condition.train_size:,} questions"
    pairs = f"{scores.n:,} pair{'s' * (scores.n != 1)}"
    yield f"{condition.hop} {split}{trained}: {pairs} of {results.suite}"
    rows = [*_rows(condition, scores)]
    counts = [
        name for name, count in _COUNTS.items() if any(row.scores.counts[count] for row in rows if row.scores)
    ]
    after_accuracies = ROBUSTNESS.index("partner_accuracy") + 1
    robustness = [*ROBUSTNESS[:after_accuracies], "constant", "words", *ROBUSTNESS[after_accuracies:]]
    yield from _table("", ["cell", "pairs", *counts, *AGREEMENT], rows)
    yield ""
    yield from _table("", robustness, [row for row in rows if row.name])
    for by, title, counted, measures in (
        ("crossings", "  crossings, Acc(D')", "originals", CROSSINGS),
        ("groups", "  groups of all values", "originals", GROUPS),
        (CONNECTIVE, "  descriptions joined by", "pairs", JOINED),
    ):
        if parts := scores.by(by):
            means = [_Row(f"    {name}", scored.mean) for name, scored in parts.items()]
            yield from _table(title, [counted, *measures], means, measures)
    yield from _coverage(scores)
    yield from _replies(condition, scores)


@dataclass(frozen=True)
class _Row:
    """A row of both tables."""

    name: str
    """The row's name; "" for a cell of the test above, which only the first table has."""
    scores: Scores | None = None
    """None for a heading."""
    cell: str = ""
    constant: str = ""
    words: str = ""
    is_deviation: bool = False
    """Whether the row has the deviations of the scores over runs."""


def _rows(condition: Condition, split: SplitScores) -> Iterator[_Row]:
    if len(condition.runs) > 1:
        for run, scores in zip(condition.runs, split.runs, strict=True):
            yield _Row("no run" if run is None else f"run {run}", scores)
        yield _Row(f"mean of {len(condition.runs)} runs", split.mean)
        yield _Row("deviation between runs", split.mean, is_deviation=True)
    else:
        yield _Row(ALL_PAIRS, split.mean)
    yield _Row("  by test")
    for test, scored in split.by("test").items():
        cells = split.cells(test)
        cell = next(iter(cells)) if len(cells) == 1 else ALL_CELLS
        constant = constant_text([split.constants.get(test)]) or "-"
        of_words = split.words.get(test)
        words = "-" if of_words is None else f"{of_words:.1f}"
        yield _Row(f"  {test}", scored.mean, cell, constant, words)
        if len(cells) > 1:
            yield from (_Row("", of_cell.mean, name) for name, of_cell in cells.items())
    for by in dict.fromkeys(part.by for part in split.parts):
        parts = split.by(by)
        if by not in ("", "test", *OTHER_GROUPS) and len(parts) > 1:
            yield _Row(f"  by {by}")
            yield from (_Row(f"  {name}", of_part.mean) for name, of_part in parts.items())


def _table(
    title: str, columns: Sequence[str], rows: Sequence[_Row], measures: Measures = PAIRS
) -> Iterator[str]:
    """A table of counts, measures, cells and constants, in which intervals are below the values."""
    lines: list[Line] = [[title, *(measures[name].heading if name in measures else name for name in columns)]]
    for row in rows:
        if row.scores is None:
            lines.append(row.name)
            continue
        lines.append([row.name, *(_cell(row, row.scores, name, measures) for name in columns)])
        intervals = [
            interval_text(row.scores[name], measures[name].signed, " ") if name in measures else ""
            for name in columns
        ]
        if any(intervals) and not row.is_deviation:
            lines.append(["", *intervals])
    yield from table_lines(lines)


def _cell(row: _Row, scores: Scores, column: str, measures: Measures) -> str:
    if column in measures:
        show = deviation_text if row.is_deviation else value_text
        return show(scores[column], measures[column].signed)
    if column in ("cell", "constant", "words"):
        return {"cell": row.cell, "constant": row.constant, "words": row.words}[column]
    n = scores.counts[_COUNTS[column]] if column in _COUNTS else scores.n
    return "" if row.is_deviation else f"{n:,}"


def _coverage(split: SplitScores) -> Iterator[str]:
    """For each test of the paper, how much each run has right of what another one has right."""
    for test, scored in split.by(COVERAGE).items():
        names = list(scored.mean.measures)
        if len(names) <= MOST_COMPARED:
            rows = [
                [f"    {name}", *(value_text(scores[other]) for other in names)]
                for name, scores in zip(names, scored.runs, strict=True)
            ]
            yield from table_lines([[f"  coverage, {test}", *names], *rows])


def _replies(condition: Condition, split: SplitScores) -> Iterator[str]:
    """A line for each run on its answers to yes/no questions."""
    for run, replies in zip(condition.runs, split.parts[YES_NO].runs, strict=True):
        if n := replies.counts["n"]:
            of = f" of run {run}" if len(condition.runs) > 1 and run is not None else ""
            yes, no, other, right_yes = (
                value_text(replies[name]) for name in ("yes", "no", "other", "right_yes")
            )
            yield (
                f"  replies{of} to {n:,} questions for yes or no: yes {yes}, no {no}, other {other}; "
                f"yes is right for {right_yes}"
            )
