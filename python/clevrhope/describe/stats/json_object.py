"""The JSON object of `clevrhope stats`, with every count."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clevrhope.describe.measure import SplitStats
from clevrhope.describe.stats.comparison import Column, Comparison, Sheet, by_file, family_name
from clevrhope.describe.stats.covr import covr_json
from clevrhope.describe.suites import SuiteStats


def as_json(
    root: Path, other_root: Path | None, sheets: Sequence[Sheet], plots: Sequence[Path]
) -> dict[str, Any]:
    """The object that `clevrhope stats --json` prints, in which shares are from 0 to 1."""
    return {
        "folder": str(root),
        "against": None if other_root is None else str(other_root),
        "hops": {each.group: _sheet(each) for each in sheets},
        "plots": [str(path) for path in plots],
    }


def _sheet(sheet: Sheet) -> dict[str, Any]:
    own = [each for each in sheet.columns if not each.other]
    beside = [each for each in sheet.columns if each.other]
    return {
        "held_out": dict(sheet.held_out),
        "splits": {each.label: _split(each, sheet.train) for each in own},
        "against": {each.label: _split(each, sheet.train) for each in beside},
        "distances": [_comparison(each) for each in sheet.comparisons],
        "suites": _suites(sheet.suites),
        "covr": covr_json(sheet.covr),
    }


def _suites(suites: Sequence[SuiteStats]) -> dict[str, dict[str, Any]]:
    """Suite -> split -> the measurements of its pairs."""
    found: dict[str, dict[str, Any]] = {}
    for each in suites:
        found.setdefault(each.suite, {})[each.split] = {
            "pairs": each.n_pairs,
            "originals": each.n_originals,
            "empty_tests": list(each.empty),
            "tests": {
                test.test: {
                    "type": test.type,
                    "tier": test.tier,
                    "relations": list(test.relations),
                    "pairs": test.n_pairs,
                    "cells": dict(test.cells),
                    "partners_yes_or_no": test.n_yes_no,
                    "yes_share": _finite(test.yes_share),
                }
                for test in each.tests
            },
        }
    return found


def _split(column: Column, train: SplitStats | None) -> dict[str, Any]:
    stats = column.measured.stats
    answer, share = stats.majority
    return {
        "split": stats.split,
        "pool": stats.pool,
        "questions": stats.n_questions,
        "pictures": stats.n_images,
        "objects": stats.n_objects,
        "answers": stats.answers,
        "answer_types": stats.answer_types,
        "files": by_file(column.measured),
        "families": [
            {
                "question_family_index": index,
                "file": family_name(column.measured, index)[0],
                "place": family_name(column.measured, index)[1],
                "questions": sum(answers.values()),
                "answers": answers,
            }
            for index, answers in stats.answers_of_families.items()
        ],
        "words": stats.words,
        "functions": stats.functions,
        "relations": stats.relations,
        "relations_a_question": stats.relations_a_question,
        "questions_with_all_relations_needed": stats.n_all_needed,
        "objects_a_picture": stats.objects,
        "questions_a_picture": stats.questions_a_picture,
        "values": stats.values,
        "pairs": [
            {"values": dict(pair), "objects": n, "pictures": stats.images_with[pair]}
            for pair, n in stats.pairs.items()
        ],
        "baselines": {
            "most_frequent_answer": answer,
            "most_frequent": _finite(share),
            "most_frequent_of_family": _finite(stats.majority_of_families),
            "most_frequent_in_train": _guessed(stats, train, by_family=False),
            "most_frequent_of_family_in_train": _guessed(stats, train, by_family=True),
        },
    }


def _guessed(stats: SplitStats, train: SplitStats | None, *, by_family: bool) -> float | None:
    return None if train is None else _finite(stats.guessed_from(train, by_family=by_family))


def _comparison(comparison: Comparison) -> Mapping[str, Any]:
    return {
        "a": comparison.a,
        "b": comparison.b,
        "total_variation": {
            name: _finite(each.total_variation) for name, each in comparison.distances.items()
        },
        "by_chance": {name: _finite(each.by_chance) for name, each in comparison.distances.items()},
    }


def _finite(share: float) -> float | None:
    """The share, or None for nan, which JSON lacks."""
    return None if share != share else round(share, 6)
