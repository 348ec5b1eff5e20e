"""COVR's scores as text tables for people, and as one JSON object for programs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from clevrhope.metrics.results import (
    Condition,
    Part,
    PredicateScores,
    Results,
    Scored,
    Scores,
    SplitScores,
    Training,
)
from clevrhope.metrics.score_tables import accuracy_json, interval_text, text_with_interval, value_text

_NAME_WIDTH, _WIDTH = 30, 24

ROW_HEADS = ("filtered", "questions", "text", "model", "iid-size", "iid", "generalisation score")
"""Columns of the table of splits: those of COVR's tables 7 and 8, and the generalisation score."""

MODELS = ("text", "held_out", "iid_size", "iid")
"""The models whose accuracies that table has."""

NO_SCORE = "-"
"""Printed in place of an undefined generalisation score."""

WHY_NO_SCORE = (
    "The model on as many questions (iid-size) is not above the text alone, so there is no generalisation "
    "score."
)


def covr_json(results: Results) -> dict[str, Any]:
    """The scores as JSON values; docs/predictions.md describes them."""
    return {
        "folder": str(results.folder),
        "bootstrap": results.bootstrap,
        "seed": results.seed,
        "conditions": [
            {
                "hop": each.hop,
                "model": each.model,
                "train_size": each.train_size,
                "training": asdict(each.training),
                "runs": each.runs,
                "splits": {split: _split_json(of_split) for split, of_split in each.splits.items()},
            }
            for each in results.conditions
        ],
        "rows": [_predicate_json(each) for each in results.predicates],
        "notes": results.notes,
    }


def _split_json(split: SplitScores) -> dict[str, Any]:
    def accuracies(by: str) -> dict[str, Any]:
        return {name: accuracy_json(each.mean) for name, each in split.by(by).items()}

    breakdowns = dict.fromkeys(part.by for part in split.parts)
    return {
        "all": accuracy_json(split.mean),
        "having": accuracies("predicate"),
        "lacking": accuracies("not predicate"),
        "by": {by: accuracies(by) for by in breakdowns if by and "predicate" not in by},
        **{name: each.percent for name, each in split.constants.items()},
        "n_missing": split.n_missing,
    }


def _predicate_json(row: PredicateScores) -> dict[str, Any]:
    found = row.accuracies
    names = ("hop", "split", "predicate", "model", "train_size", "shots", "filtered", "n_questions")
    return {
        **{name: getattr(row, name) for name in names},
        **{name: accuracy_json(found[name]) if name in found else None for name in MODELS},
        "generalisation": row.generalisation and _generalisation_json(row.generalisation),
    }


def _generalisation_json(scores: Scores) -> dict[str, Any]:
    score = scores["generalisation_score"]
    return {
        "score": score.value,
        "interval": score.interval and asdict(score.interval),
        "model": scores["held_out"].value,
        "text": scores["text"].value,
        "iid_size": scores["iid_size"].value,
        **scores.counts,
    }


def covr_lines(results: Results) -> Iterator[str]:
    """The tables: each model's accuracies and their breakdowns, then the splits by predicates."""
    yield "Accuracies in per cent, with 95% intervals where there are any."
    for condition in results.conditions:
        yield ""
        yield from _condition(condition)
    if results.predicates:
        yield ""
        yield "Splits by predicates, on the questions that have the property"
        yield _split_line(ROW_HEADS)
    for row in results.predicates:
        yield f"{row.hop} {row.split}, {row.model}, {row.shots:,} shots: {row.predicate}"
        yield _split_line(row_cells(row))
        if row.generalisation and (interval := interval_text(row.generalisation["generalisation_score"])):
            yield f"  95% interval of the score: {interval}"
    if any(map(is_undefined, results.predicates)):
        yield f"{NO_SCORE}: {WHY_NO_SCORE}"
    if results.bootstrap:
        yield ""
        yield f"Intervals from {results.bootstrap:,} draws of the source images; seed {results.seed}."
    for note in results.notes:
        yield f"Of these predictions: {note}."


def described(training: Training) -> str:
    """What a model was trained on, as words to follow "trained"."""
    if training.role == "all":
        return "on all"
    shots = f" but for {training.shots:,}" if training.shots else ""
    if training.role == "split":
        return f"without {training.predicate}{shots}"
    return f"on as many as without {training.predicate}{shots}"


def row_cells(row: PredicateScores) -> list[str]:
    """The cells of a row of the table of splits, in the order of `ROW_HEADS`."""
    score = row.generalisation["generalisation_score"].value if row.generalisation else None
    return [
        "" if row.filtered is None else f"{row.filtered:,}",
        f"{row.n_questions:,}",
        *(value_text(row.accuracies[name]["accuracy"]) if name in row.accuracies else "" for name in MODELS),
        NO_SCORE if is_undefined(row) else "" if score is None else f"{score:.0f}",
    ]


def is_undefined(row: PredicateScores) -> bool:
    """Whether a row has all three accuracies, but its generalisation score is undefined."""
    return row.generalisation is not None and row.generalisation["generalisation_score"].value is None


def accuracy_text(scored: Scored | None) -> str:
    """A mean accuracy in per cent, with its interval if it has one; "" for None."""
    return "" if scored is None else text_with_interval(scored.mean["accuracy"])


def _condition(condition: Condition) -> Iterator[str]:
    size = "" if condition.train_size is None else f" of {condition.train_size:,} questions"
    yield f"{condition.hop}, {condition.model}, trained {described(condition.training)}{size}"
    splits = condition.splits.values()

    def line(name: str, cell: Callable[[SplitScores], str]) -> str:
        return _line(name, [cell(each) for each in splits])

    def accuracies(name: str, part: Part) -> str:
        return _line(name, [accuracy_text(each.parts.get(part)) for each in splits])

    yield _line("", [*condition.splits])
    yield line("questions", lambda each: f"{each.mean.counts['n_questions']:,}")
    if any(each.n_missing for each in splits):
        yield line("missing", lambda each: f"{each.n_missing:,}")
    name = "accuracy" if len(condition.runs) == 1 else f"mean of {len(condition.runs)} runs"
    yield accuracies(name, Part())
    yield line("Maj", lambda each: f"{each.constants['maj'].percent:.1f}")
    yield line("MajTempl", lambda each: f"{each.constants['maj_templ'].percent:.1f}")
    parts = dict.fromkeys(part for each in splits for part in each.parts if part.by)
    for predicate in [part.name for part in parts if part.by == "predicate"]:
        yield f"  {predicate}"
        for name, by in (("  with it", "predicate"), ("  without it", "not predicate")):
            yield accuracies(name, Part(by, predicate))
    for by in dict.fromkeys(part.by for part in parts if "predicate" not in part.by):
        yield f"  by {by}"
        for part in [each for each in parts if each.by == by]:
            yield accuracies(f"  {part.name}", part)


def _split_line(cells: Sequence[str]) -> str:
    return _line("", [*cells[:-1], f"{cells[-1]:>22}"], 12)


def _line(name: str, cells: Sequence[str], width: int = _WIDTH) -> str:
    return f"{name:<{_NAME_WIDTH}}{''.join(f'{cell:>{width}}' for cell in cells)}".rstrip()
