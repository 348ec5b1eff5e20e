"""Tables of paired tests: scores by test, cell and more, coverage, and below them published results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

from clevrhope.metrics.measures import CROSSINGS, GROUPS, PAIRS, REPLIES, headings
from clevrhope.metrics.pairs import coverage
from clevrhope.metrics.published import SAME_KIND, reference_results
from clevrhope.metrics.results import Part, Scores
from clevrhope.metrics.suite_tables import (
    AGREEMENT,
    ALL_CELLS,
    ALL_PAIRS,
    ROBUSTNESS,
)
from clevrhope.metrics.suites import YES_NO, Rights
from clevrhope.metrics.text_tables import constant_text
from clevrhope.report.instances import Instance
from clevrhope.report.page import Table
from clevrhope.report.results import Result, grouped
from clevrhope.report.suites import SuiteResult, count
from clevrhope.report.tables import greyed, models_of, spread, with_uncollapsed
from clevrhope.splits.kinds import SPLITS

_PRINTED = {
    ("", "ACC"): "ACC",
    ("", "CONS"): "CONS",
    ("", "C-ACC"): "C-ACC",
    ("", "RAD(D,D')"): "RAD",
    ("perturbed", "ACC"): "Acc(D')",
}
"""Part and measure as a paper has them -> heading here."""

_TABLES: Mapping[str, Sequence[int]] = {"carets": range(8, 13), "rad": (2,)}
"""Paper -> the tables that are shown."""

_NOTED: Mapping[str, Sequence[int]] = {"carets": (1,), "rad": ()}
"""Paper -> tables of which only the notes are shown: table 1 of CARETS has nothing but the CONS of others."""

_PAPERS = {
    "carets": "CARETS (Jimenez et al., 2022), tables 8 to 12, which have ACC beside the CONS of its table 1",
    "rad": "RAD (Rosenberg et al., 2021), table 2, which has RAD alone",
}

_MOST_COVERED = 12
"""Most rows and columns of a table of coverage; more could not be read."""


_PAIRS = {"pairs": "n"}
_AGREEMENT = {PAIRS[name].heading: name for name in AGREEMENT}
_ROBUSTNESS = {PAIRS[name].heading: name for name in ROBUSTNESS}
_OF = {"model": "model", "diversity": "diversity", "train size": "train size"}
_TEST = {"test": "part"}


def suite_tables(results: Sequence[SuiteResult], instances: Sequence[Instance] = ()) -> list[dict[str, Any]]:
    """What is known of each suite: notes, tables for each split, replies, coverage, and published results.

    `instances` are the runs whose coverage of one another is shown.
    """
    suites = []
    for suite in sorted({result.suite for result in results}):
        own = [result for result in results if result.suite == suite]
        models = models_of(result.result for result in own)
        notes = {
            model: list(dict.fromkeys(
                note for result in own if result.result.model == model for note in result.notes
            ))
            for model in models
        }  # fmt: skip
        of_split = grouped(own, lambda result: result.split)
        columns = {"split": "split", **_OF, "questions": "n", **headings(REPLIES)}
        suites.append({
            "name": suite,
            "notes": {model: of_model for model, of_model in notes.items() if of_model},
            "n_missing": sum(result.n_missing for result in own),
            "beyond": list(dict.fromkeys(test for result in own for test in result.scored.traits["beyond"])),
            "scored": [result.scored for result in own],
            "splits": {split: _tables(of_split[split]) for split in SPLITS if split in of_split},
            "replies": _table(own, [YES_NO], columns),
            "coverage": coverage_tables(instances, suite),
            **_published({part.name for part in _parts(own, "test")}),
        })  # fmt: skip
    return suites


def _tables(own: Sequence[SuiteResult]) -> dict[str, Table]:
    """The tables of a suite on a split."""
    pairs = dict(_PAIRS)
    if any(_unread(scores) for result in own for scores in result.scores.values()):
        pairs["unread"] = "unread"
    robustness = [*_ROBUSTNESS.items()]
    robustness.insert(2, ("constant", "constant"))
    shared = {**_TEST, **_OF, "originals": "n"}
    kinds = {"by": "by", "part": "part"}
    return {
        "cells": _table(own, _tests_and_cells(own), {**_TEST, **_OF, "cell": "cell", **pairs, **_AGREEMENT}),
        "rad": _table(own, _parts(own, "test"), {**_TEST, **_OF, **_PAIRS, **dict(robustness)}),
        "crossings": _table(
            own, _parts(own, "crossings"), {**shared, **headings(CROSSINGS), "constant": "constant"}
        ),
        "groups": _table(own, _parts(own, "groups"), {**shared, **headings(GROUPS)}),
        "others": _table(
            own,
            _parts(own, "", "type", "tier", "asks", "step"),
            {**kinds, **_OF, **pairs, **_AGREEMENT, **dict([*_ROBUSTNESS.items()][:3])},
        ),
    }


def _parts(own: Sequence[SuiteResult], *breakdowns: str) -> list[Part]:
    """The parts of some breakdowns, cells left out, that some result has."""
    there = dict.fromkeys(part for each in own for part in each.scores if not part.cell)
    return [part for by in breakdowns for part in there if part.by == by]


def _tests_and_cells(own: Sequence[SuiteResult]) -> Iterator[Part]:
    """Each test with its cells; before them all of its pairs, unless they are in one cell."""
    for test in _parts(own, "test"):
        cells = sorted({part for each in own for part in each.scores if part[:2] == test[:2] and part.cell})
        if len(cells) != 1:
            yield test
        yield from cells


Group = Sequence[SuiteResult]
"""Results of one model, diversity and train size on one split, which share a row."""


def _table(own: Sequence[SuiteResult], parts: Iterable[Part], columns: Mapping[str, str]) -> Table:
    """A table with a row for each part, model, diversity, train size and split that has scores.

    The cells of a test follow each other for each model. `columns` maps headings to measures, or to what
    `_text` says of a row.
    """
    rows = []
    for _, of_test in groupby(parts, key=lambda part: part[:2]):
        cells = [*of_test]
        for group in _groups([result for result in own if any(part in result.scores for part in cells)]):
            for part in cells:
                if having := [result for result in group if part in result.scores]:
                    rows.append([_cell(part, having, field) for field in columns.values()])
    return Table([*columns], rows)


def _groups(own: Sequence[SuiteResult]) -> Iterator[Group]:
    models, splits = models_of(each.result for each in own), list(SPLITS)

    def key(each: SuiteResult) -> tuple[int, int, int, str, int]:
        result = each.result
        split, model = splits.index(each.split), models.index(result.model)
        return split, model, -result.diversity, result.mode, result.train_size or -1

    return ([*group] for _, group in groupby(sorted(own, key=key), key=key))


def _cell(part: Part, group: Group, field: str) -> str:
    if field not in group[0].scores[part].measures:
        return _text(part, group, field)
    measured = [(each.scores[part][field].value, each.result.collapsed) for each in group]
    defined = [(value, collapsed) for value, collapsed in measured if value is not None]
    if not defined:
        return ""
    values, collapsed = zip(*defined, strict=True)
    return greyed(with_uncollapsed(values, collapsed, spread), [each.result for each in group])


def _text(part: Part, group: Group, field: str) -> str:
    """What a column that is not the mean of a measure says of a row."""
    result, counts = group[0].result, dict[tuple[Path, str], int]()
    for each in group:  # runs on a held-out pair share their pairs or originals, which count once
        place = (each.result.source.dataset, each.result.hop)
        counts[place] = max(counts.get(place, 0), count(each.scores[part]))
    return {
        "by": part.by,
        "part": part.name or ALL_PAIRS,
        "cell": part.cell or ALL_CELLS,
        "split": group[0].split,
        "model": result.model,
        "diversity": f"{result.diversity or ''} {result.mode}".strip(),
        "train size": result.size or "unknown size",
        "n": f"{sum(counts.values()):,}",
        "unread": f"{sum(_unread(each.scores[part]) for each in group):,}",
        "constant": constant_text(each.scored.constants.get(part.name) for each in group),
    }[field]


def _unread(scores: Scores) -> int:
    return scores.counts["n_unread"] if PAIRS.keys() <= scores.measures.keys() else 0


def _published(tests: Iterable[str]) -> dict[str, Any]:
    """What the papers printed for tests of the same kinds as these, the papers, and notes on them."""
    here: dict[tuple[str, str], list[str]] = {}
    for test in sorted(tests):
        for place in SAME_KIND.get(test, ()):
            here.setdefault(place, []).append(test)
    printed: dict[tuple[str, str, str, str], dict[str, str]] = {}
    notes: dict[str, None] = {}
    for row in reference_results():
        if (row.paper, row.test) in here:
            shown = row.table in _TABLES[row.paper] and (row.part, row.measure) in _PRINTED
            if row.note and (shown or row.table in _NOTED[row.paper]):
                notes[row.note] = None
            if shown:
                values = printed.setdefault((row.paper, row.test, row.model, row.dataset), {})
                values[_PRINTED[row.part, row.measure]] = f"{row.value:.1f}"
    heads = list(_PRINTED.values())
    rows = [
        [test, ", ".join(here[paper, test]), model, f"photographs ({dataset})",
         *(values.get(head, "") for head in heads)]
        for (paper, test, model, dataset), values in printed.items()
    ]  # fmt: skip
    return {
        "published": Table(["the paper's test", "tests here", "model", "images", *heads], rows),
        "papers": list(dict.fromkeys(_PAPERS[paper] for paper, *_ in printed)),
        "papers_notes": list(notes),
    }


def coverage_tables(instances: Sequence[Instance], suite: str) -> dict[str, Table]:
    """A table for each split on which two runs or more answered the pairs of a suite.

    Runs that dropped types of train questions are left out, since they are many instances of one model.
    """
    tables = {}
    for split in SPLITS:
        shares = _mean_coverage([
            (run.result, rows)
            for run in instances
            for rows in run.pairs.get(split, ())
            if rows.target.suite == suite and not run.dropped
        ])  # fmt: skip
        names = list(dict.fromkeys(name for name, _ in shares))
        if shares and len(names) <= _MOST_COVERED:
            rows = [[i, *(f"{shares[i, j]:.1f}" if (i, j) in shares else "" for j in names)] for i in names]
            tables[split] = Table(["also right, of those right by", *names], rows)
    return tables


def _mean_coverage(own: Sequence[tuple[Result, Rights]]) -> dict[tuple[str, str], float]:
    """Names i, j of models and train sizes -> mean of the coverage of j's runs by i's, in per cent."""
    by_questions: dict[tuple[Path, str], list[tuple[str, Rights]]] = {}
    names: dict[str, None] = {}
    for result, rows in own:
        name = f"{result.model}, {result.size}" if result.size else result.model
        names[name] = None
        by_questions.setdefault(result.sub_dataset, []).append((name, rows))
    shares: dict[tuple[str, str], list[float]] = {}
    for runs in by_questions.values():
        common = np.logical_and.reduce([rows.answered for _, rows in runs])
        right = [rows.right[common] for _, rows in runs]
        found = coverage(np.stack(right))
        for i, j in product(range(len(runs)), repeat=2):
            if i != j and np.isfinite(found[i, j]):
                shares.setdefault((runs[i][0], runs[j][0]), []).append(100 * float(found[i, j]))
    # In the order in which the models come, whichever of them share questions.
    return {(i, j): float(np.mean(shares[i, j])) for i, j in product(names, repeat=2) if (i, j) in shares}
