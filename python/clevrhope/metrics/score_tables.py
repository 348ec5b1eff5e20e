"""Scores as text tables for people, and as one JSON object for programs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from clevrhope.metrics.results import Condition, Measure, Part, Results, Scores
from clevrhope.splits.hops import PRELIM
from clevrhope.splits.kinds import SPLITS, VALUE_SPLITS

_NAME_WIDTH = 24


def scores_json(results: Results) -> dict[str, Any]:
    """The scores as JSON values; docs/predictions.md describes them."""
    return {
        "folder": str(results.folder),
        "n_predictions": results.n_predictions,
        "n_left_aside": results.n_left_aside,
        "bootstrap": results.bootstrap,
        "seed": results.seed,
        "conditions": [_condition_json(each) for each in results.conditions],
        "hops_missing": results.hops_missing,
        "notes": results.notes,
        "n_of_suites": results.n_of_suites,
        "n_missing": results.n_missing,
    }


def _condition_json(condition: Condition) -> dict[str, Any]:
    return {
        "hop": condition.hop,
        "train_size": condition.train_size,
        "runs": [
            {"run": run, "scored": _scored_json(condition, Part(), k)} for k, run in enumerate(condition.runs)
        ],
        "mean": _scored_json(condition, Part()),
        "breakdowns": {
            by: [{"name": name, "scored": _scored_json(condition, Part(by, name))} for name in names]
            for by, names in condition.breakdowns.items()
        },
        "missing": condition.missing,
    }


def accuracy_json(scores: Scores) -> dict[str, Any]:
    """An accuracy with its interval, and the numbers of questions and images."""
    measure = scores["accuracy"]
    return {
        "percent": measure.value,
        "interval": measure.interval and asdict(measure.interval),
        "n_questions": scores.counts["n_questions"],
        "n_images": scores.counts["n_images"],
        "deviation": measure.deviation,
    }


def _scored_json(condition: Condition, part: Part, run: int | None = None) -> dict[str, Any]:
    accuracies, gaps = _of_part(condition, part, run)
    return {
        "splits": {split: accuracy_json(scores) for split, scores in accuracies.items()},
        "gaps": {
            name: {
                "points": (gap := scores["gap"]).value,
                "interval": gap.interval and asdict(gap.interval),
                "deviation": gap.deviation,
            }
            for name, scores in gaps.items()
        },
    }


def _of_part(
    condition: Condition, part: Part, run: int | None = None
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    """Accuracies by split and gaps by name that a part has, of one run (by its place) or as the mean."""
    found: list[dict[str, Scores]] = []
    for of, measure in ((condition.splits, "accuracy"), (condition.gaps, "gap")):
        scored = {name: each.parts[part] for name, each in of.items() if part in each.parts}
        scores = {name: each.mean if run is None else each.runs[run] for name, each in scored.items()}
        found.append({name: each for name, each in scores.items() if each[measure].value is not None})
    return found[0], found[1]


def scores_lines(results: Results) -> Iterator[str]:
    """The tables for each HOP and train size: its runs and their mean, then the breakdowns."""
    yield "Accuracies in per cent; gaps, out-of-distribution minus in-distribution, in points."
    for condition in results.conditions:
        yield ""
        yield from _condition(condition)
        for by, names in condition.breakdowns.items():
            yield from _breakdown(condition, by, names)
    alone = [each for each in results.conditions if set(each.splits) <= set(VALUE_SPLITS)]
    if len(alone) > 1:
        yield ""
        yield from _values_alone(alone)
    yield ""
    yield from _notes(results)


def _condition(condition: Condition) -> Iterator[str]:
    trained = "" if condition.train_size is None else f", trained on {condition.train_size:,} questions"
    yield f"{condition.hop}{trained}"
    mean = _measures(condition, Part())
    columns = list(mean)
    width = 2 + max(14, *map(len, columns))
    splits = condition.splits
    yield _row("", columns, width)
    yield _row("questions", [f"{each.mean.counts['n_questions']:,}" for each in splits.values()], width)
    if condition.missing:
        yield _row("missing", [f"{condition.missing.get(split, 0):,}" for split in splits], width)
    for k, run in enumerate(condition.runs):
        name = "accuracy" if run is None else f"run {run}"
        yield _row(name, _cells(_measures(condition, Part(), k), columns, value_text), width)
    if len(condition.runs) > 1:
        yield _row(f"mean of {len(condition.runs)} runs", _cells(mean, columns, value_text), width)
        yield _row("deviation between runs", _cells(mean, columns, deviation_text), width)
    if _has_intervals(condition):
        yield _row("95% interval", _cells(mean, columns, interval_text), width)


def _values_alone(conditions: Sequence[Condition]) -> Iterator[str]:
    """One table for the preliminary HOPs, each of which asks for a single value."""
    width = 2 + (22 if any(map(_has_intervals, conditions)) else 14)
    yield _row("each value alone", list(VALUE_SPLITS), width)
    for each in conditions:
        size = "" if each.train_size is None else f" {each.train_size:,}"
        cells = _cells(_measures(each, Part()), VALUE_SPLITS, text_with_interval)
        yield _row(f"  {each.hop.removeprefix(f'{PRELIM}_')}{size}", cells, width)


def _breakdown(condition: Condition, by: str, names: Sequence[str]) -> Iterator[str]:
    """A breakdown, without splits that have a single part: a minimal set has one family and one object."""
    parts = {name: _measures(condition, Part(by, name)) for name in names}
    n_parts = Counter(column for measures in parts.values() for column in measures)
    order = [*SPLITS, *sorted(f"{name}{_GAP}" for name in condition.gaps)]
    columns = [column for column in order if n_parts[column] > 1]
    if not columns:
        return
    width = 2 + (22 if _has_intervals(condition) else 14)
    yield ""
    yield _row(f"  by {by}", columns, width)
    for name, measures in parts.items():
        cells = _cells(measures, columns, text_with_interval)
        if any(cells):
            yield _row(f"  {name}", cells, width)


def _notes(results: Results) -> Iterator[str]:
    if results.bootstrap:
        yield (
            f"95% intervals from {results.bootstrap:,} draws of the images, each with its questions "
            f"(of values alone, of whole groups and sets); seed {results.seed}."
        )
    if results.n_missing:
        they = "question has" if results.n_missing == 1 else "questions have"
        are = "is" if results.n_missing == 1 else "are"
        yield f"{results.n_missing:,} {they} no prediction and {are} left out."
    yield from common_notes(results, "paired tests", "; --suite scores them")


def common_notes(results: Results, suites: str, remedy: str = "") -> Iterator[str]:
    """Notes on where predictions come from, and on those that are missing or ignored."""
    for note in results.notes:
        yield f"Of these predictions: {note}."
    if results.hops_missing:
        yield f"No prediction about {', '.join(results.hops_missing)}."
    for n, about, more in ((results.n_of_suites, suites, remedy), (results.n_left_aside, "other HOPs", "")):
        if n:
            yield f"{n:,} prediction{'s' * (n != 1)} about {about} {'is' if n == 1 else 'are'} ignored{more}."


_GAP = " gap"


def _measures(condition: Condition, part: Part, run: int | None = None) -> dict[str, tuple[Measure, bool]]:
    """Heading of a split or gap -> a part's measure, and whether it is shown with its sign."""
    accuracies, gaps = _of_part(condition, part, run)
    found = {split: (scores["accuracy"], False) for split, scores in accuracies.items()}
    return found | {f"{name}{_GAP}": (scores["gap"], True) for name, scores in gaps.items()}


