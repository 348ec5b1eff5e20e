"""The scores of a suite as text tables for people, and as one JSON object for programs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clevrhope.metrics.pairs.results import CrossingScores, Measure, PairScores, ValueScores
from clevrhope.metrics.score_tables import ignored
from clevrhope.metrics.suites.results import Constant, SuiteCondition, SuiteScores, SuiteSplitScores

_NAME_WIDTH, _CELL_WIDTH, _COUNT_WIDTH, _CONSTANT_WIDTH = 28, 5, 8, 12

_COUNTS = {"pairs": "n_pairs", "missing": "n_missing", "unread": "n_unread"}
"""Heading -> field of `PairScores`."""

MEASURES = {
    "ACC": "accuracy",
    "CONS": "consistency",
    "strict": "strict_consistency",
    "C-ACC": "both_right",
    "Acc(D)": "original_accuracy",
    "Acc(D')": "partner_accuracy",
    "RAD": "rad",
    "RAD-Acc(D')": "rad_minus_accuracy",
    "RAD back": "rad_backward",
}
"""Heading -> field of `PairScores`. Consistency is never shown without accuracy."""

AGREEMENT = ("ACC", "CONS", "strict", "C-ACC")
"""The measures of the first table, by test and cell."""

ROBUSTNESS = ("Acc(D)", "Acc(D')", "RAD", "RAD-Acc(D')", "RAD back")
"""The measures of the second table; a single table would be wider than a terminal."""

ALL_CELLS = "all"
"""The cell of a row about all pairs: of a test in several cells, or where no pair of values is held out."""

CROSSING_MEASURES = {"completing": "crossing", "control": "control", "difference": "difference"}
"""Heading -> field of `CrossingScores`."""

GROUP_MEASURES = {"one yes": "one_yes", "named": "named_yes"}
"""Heading -> field of `ValueScores`."""

REPLY_MEASURES = {"yes": "yes", "no": "no", "other": "other", "yes is right": "right_yes"}
"""Heading -> field of `Replies`."""

_LEGEND = (
    "In per cent. D are the originals and D' their partners. ACC: right answers to all of them. CONS: equal",
    "answers where they should be equal, and different ones elsewhere; it needs no right answers, so read it",
    "beside ACC. strict: the relation holds, and the answers are of the right kind. C-ACC: both answers are",
    "right. RAD: right partners among the pairs with a right original; RAD back: the other way round.",
    "constant: Acc(D') of the answer, yes or no, that is right most often. cell: which question mentions",
    "the held-out pair: 00 neither, 01 the partner, 10 the original, 11 both.",
)


def suite_scores_json(scores: SuiteScores) -> dict[str, Any]:
    """The scores as JSON values, with the names and units of `clevrhope.metrics.suites`."""
    return {**asdict(scores), "folder": str(scores.folder), "n_missing": scores.n_missing}


def suite_scores_lines(scores: SuiteScores) -> Iterator[str]:
    """A table for each HOP, train size and split, with the runs, their mean and the breakdowns."""
    yield from _LEGEND
    for condition in scores.conditions:
        for split, each in condition.splits.items():
            yield ""
            yield from _split(scores, condition, split, each)
    yield ""
    yield from _notes(scores)


def _split(
    scores: SuiteScores, condition: SuiteCondition, split: str, scored: SuiteSplitScores
) -> Iterator[str]:
    trained = "" if condition.train_size is None else f", trained on {condition.train_size:,} questions"
    pairs = f"{scored.n_pairs:,} pair{'s' * (scored.n_pairs != 1)}"
    yield f"{condition.hop} {split}{trained}: {pairs} of {scores.suite}"
    rows = [*_rows(condition, scored)]
    counts = [name for name, field in _COUNTS.items() if name == "pairs" or _any(rows, field)]
    width = 13 if scores.bootstrap else 12
    yield from _Table(counts, AGREEMENT, width).lines(rows)
    yield ""
    yield from _Table((), ROBUSTNESS, width).lines([row for row in rows if row.name])
    yield from _shared_originals(scored, width)
    yield from _replies(condition, scored)


@dataclass(frozen=True)
class _Row:
    """A row of both tables."""

    name: str
    """The row's name; "" for a cell of the test above, which only the first table has."""
    scores: PairScores | None = None
    """None for a heading."""
    cell: str = ""
    constant: str = ""
    is_deviation: bool = False
    """Whether the row has the deviations of the scores over runs."""


