"""Scores of every kind of question as one JSON object for programs; docs/predictions.md describes it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from clevrhope.metrics.results import (
    Condition,
    Measure,
    Part,
    PredicateScores,
    Results,
    Scored,
    Scores,
    SplitScores,
)
from clevrhope.metrics.suite_tables import ALL_PAIRS, OTHER_GROUPS
from clevrhope.metrics.suites import YES_NO
from clevrhope.metrics.text_tables import MODELS


def scores_json(results: Results) -> dict[str, Any]:
    """The scores as JSON values."""
    shape = {"pairs": _suite_condition, "sets": _sets_condition}.get(results.kind, _condition)
    content = {
        "folder": str(results.folder),
        "n_predictions": results.n_predictions,
        "n_left_aside": results.n_left_aside,
        "bootstrap": results.bootstrap,
        "seed": results.seed,
        "conditions": [shape(condition) for condition in results.conditions],
        "hops_missing": results.hops_missing,
        "notes": results.notes,
        "n_of_suites": results.n_of_suites,
        "n_missing": results.n_missing,
    }
    if results.kind == "pairs":
        content |= {"suite": results.suite, "tier": results.tier, "missing": results.missing}
    if results.kind == "sets":
        content["rows"] = [_predicate(row) for row in results.predicates]
    return content


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "hop": condition.hop,
        "train_size": condition.train_size,
        "runs": [{"run": run, "scored": _part(condition, Part(), k)} for k, run in enumerate(condition.runs)],
        "mean": _part(condition, Part()),
        "breakdowns": {
            by: [{"name": part.name, "scored": _part(condition, part)} for part in parts]
            for by, parts in condition.breakdowns.items()
        },
        "missing": condition.missing,
    }


def _part(condition: Condition, part: Part, run: int | None = None) -> dict[str, Any]:
    accuracies, gaps = (condition.scores_of(measure, part, run) for measure in ("accuracy", "gap"))
    return {
        "splits": {split: _accuracy(scores) for split, scores in accuracies.items()},
        "gaps": {
            name: {
                "points": scores["gap"].value,
                "interval": _interval(scores["gap"]),
                "deviation": scores["gap"].deviation,
            }
            for name, scores in gaps.items()
        },
    }


def _accuracy(scores: Scores) -> dict[str, Any]:
    """An accuracy with its interval, and the numbers of questions and images."""
    measure = scores["accuracy"]
    return {
        "percent": measure.value,
        "interval": _interval(measure),
        **scores.counts,
        "deviation": measure.deviation,
    }


def _interval(measure: Measure) -> dict[str, float] | None:
    return asdict(measure.interval) if measure.interval else None


# Questions about sets of images


def _sets_condition(condition: Condition) -> dict[str, Any]:
    return {
        "hop": condition.hop,
        "model": condition.model,
        "train_size": condition.train_size,
        "training": asdict(condition.training),
        "runs": condition.runs,
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
    }


def _predicate(row: PredicateScores) -> dict[str, Any]:
    names = ("hop", "split", "predicate", "model", "train_size", "shots", "filtered", "n_questions")
    models = {name: row.accuracies.get(name) for name in MODELS}
    content = {name: getattr(row, name) for name in names}
    content |= {name: scores and _accuracy(scores) for name, scores in models.items()}
    content["generalisation"] = None
    if row.generalisation:
        score = row.generalisation["generalisation_score"]
        content["generalisation"] = {
            "score": score.value,
            "interval": _interval(score),
            "model": row.generalisation["held_out"].value,
            "text": row.generalisation["text"].value,
            "iid_size": row.generalisation["iid_size"].value,
            **row.generalisation.counts,
        }
    return content


# Pairs of a suite


def _suite_condition(condition: Condition) -> dict[str, Any]:
    return {
        "hop": condition.hop,
        "train_size": condition.train_size,
        "runs": condition.runs,
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
        "groups": named(split.by("groups")),
        "constants": {test: asdict(constant) for test, constant in split.constants.items()},
        "words": dict(split.words),
    }


def _scored(scored: Scored) -> dict[str, Any]:
    def values(scores: Scores) -> dict[str, Any]:
        return {**{name: asdict(measure) for name, measure in scores.measures.items()}, **scores.counts}

    return {"runs": [values(run) for run in scored.runs], "mean": values(scored.mean)}
