"""Scores of every kind of question as JSON and as CSV for programs; docs/predictions.md describes them."""

import csv
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from clevrhope.metrics.measures import GENERALISATION_SCORES, MINIMAL_GROUPS
from clevrhope.metrics.nonce import below_chance
from clevrhope.metrics.results import (
    Condition,
    Interval,
    Part,
    PredicateScores,
    Results,
    Scored,
    Scores,
    SplitScores,
    Training,
)
from clevrhope.metrics.suite_groups import CONNECTIVE, COVERAGE
from clevrhope.metrics.suite_tables import ALL_PAIRS, OTHER_GROUPS
from clevrhope.metrics.suites import YES_NO
from clevrhope.metrics.text_tables import MODELS
from clevrhope.runtime.atomic import whole_file


def scores_json(results: Results) -> dict[str, Any]:
    """The scores as JSON values."""
    shapes = {"pairs": _suite_condition, "sets": _sets_condition, "nonce": _nonce_condition}
    shape = shapes.get(results.kind, _condition)
    content = {
        "folder": str(results.folder),
        **_fields(results, "n_predictions", "n_left_aside", "bootstrap", "seed"),
        "conditions": [shape(condition) for condition in results.conditions],
        **_fields(results, "hops_missing", "notes", "n_of_suites", "n_missing"),
    }
    if results.kind == "pairs":
        content |= _fields(results, "suite", "missing")
    if results.kind == "sets":
        content["rows"] = [_predicate(row) for row in results.predicates]
    return content


def scores_csv(results: Results, path: Path) -> None:
    """Writes every measure of every group, for each run and for the mean, as rows of a table.

    Raises:
        DatasetError: the file cannot be written.
    """
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        names = ("hop", "train_size", "model", "run", "is_mean", "split", "by", "part", "cell", "measure")
        table.writerow((*names, "value", "low", "high", "n"))
        for row in results.rows():
            of = (row.hop, row.train_size, row.model, row.run, int(row.is_mean), row.split, *row.part)
            ends = (row.interval.low, row.interval.high) if row.interval else ("", "")
            table.writerow((*of, row.measure, row.value, *ends, row.n))


def _fields(of: Any, *names: str) -> dict[str, Any]:
    """Some fields of an object as JSON values, by name."""
    values = {name: getattr(of, name) for name in names}
    return {
        name: asdict(value) if isinstance(value, Interval | Training) else value
        for name, value in values.items()
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        **_fields(condition, "hop", "train_size"),
        "runs": [{"run": run, "scored": _part(condition, Part(), k)} for k, run in enumerate(condition.runs)],
        "mean": _part(condition, Part()),
        "breakdowns": {
            by: [{"name": part.name, "scored": _part(condition, part)} for part in parts]
            for by, parts in condition.breakdowns.items()
        },
        "missing": condition.missing,
        "unread": {
            split: asdict(scores.unread) for split, scores in condition.splits.items() if scores.unread
        },
    }


def _part(condition: Condition, part: Part, run: int | None = None) -> dict[str, Any]:
    accuracies, gaps = (condition.scores_of(measure, part, run) for measure in ("accuracy", "gap"))
    return {
        "splits": {split: _accuracy(scores) for split, scores in accuracies.items()},
        "gaps": {
            name: {"points": scores["gap"].value, **_fields(scores["gap"], "interval", "deviation", "n")}
            for name, scores in gaps.items()
        },
    }


def _accuracy(scores: Scores) -> dict[str, Any]:
    """An accuracy with its interval, and the numbers of questions and images."""
    measure = scores["accuracy"]
    percent = {"percent": measure.value, **_fields(measure, "interval")}
    groups = {name: asdict(scores[name]) for name in MINIMAL_GROUPS if name in scores.measures}
    return {**percent, **scores.counts, "deviation": measure.deviation, **groups}


# Questions about sets of images


