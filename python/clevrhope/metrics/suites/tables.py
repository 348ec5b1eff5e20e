"""The scores of a suite as tables of text for people, and as one JSON object for programs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clevrhope.metrics.pairs.results import CrossingScores, Measure, PairScores, ValueScores
from clevrhope.metrics.suites.results import SuiteCondition, SuiteScores, SuiteSplitScores

_NAME_WIDTH, _COUNT_WIDTH = 28, 8

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
"""Heading -> field of `PairScores`. Consistency never stands without accuracy."""

_TABLES = (("ACC", "CONS", "strict", "C-ACC"), ("Acc(D)", "Acc(D')", "RAD", "RAD-Acc(D')", "RAD back"))
"""The measures of each table: all in one would be wider than a terminal."""
CROSSING_MEASURES = {"completing": "crossing", "control": "control", "difference": "difference"}
"""Heading -> field of `CrossingScores`."""

GROUP_MEASURES = {"one yes": "one_yes", "named": "named_yes"}
"""Heading -> field of `ValueScores`."""

NOTABLE_CONSTANT = 60.0
"""Per cent of a test's partners about which a constant answer has to be right to be told of."""

_LEGEND = (
    "In per cent. D are the originals and D' their partners. ACC: right answers to all of them. CONS: equal",
    "answers where they should be equal, and different ones elsewhere; it needs no right answers, so read it",
    "beside ACC. strict: the relation holds, and the answers are of the right kind. C-ACC: both answers are",
    "right. RAD: right partners among the pairs with a right original; RAD back: the other way round.",
)


def suite_scores_json(scores: SuiteScores) -> dict[str, Any]:
    """The scores as JSON values; names and units are those of `clevrhope.metrics.suites`."""
    return {**asdict(scores), "folder": str(scores.folder), "n_missing": scores.n_missing}


def suite_scores_lines(scores: SuiteScores) -> Iterator[str]:
    """A table for each HOP, train size and split: the runs and their mean, then the breakdowns."""
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
    width = 14 if scores.bootstrap else 12
    for k, measures in enumerate(_TABLES):
        table = _Table(() if k else counts, measures, width)
        if k:
            yield ""
        yield table.head()
        for name, each in rows:
            if each is None:
                yield name
            elif name == _DEVIATION:
                yield table.row(name, each, _deviation, counts=False)
            else:
                yield table.row(name, each, _value)
                if any(getattr(each, MEASURES[measure]).interval for measure in measures):
                    yield table.row("", each, _interval, counts=False)
    yield from _together(scored, width)
    yield from _replies(condition, scored)


_DEVIATION = "deviation between runs"


def _rows(condition: SuiteCondition, scored: SuiteSplitScores) -> Iterator[tuple[str, PairScores | None]]:
    """The rows of both tables: names and scores, or a heading without scores."""
    overall = scored.overall
    if len(condition.runs) > 1:
        for run, each in zip(condition.runs, overall.runs, strict=True):
            yield "no run" if run is None else f"run {run}", each
        yield f"mean of {len(condition.runs)} runs", overall.mean
        yield _DEVIATION, overall.mean
    else:
        yield overall.name, overall.mean
    for by, parts in scored.parts.items():
        if len(parts) > 1:
            yield f"  by {by}", None
            for part in parts:
                yield f"  {part.name}", part.mean


def _any(rows: Sequence[tuple[str, PairScores | None]], field: str) -> bool:
    return any(getattr(each, field) for _, each in rows if each is not None)


@dataclass(frozen=True)
class _Table:
    """A table of some counts and measures."""

    counts: Sequence[str]
    measures: Sequence[str]
    width: int
    """Of a measure."""

    def head(self) -> str:
        cells = [f"{name:>{_COUNT_WIDTH}}" for name in self.counts]
        cells += [f"{name:>{self.width}}" for name in self.measures]
        return f"{'':<{_NAME_WIDTH}}{''.join(cells)}".rstrip()

    def row(
        self, name: str, scores: PairScores, show: Callable[[Measure, bool], str], *, counts: bool = True
    ) -> str:
        numbers = [f"{getattr(scores, _COUNTS[each]):,}" if counts else "" for each in self.counts]
        cells = [f"{each:>{_COUNT_WIDTH}}" for each in numbers]
        cells += [
            f"{show(getattr(scores, MEASURES[each]), each == _SIGNED):>{self.width}}"
            for each in self.measures
        ]
        return f"{name:<{_NAME_WIDTH}}{''.join(cells)}".rstrip()


_SIGNED = "RAD-Acc(D')"


def _together(scored: SuiteSplitScores, width: int) -> Iterator[str]:
    """Crossings beside their controls, and groups."""
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
    """A line for each run on its replies to questions for yes or no."""
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
    by_construction = dict.fromkeys(
        test for each in scores.conditions for split in each.splits.values() for test in split.same_programs
    )
    if by_construction:
        yield (
            f"Both questions of every pair of {', '.join(by_construction)} have the same program, so a model "
            "that is given programs has CONS 100 there by construction."
        )
    yield from _of_fixed_answers(scores)
    if scores.n_missing:
        are = "pair lacks an answer and is" if scores.n_missing == 1 else "pairs lack an answer and are"
        more = "; and more" if scores.n_missing > len(scores.missing) else ""
        yield f"{scores.n_missing:,} {are} left out: {'; '.join(scores.missing)}{more}."
    for note in scores.notes:
        yield f"Of these predictions: {note}."
    if scores.hops_missing:
        yield f"No prediction about {', '.join(scores.hops_missing)}."
    if scores.n_left_aside:
        yield f"{scores.n_left_aside:,} predictions about other HOPs are ignored."
    if scores.n_of_suites:
        yield f"{scores.n_of_suites:,} predictions about other suites are ignored."


def _of_fixed_answers(scores: SuiteScores) -> Iterator[str]:
    splits = [split for each in scores.conditions for split in each.splits.values()]
    entailing = dict.fromkeys(test for split in splits for test in split.entailments)
    if entailing:
        yield (
            f"All right answers of {', '.join(entailing)} are yes, so RAD is how often a model that says yes "
            "to the original says it to the partner, too."
        )
    said = dict.fromkeys(
        f"{test} {each.percent:.1f} ({each.answer})"
        for split in splits
        for test, each in split.constants.items()
        if each.percent >= NOTABLE_CONSTANT
    )
    if said:
        yield f"Acc(D') of a constant answer: {', '.join(said)}."
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