def _rows(condition: SuiteCondition, scored: SuiteSplitScores) -> Iterator[_Row]:
    overall = scored.overall
    if len(condition.runs) > 1:
        for run, each in zip(condition.runs, overall.runs, strict=True):
            yield _Row("no run" if run is None else f"run {run}", each)
        yield _Row(f"mean of {len(condition.runs)} runs", overall.mean)
        yield _Row("deviation between runs", overall.mean, is_deviation=True)
    else:
        yield _Row(overall.name, overall.mean)
    yield _Row("  by test")
    for part in scored.parts["test"]:
        cells = scored.cells.get(part.name, ())
        cell = cells[0].name if len(cells) == 1 else ALL_CELLS
        constant = constant_text([scored.constants.get(part.name)]) or "-"
        yield _Row(f"  {part.name}", part.mean, cell, constant)
        if len(cells) > 1:
            yield from (_Row("", each.mean, each.name) for each in cells)
    for by, parts in scored.parts.items():
        if by != "test" and len(parts) > 1:
            yield _Row(f"  by {by}")
            yield from (_Row(f"  {part.name}", part.mean) for part in parts)


def _any(rows: Sequence[_Row], field: str) -> bool:
    return any(getattr(row.scores, field) for row in rows if row.scores is not None)


@dataclass(frozen=True)
class _Table:
    """A table with some of the counts and measures."""

    counts: Sequence[str]
    measures: Sequence[str]
    width: int
    """Width of a measure's column."""

    def lines(self, rows: Sequence[_Row]) -> Iterator[str]:
        """The header, then each row, followed by its intervals if it has any."""
        yield self._line("", "cell", self.counts, self.measures, "constant")
        for row in rows:
            if row.scores is None:
                yield row.name
                continue
            show = _deviation if row.is_deviation else _value
            counts = ["" if row.is_deviation else f"{getattr(row.scores, _COUNTS[k]):,}" for k in self.counts]
            yield self._line(row.name, row.cell, counts, self._shown(row.scores, show), row.constant)
            intervals = [] if row.is_deviation else self._shown(row.scores, _interval)
            if any(intervals):
                yield self._line("", "", [""] * len(counts), intervals, "")

    def _shown(self, scores: PairScores, show: Callable[[Measure, bool], str]) -> list[str]:
        return [show(getattr(scores, MEASURES[each]), each == _SIGNED) for each in self.measures]

    def _line(
        self, name: str, cell: str, counts: Sequence[str], measures: Sequence[str], constant: str
    ) -> str:
        texts = [f"{name:<{_NAME_WIDTH}}"]
        if self.measures is AGREEMENT:
            texts.append(f"{cell:>{_CELL_WIDTH}}")
        texts += [f"{each:>{_COUNT_WIDTH}}" for each in counts]
        for head, text in zip(self.measures, measures, strict=True):
            texts.append(f"{text:>{self.width}}")
            if head == "Acc(D')":
                texts.append(f"{constant:>{_CONSTANT_WIDTH}}")
        return "".join(texts).rstrip()


def constant_text(constants: Iterable[Constant | None]) -> str:
    """The mean of constants, with their answer if all have the same one; "" if there are none."""
    there = [each for each in constants if each]
    if not there:
        return ""
    answers = {each.answer for each in there}
    answer = f" ({answers.pop()})" if len(answers) == 1 else ""
    return f"{sum(each.percent for each in there) / len(there):.1f}{answer}"


_SIGNED = "RAD-Acc(D')"


def _shared_originals(scored: SuiteSplitScores, width: int) -> Iterator[str]:
    """The tables of crossings beside their controls, and of groups."""
    if scored.crossings:
        yield from _means(
            "  crossings, Acc(D')",
            [(each.name, each.mean.n_originals, each.mean) for each in scored.crossings],
            CROSSING_MEASURES,
            width,
        )
    if scored.groups:
        yield from _means(
            "  groups of all values",
            [(each.name, each.mean.n_groups, each.mean) for each in scored.groups],
            GROUP_MEASURES,
            width,
        )