def _sets_condition(condition: Condition) -> dict[str, Any]:
    return {
        **_fields(condition, "hop", "model", "train_size", "training", "runs"),
        "splits": {split: _sets_split(scores) for split, scores in condition.splits.items()},
    }


def _sets_split(split: SplitScores) -> dict[str, Any]:
    def accuracies(by: str) -> dict[str, Any]:
        return {name: _accuracy(scored.mean) for name, scored in split.by(by).items()}

    breakdowns = dict.fromkeys(part.by for part in split.parts)
    return {
        "all": _accuracy(split.mean),
        "having": accuracies("predicate"),
        "lacking": accuracies("not predicate"),
        "by": {by: accuracies(by) for by in breakdowns if by and "predicate" not in by},
        **{name: constant.percent for name, constant in split.constants.items()},
        "n_missing": split.n_missing,
        "unread": split.unread and asdict(split.unread),
    }


def _predicate(row: PredicateScores) -> dict[str, Any]:
    models = {name: row.accuracies.get(name) for name in MODELS}
    content = {
        **_fields(row, "hop", "split"),
        **_fields(row.training, "predicate"),
        **_fields(row, "model", "train_size"),
        **_fields(row.training, "shots"),
        **_fields(row, "filtered", "n_questions"),
        **{name: scores and _accuracy(scores) for name, scores in models.items()},
    }
    names = {"model": "held_out", "text": "text", "iid_size": "iid_size"}
    for name in GENERALISATION_SCORES:
        scores = row.generalisation.get(name)
        content[name] = scores and {
            "score": scores["score"].value,
            **_fields(scores["score"], "interval"),
            **{key: scores[measure].value for key, measure in names.items()},
            **scores.counts,
        }
    return content


# Episodes with nonce words


def _nonce_condition(condition: Condition) -> dict[str, Any]:
    (of_split,) = condition.splits.values()
    return {
        **_fields(condition, "hop", "train_size", "runs", "missing"),
        "overall": _scored(of_split.parts[Part()]),
        "parts": {
            by: {name: _scored(scored) for name, scored in of_split.by(by).items()}
            for by in condition.breakdowns
        },
        "below_chance": [" ".join(part[:2]).strip() for part in below_chance(of_split)],
    }


# Pairs of a suite


def _suite_condition(condition: Condition) -> dict[str, Any]:
    return {
        **_fields(condition, "hop", "train_size", "runs"),
        "splits": {split: _suite_split(scores) for split, scores in condition.splits.items()},
    }


def _suite_split(split: SplitScores) -> dict[str, Any]:
    def named(parts: Mapping[str, Scored]) -> list[dict[str, Any]]:
        return [{"name": name} | _scored(scored) for name, scored in parts.items()]

    breakdowns = dict.fromkeys(part.by for part in split.parts if part.by)
    return {
        "n_pairs": split.n,
        "overall": {"name": ALL_PAIRS} | _scored(split.parts[Part()]),
        "parts": {by: named(split.by(by)) for by in breakdowns if by not in OTHER_GROUPS},
        "cells": {test: named(cells) for test in split.by("test") if (cells := split.cells(test))},
        **split.traits,
        "replies": [
            {**{name: measure.value for name, measure in run.measures.items()}, **run.counts}
            for run in split.parts[YES_NO].runs
        ],
        "crossings": [
            {"name": name, "control": split.controls[name]} | _scored(scored)
            for name, scored in split.by("crossings").items()
        ],
        **{by: named(split.by(by)) for by in ("groups", CONNECTIVE, COVERAGE)},
        "constants": {test: asdict(constant) for test, constant in split.constants.items()},
        "words": dict(split.words),
    }


def _scored(scored: Scored) -> dict[str, Any]:
    def values(scores: Scores) -> dict[str, Any]:
        return {**{name: asdict(measure) for name, measure in scores.measures.items()}, **scores.counts}

    return {"runs": [values(run) for run in scored.runs], "mean": values(scored.mean)}