def _cells(
    measures: Mapping[str, tuple[Measure, bool]], columns: Sequence[str], show: Callable[[Measure, bool], str]
) -> list[str]:
    return [show(*measures[name]) if name in measures else "" for name in columns]


def _has_intervals(condition: Condition) -> bool:
    return any(each.mean["accuracy"].interval for each in condition.splits.values())


def _row(name: str, cells: Sequence[str], width: int) -> str:
    return f"{name:<{_NAME_WIDTH}}{''.join(f'{cell:>{width}}' for cell in cells)}".rstrip()


# Measures as text


def value_text(measure: Measure, signed: bool = False) -> str:
    """A measure to one digit, with its sign if it is a difference; "-" if it is undefined."""
    return "-" if measure.value is None else f"{measure.value:{'+' if signed else ''}.1f}"


def deviation_text(measure: Measure, signed: bool = False) -> str:
    """The deviation over runs; "" if there is none."""
    return "" if measure.deviation is None else f"{measure.deviation:.1f}"


def interval_text(measure: Measure, signed: bool = False, between: str = " to ") -> str:
    """The two ends of the interval; "" if there is none."""
    if measure.interval is None:
        return ""
    sign = "+" if signed else ""
    return f"{measure.interval.low:{sign}.1f}{between}{measure.interval.high:{sign}.1f}"


def text_with_interval(measure: Measure, signed: bool = False) -> str:
    """A measure, followed by its interval in brackets if it has one."""
    text = value_text(measure, signed)
    return f"{text} ({interval_text(measure, signed)})" if measure.interval else text
