"""Scores as text tables for people, and as one JSON object for programs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from clevrhope.metrics.results import Accuracy, Condition, Gap, Part, Scored, Scores
from clevrhope.splits.hops import PRELIM
from clevrhope.splits.kinds import SPLITS, VALUE_SPLITS

_NAME_WIDTH = 24


def scores_json(scores: Scores) -> dict[str, Any]:
    """The scores as JSON values, with the names and units of `clevrhope.metrics.results`."""
    return {**asdict(scores), "folder": str(scores.folder), "n_missing": scores.n_missing}


def scores_lines(scores: Scores) -> Iterator[str]:
    """The tables for each HOP and train size: its runs and their mean, then the breakdowns."""
    yield "Accuracies in per cent; gaps, out-of-distribution minus in-distribution, in points."
    for condition in scores.conditions:
        yield ""
        yield from _condition(condition)
        for by, parts in condition.breakdowns.items():
            yield from _breakdown(by, parts)
    alone = [each for each in scores.conditions if set(each.mean.splits) <= set(VALUE_SPLITS)]
    if len(alone) > 1:
        yield ""
        yield from _values_alone(alone)
    yield ""
    yield from _notes(scores)


def _condition(condition: Condition) -> Iterator[str]:
    trained = "" if condition.train_size is None else f", trained on {condition.train_size:,} questions"
    yield f"{condition.hop}{trained}"
    mean = condition.mean
    columns = [*mean.splits, *mean.gaps]
    width = 2 + max(14, *map(len, columns))
    yield _row("", [*mean.splits, *(f"{name} gap" for name in mean.gaps)], width)
    yield _row("questions", [f"{each.n_questions:,}" for each in mean.splits.values()], width)
    if condition.missing:
        yield _row("missing", [f"{condition.missing.get(split, 0):,}" for split in mean.splits], width)
    for run in condition.runs:
        name = "accuracy" if run.run is None else f"run {run.run}"
        yield _row(name, _cells(run.scored, columns, _value), width)
    if len(condition.runs) > 1:
        yield _row(f"mean of {len(condition.runs)} runs", _cells(mean, columns, _value), width)
        yield _row("deviation between runs", _cells(mean, columns, _deviation), width)
    if _has_intervals(mean):
        yield _row("95% interval", _cells(mean, columns, _interval), width)


def _values_alone(conditions: Sequence[Condition]) -> Iterator[str]:
    """One table for the preliminary HOPs, each of which asks for a single value."""
    width = 2 + (22 if any(_has_intervals(each.mean) for each in conditions) else 14)
    yield _row("each value alone", list(VALUE_SPLITS), width)
    for each in conditions:
        size = "" if each.train_size is None else f" {each.train_size:,}"
        cells = _cells(each.mean, VALUE_SPLITS, _value_and_interval)
        yield _row(f"  {each.hop.removeprefix(f'{PRELIM}_')}{size}", cells, width)


def _breakdown(by: str, parts: Sequence[Part]) -> Iterator[str]:
    """A breakdown, without splits that have a single part: a minimal set has one family and one object."""
    splits = Counter(name for part in parts for name in part.scored.splits)
    gaps = Counter(name for part in parts for name in part.scored.gaps)
    heads = {name: name for name in SPLITS if splits[name] > 1}
    heads |= {name: f"{name} gap" for name in sorted(gaps) if gaps[name] > 1}
    columns = list(heads)
    if not columns:
        return
    width = 2 + (22 if any(_has_intervals(each.scored) for each in parts) else 14)
    yield ""
    yield _row(f"  by {by}", list(heads.values()), width)
    for part in parts:
        cells = _cells(part.scored, columns, _value_and_interval)
        if any(cells):
            yield _row(f"  {part.name}", cells, width)


def _notes(scores: Scores) -> Iterator[str]:
    if scores.bootstrap:
        yield (
            f"95% intervals from {scores.bootstrap:,} draws of the images, each with its questions "
            f"(of values alone, of whole groups and sets); seed {scores.seed}."
        )
    if scores.n_missing:
        they = "question has" if scores.n_missing == 1 else "questions have"
        are = "is" if scores.n_missing == 1 else "are"
        yield f"{scores.n_missing:,} {they} no prediction and {are} left out."
    for note in scores.notes:
        yield f"Of these predictions: {note}."
    if scores.hops_missing:
        yield f"No prediction about {', '.join(scores.hops_missing)}."
    if scores.n_of_suites:
        yield f"{ignored(scores.n_of_suites, 'paired tests')}; --suite scores them."
    if scores.n_left_aside:
        yield f"{ignored(scores.n_left_aside, 'other HOPs')}."


def ignored(n: int, about: str) -> str:
    """The note that n predictions about something are ignored."""
    return f"{n:,} prediction{'s' * (n != 1)} about {about} {'is' if n == 1 else 'are'} ignored"


def _cells(scored: Scored, columns: Sequence[str], show: Callable[[Accuracy | Gap], str]) -> list[str]:
    found: Mapping[str, Accuracy | Gap] = {**scored.splits, **scored.gaps}
    return [show(found[name]) if name in found else "" for name in columns]


def _value(each: Accuracy | Gap) -> str:
    return f"{each.points:+.1f}" if isinstance(each, Gap) else f"{each.percent:.1f}"


def _deviation(each: Accuracy | Gap) -> str:
    return "" if each.deviation is None else f"{each.deviation:.1f}"


def _interval(each: Accuracy | Gap) -> str:
    if each.interval is None:
        return ""
    sign = "+" if isinstance(each, Gap) else ""
    return f"{each.interval.low:{sign}.1f} to {each.interval.high:{sign}.1f}"


def _value_and_interval(each: Accuracy | Gap) -> str:
    return f"{_value(each)} ({_interval(each)})" if each.interval else _value(each)


def _has_intervals(scored: Scored) -> bool:
    return any(each.interval for each in scored.splits.values())


def _row(name: str, cells: Sequence[str], width: int) -> str:
    return f"{name:<{_NAME_WIDTH}}{''.join(f'{cell:>{width}}' for cell in cells)}".rstrip()
