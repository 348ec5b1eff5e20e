"""COVR's scores as text tables for people, and as one JSON object for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clevrhope.metrics.covr.results import CovrCondition, CovrScores, SplitRow
from clevrhope.metrics.covr.runs import Training
from clevrhope.metrics.results import Accuracy, Interval

_NAME_WIDTH, _WIDTH = 30, 24

ROW_HEADS = ("filtered", "questions", "text", "model", "iid-size", "iid", "generalisation score")
"""Columns of the table of splits: those of COVR's tables 7 and 8, and the generalisation score."""

NO_SCORE = "-"
"""Printed in place of an undefined generalisation score."""

WHY_NO_SCORE = (
    "The model on as many questions (iid-size) is not above the text alone, so there is no generalisation "
    "score."
)


def covr_json(scores: CovrScores) -> dict[str, Any]:
    """The scores as JSON values, with the names of `clevrhope.metrics.covr.results`."""
    return {**asdict(scores), "folder": str(scores.folder)}


def covr_lines(scores: CovrScores) -> Iterator[str]:
    """The tables: each model's accuracies and their breakdowns, then the splits by predicates."""
    yield "Accuracies in per cent, with 95% intervals where there are any."
    for condition in scores.conditions:
        yield ""
        yield from _condition(condition)
    if scores.rows:
        yield ""
        yield "Splits by predicates, on the questions that have the property"
        yield _split_line(ROW_HEADS)
    for row in scores.rows:
        yield f"{row.hop} {row.split}, {row.model}, {row.shots:,} shots: {row.predicate}"
        yield _split_line(row_cells(row))
        if row.generalisation is not None and row.generalisation.interval is not None:
            yield f"  95% interval of the score: {_interval(row.generalisation.interval)}"
    if any(is_undefined(row) for row in scores.rows):
        yield f"{NO_SCORE}: {WHY_NO_SCORE}"
    if scores.bootstrap:
        yield ""
        yield f"Intervals from {scores.bootstrap:,} draws of the source images; seed {scores.seed}."
    for note in scores.notes:
        yield f"Of these predictions: {note}."


def described(training: Training) -> str:
    """What a model was trained on, as words to follow "trained"."""
    if training.role == "all":
        return "on all"
    shots = f" but for {training.shots:,}" if training.shots else ""
    if training.role == "split":
        return f"without {training.predicate}{shots}"
    return f"on as many as without {training.predicate}{shots}"


def row_cells(row: SplitRow) -> list[str]:
    """The cells of a row of the table of splits, in the order of `ROW_HEADS`."""
    score = row.generalisation.score if row.generalisation else None
    return [
        "" if row.filtered is None else f"{row.filtered:,}",
        f"{row.n_questions:,}",
        *(_percent(each) for each in (row.text, row.held_out, row.iid_size, row.iid)),
        NO_SCORE if is_undefined(row) else "" if score is None else f"{score:.0f}",
    ]


def is_undefined(row: SplitRow) -> bool:
    """Whether a row has all three accuracies, but its generalisation score is undefined."""
    return row.generalisation is not None and row.generalisation.score is None


def _condition(condition: CovrCondition) -> Iterator[str]:
    size = "" if condition.train_size is None else f" of {condition.train_size:,} questions"
    yield f"{condition.hop}, {condition.model}, trained {described(condition.training)}{size}"
    splits = condition.splits
    yield _line("", [*splits])
    yield _line("questions", [f"{each.all.n_questions:,}" for each in splits.values()])
    if any(each.n_missing for each in splits.values()):
        yield _line("missing", [f"{each.n_missing:,}" for each in splits.values()])
    name = "accuracy" if len(condition.runs) == 1 else f"mean of {len(condition.runs)} runs"
    yield _line(name, [accuracy_text(each.all) for each in splits.values()])
    yield _line("Maj", [f"{each.maj:.1f}" for each in splits.values()])
    yield _line("MajTempl", [f"{each.maj_templ:.1f}" for each in splits.values()])
    for predicate in dict.fromkeys(text for each in splits.values() for text in each.having):
        yield f"  {predicate}"
        yield _line("  with it", [accuracy_text(each.having.get(predicate)) for each in splits.values()])
        yield _line("  without it", [accuracy_text(each.lacking.get(predicate)) for each in splits.values()])
    for by in dict.fromkeys(by for each in splits.values() for by in each.by):
        yield f"  by {by}"
        parts = dict.fromkeys(part for each in splits.values() for part in each.by.get(by, ()))
        for part in parts:
            yield _line(
                f"  {part}", [accuracy_text(each.by.get(by, {}).get(part)) for each in splits.values()]
            )


def accuracy_text(accuracy: Accuracy | None) -> str:
    """An accuracy in per cent, with its interval if it has one; "" for None."""
    if accuracy is None or accuracy.interval is None:
        return _percent(accuracy)
    return f"{_percent(accuracy)} ({_interval(accuracy.interval)})"


def _percent(accuracy: Accuracy | None) -> str:
    return "" if accuracy is None else f"{accuracy.percent:.1f}"


def _interval(interval: Interval) -> str:
    return f"{interval.low:.1f} to {interval.high:.1f}"


def _split_line(cells: Sequence[str]) -> str:
    return _line("", [*cells[:-1], f"{cells[-1]:>22}"], 12)


def _line(name: str, cells: Sequence[str], width: int = _WIDTH) -> str:
    return f"{name:<{_NAME_WIDTH}}{''.join(f'{cell:>{width}}' for cell in cells)}".rstrip()