def _means(
    title: str,
    rows: Sequence[tuple[str, int, CrossingScores | ValueScores]],
    measures: Mapping[str, str],
    width: int,
) -> Iterator[str]:
    heads = "".join(f"{head:>{width}}" for head in measures)
    yield f"{title:<{_NAME_WIDTH}}{'originals':>{_COUNT_WIDTH + 2}}{heads}"
    for name, n, mean in rows:
        shown: list[Measure] = [getattr(mean, field) for field in measures.values()]
        signed = [field == "difference" for field in measures.values()]
        for text, first in ((_value, f"{n:,}"), (_interval, "")):
            cells = [f"{text(each, sign):>{width}}" for each, sign in zip(shown, signed, strict=True)]
            line = (
                f"{f'    {name}' if first else '':<{_NAME_WIDTH}}{first:>{_COUNT_WIDTH + 2}}{''.join(cells)}"
            )
            if first or line.strip():
                yield line.rstrip()


def _replies(condition: SuiteCondition, scored: SuiteSplitScores) -> Iterator[str]:
    """A line for each run on its answers to yes/no questions."""
    for run, each in zip(condition.runs, scored.replies, strict=True):
        if each.n:
            of = f" of run {run}" if len(condition.runs) > 1 and run is not None else ""
            yield (
                f"  replies{of} to {each.n:,} questions for yes or no: yes {each.yes:.1f}, no {each.no:.1f}, "
                f"other {each.other:.1f}; yes is right for {each.right_yes:.1f}"
            )


def _notes(scores: SuiteScores) -> Iterator[str]:
    if scores.bootstrap:
        yield (
            f"95% intervals, below the values, from {scores.bootstrap:,} draws of the images, each with its "
            f"pairs; seed {scores.seed}."
        )
    splits = [split for each in scores.conditions for split in each.splits.values()]
    yield from trait_notes(splits)
    yield from _shared_original_notes(splits)
    if scores.n_missing:
        are = "pair lacks an answer and is" if scores.n_missing == 1 else "pairs lack an answer and are"
        more = "; and more" if scores.n_missing > len(scores.missing) else ""
        yield f"{scores.n_missing:,} {are} left out: {'; '.join(scores.missing)}{more}."
    for note in scores.notes:
        yield f"Of these predictions: {note}."
    if scores.hops_missing:
        yield f"No prediction about {', '.join(scores.hops_missing)}."
    if scores.n_left_aside:
        yield f"{ignored(scores.n_left_aside, 'other HOPs')}."
    if scores.n_of_suites:
        yield f"{ignored(scores.n_of_suites, 'other suites')}."


def trait_notes(splits: Sequence[SuiteSplitScores]) -> Iterator[str]:
    """Sentences about the tests whose scores have a different meaning from the others'."""
    same = dict.fromkeys(test for split in splits for test in split.same_programs)
    if same:
        yield (
            f"Both questions of every pair of {', '.join(same)} have the same program, so a model that is "
            "given programs has CONS 100 there by construction."
        )
    entailing = dict.fromkeys(test for split in splits for test in split.entailments)
    for split in splits:  # a test with few pairs may happen to have only yes on one split
        for part in split.parts["test"]:
            if part.name not in split.entailments:
                entailing.pop(part.name, None)
    if entailing:
        yield (
            f"All right answers of {', '.join(entailing)} are yes, so RAD is how often a model that says yes "
            "to the original says it to the partner, too."
        )


def _shared_original_notes(splits: Sequence[SuiteSplitScores]) -> Iterator[str]:
    if any(split.crossings for split in splits):
        yield (
            "Of a crossing, the foil completes the held-out pair with what the original says; of its "
            "control, on the same original, it does not. The difference is below 0 where a model says yes to "
            "the held-out pair more often."
        )
    if any(split.groups for split in splits):
        yield (
            "Of a group, one yes: the model says yes to one of all values; named: and that is the one that "
            "it gives as its answer to the original."
        )


def _value(measure: Measure, signed: bool) -> str:
    return "-" if measure.value is None else f"{measure.value:{'+' if signed else ''}.1f}"


def _deviation(measure: Measure, signed: bool) -> str:
    return "" if measure.deviation is None else f"{measure.deviation:.1f}"


def _interval(measure: Measure, signed: bool) -> str:
    if measure.interval is None:
        return ""
    sign = "+" if signed else ""
    return f"{measure.interval.low:{sign}.1f} {measure.interval.high:{sign}.1f}"
