"""Paired tests: the scores of each run's last weights on suites, as tables, with published results below."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clevrhope.errors import ClevrhopeError
from clevrhope.metrics.answer_key import AnswerKey
from clevrhope.metrics.collector import AnswerNumbers, Collector
from clevrhope.metrics.measures import CROSSINGS, GROUPS, JOINED, PAIRS, REPLIES
from clevrhope.metrics.pairs import AnswerSet, pair_flags
from clevrhope.metrics.published import reference_results, same_kinds
from clevrhope.metrics.results import Part, Scores, SplitScores
from clevrhope.metrics.rows import Target
from clevrhope.metrics.shares import Measures
from clevrhope.metrics.suite_groups import CAPABILITY, CHOICES, CONNECTIVE, COVERAGE, coverage
from clevrhope.metrics.suite_tables import AGREEMENT, ALL_CELLS, ALL_PAIRS, MOST_COMPARED, ROBUSTNESS
from clevrhope.metrics.suites import YES_NO, answers_to_pairs, score_suite
from clevrhope.metrics.text_tables import constant_text
from clevrhope.report.page import Table
from clevrhope.report.results import Keys, Result, grouped
from clevrhope.report.runs import LAST
from clevrhope.report.tables import Columns, models_of, spread, table_of, with_uncollapsed
from clevrhope.runtime.progress import Progress
from clevrhope.splits.covr.kinds import COVR_SPLITS
from clevrhope.splits.kinds import SPLITS

_SPLITS = (*SPLITS, *COVR_SPLITS)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """The scores of a run on the pairs that a suite has on a split."""

    result: Result
    """The run's result on the splits' own questions."""
    suite: str
    split: str
    scored: SplitScores
    """The scores of all runs of the same file, held-out pair and train size."""
    scores: Mapping[Part, Scores]
    """The run's own."""
    answers: AnswerNumbers = field(repr=False, compare=False)
    """(2K,) its answers to the pairs."""
    notes: tuple[str, ...] = ()
    """What must be said wherever the scores are shown."""

    @property
    def model(self) -> str:
        """The model with its train size, as other models are compared with it."""
        return ", ".join(filter(None, (self.result.model, self.result.size)))


def measure_suites(
    results: Sequence[Result], *, progress: Progress, keys: Keys
) -> tuple[list[SuiteResult], tuple[str, ...]]:
    """The scores of all runs on the suites that their files name, and a sentence for each that has none."""
    own = [each for each in results if each.suites and each.source.checkpoint == LAST]
    files = grouped(own, lambda each: (each.source.path, each.model))
    if not files:
        return [], ()
    found: list[SuiteResult] = []
    skipped: dict[str, None] = {}
    with progress.stage("Scoring paired tests", total=len(files), unit="files") as advance:
        for of_file in files.values():
            for suite, collected in of_file[0].suites.items():
                try:
                    if isinstance(collected, ClevrhopeError):
                        raise collected
                    found += _of_file(of_file, keys(of_file[0].source.dataset), suite, collected)
                except ClevrhopeError as error:
                    skipped[str(error)] = None
            advance(1)
    return list(_with_coverage(found, keys)), tuple(skipped)


def _of_file(
    results: Sequence[Result], key: AnswerKey, suite: str, collected: Collector
) -> Iterator[SuiteResult]:
    """The scores of those runs in a file that have a result."""
    path = results[0].source.path
    # No intervals, so no draws.
    scores = score_suite(key, suite, path, seed=0, bootstrap=0, collected=collected)
    runs = {(each.hop, *each.as_in_rows): each for each in results}
    for condition in scores.conditions:
        for k, name in enumerate(condition.runs):
            result = runs.get((condition.hop, name, condition.train_size))
            if result is None:
                continue
            for split, scored in condition.splits.items():
                own = {part: each.runs[k] for part, each in scored.parts.items() if part.by != COVERAGE}
                target = Target(condition.hop, split, name, condition.train_size, suite)
                answers = answers_to_pairs(collected.given, target, key.pairs(condition.hop, suite, split))
                yield SuiteResult(result, suite, split, scored, own, answers, scores.notes)


def _with_coverage(results: Sequence[SuiteResult], keys: Keys) -> Iterator[SuiteResult]:
    """The results, with the coverage of the models that answered the same questions."""
    places = grouped(results, lambda each: (each.result.sub_dataset, each.suite, each.split))
    for ((folder, hop), suite, split), runs in places.items():
        key = keys(folder)
        pairs, answers = key.pairs(hop, suite, split), AnswerSet.from_numbers(key.answers, key.functions)
        flags = pair_flags(pairs, np.stack([run.answers for run in runs]), answers)
        compared = coverage(pairs, flags, [run.model for run in runs])
        for k, run in enumerate(runs):
            of_run = {part: scored.runs[k] for part, scored in compared.items()}
            yield replace(run, scores={**run.scores, **of_run})


# Tables


class _Row(NamedTuple):
    """A part of a suite's pairs, and the results of one model, diversity, train size and split on it."""

    part: Part
    group: Sequence[SuiteResult]

    @property
    def first(self) -> Result:
        """Any of the runs, to ask for what they have in common."""
        return self.group[0].result

    @property
    def n(self) -> str:
        """The pairs, originals or questions; runs on a held-out pair share theirs, which count once."""
        counts: dict[tuple[Path, str], int] = {}
        for each in self.group:
            place = (each.result.source.dataset, each.result.hop)
            counts[place] = max(counts.get(place, 0), each.scores[self.part].n)
        return f"{sum(counts.values()):,}"

    @property
    def n_unread(self) -> int:
        """The answers outside the vocabulary."""
        return sum(each.scores[self.part].counts.get("n_unread", 0) for each in self.group)

    @property
    def constant(self) -> str:
        """The accuracy of a constant answer."""
        return constant_text(each.scored.constants.get(self.part.name) for each in self.group)

    @property
    def words(self) -> str:
        """The mean of what a bag of words reaches."""
        given = [each.scored.words.get(self.part.name) for each in self.group]
        reached = [share for share in given if share is not None]
        return f"{sum(reached) / len(reached):.1f}" if reached else ""

    def spread(self, measure: str) -> str:
        """Mean and deviation of a measure over the runs that define it."""
        measured = [(each.scores[self.part].measures.get(measure), each.result) for each in self.group]
        defined = [(of.value, result.collapsed) for of, result in measured if of and of.value is not None]
        if not defined:
            return ""
        values, collapsed = zip(*defined, strict=True)
        return with_uncollapsed(values, collapsed, spread)


def _measured(measures: Measures, names: Iterable[str] = ()) -> Columns[_Row]:
    """The columns of measures; of all if no names are given."""

    def cell(name: str) -> Callable[[_Row], str]:
        return lambda row: row.spread(name)

    return [(measures[name].heading, cell(name)) for name in names or measures]


_MODEL: Columns[_Row] = (
    ("model", lambda row: row.first.model),
    ("diversity", lambda row: f"{row.first.diversity or ''} {row.first.mode}".strip()),
    ("train size", lambda row: row.first.size or "unknown size"),
)
_TEST: Columns[_Row] = (("test", lambda row: row.part.name), *_MODEL)
_PAIRS: Columns[_Row] = (("pairs", lambda row: row.n),)
_ORIGINALS: Columns[_Row] = (*_TEST, ("originals", lambda row: row.n))
_CONSTANT: Columns[_Row] = (("constant", lambda row: row.constant), ("words", lambda row: row.words))
_UNREAD: Columns[_Row] = (("unread", lambda row: f"{row.n_unread:,}"),)
_AGREEMENT, _ROBUSTNESS = _measured(PAIRS, AGREEMENT), _measured(PAIRS, ROBUSTNESS)


def suite_tables(results: Sequence[SuiteResult]) -> list[dict[str, Any]]:
    """What is known of each suite: notes, tables for each split, replies, and published results."""
    suites = []
    for suite, own in sorted(grouped(results, lambda each: each.suite).items()):
        of_split = grouped(own, lambda result: result.split)
        of_model = grouped(own, lambda result: result.result.model)
        notes = {
            model: list(dict.fromkeys(note for result in of_model[model] for note in result.notes))
            for model in models_of(result.result for result in own)
        }
        replies: Columns[_Row] = (
            ("split", lambda row: row.group[0].split),
            *_MODEL,
            ("questions", lambda row: row.n),
            *_measured(REPLIES),
        )
        suites.append({
            "name": suite,
            "notes": {model: of for model, of in notes.items() if of},
            "n_missing": sum(result.scores[Part()].counts["n_missing"] for result in own),
            "beyond": list(dict.fromkeys(test for result in own for test in result.scored.traits["beyond"])),
            "scored": [result.scored for result in own],
            "splits": {split: _tables(of_split[split]) for split in _SPLITS if split in of_split},
            "replies": table_of(_rows(own, [YES_NO]), replies),
            **_published(own),
        })  # fmt: skip
    return suites


def _tables(own: Sequence[SuiteResult]) -> dict[str, Table]:
    """The tables of a suite on a split."""
    tests = _parts(own, "test")
    with_cells = list(_rows(own, _tests_and_cells(own)))
    others = list(_rows(own, _parts(own, "", CAPABILITY, CHOICES, "type", "tier", "asks", "step")))
    unread = _UNREAD if any(row.n_unread for row in (*with_cells, *others)) else ()
    cell: Columns[_Row] = (("cell", lambda row: row.part.cell or ALL_CELLS),)
    kind: Columns[_Row] = (
        ("by", lambda row: row.part.by),
        ("part", lambda row: row.part.name or ALL_PAIRS),
    )
    return {
        "cells": table_of(with_cells, [*_TEST, *cell, *_PAIRS, *unread, *_AGREEMENT]),
        "rad": table_of(_rows(own, tests), [*_TEST, *_PAIRS, *_ROBUSTNESS[:2], *_CONSTANT, *_ROBUSTNESS[2:]]),
        "crossings": table_of(
            _rows(own, _parts(own, "crossings")), [*_ORIGINALS, *_measured(CROSSINGS), *_CONSTANT]
        ),
        "groups": table_of(_rows(own, _parts(own, "groups")), [*_ORIGINALS, *_measured(GROUPS)]),
        "connectives": table_of(
            _rows(own, _parts(own, CONNECTIVE)), [*kind, *_MODEL, *_PAIRS, *_measured(JOINED)]
        ),
        "coverage": _coverage_table(own),
        "others": table_of(others, [*kind, *_MODEL, *_PAIRS, *unread, *_AGREEMENT, *_ROBUSTNESS[:3]]),
    }


def _coverage_table(own: Sequence[SuiteResult]) -> Table:
    """A row for each model and test of the paper, a column for each model that it is compared with."""
    parts = _parts(own, COVERAGE)
    there = (each.scores[part].measures for each in own for part in parts if part in each.scores)
    models = dict.fromkeys(chain.from_iterable(there))
    if len(models) > MOST_COMPARED:
        return Table([], [])
    columns = [(name, partial(_Row.spread, measure=name)) for name in models]
    return table_of(_rows(own, parts), [*_TEST, *columns])


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


def _rows(own: Sequence[SuiteResult], parts: Iterable[Part]) -> Iterator[_Row]:
    """A row for each part, split, model, diversity and train size that has scores.

    The cells of a test follow each other for each model.
    """
    models = models_of(each.result for each in own)

    def key(each: SuiteResult) -> tuple[int, int, int, str, int]:
        result = each.result
        split, model = _SPLITS.index(each.split), models.index(result.model)
        return split, model, -result.diversity, result.mode, result.train_size or -1

    for _, of_test in groupby(parts, key=lambda part: part[:2]):
        cells = [*of_test]
        having = [result for result in own if any(part in result.scores for part in cells)]
        for _, group in groupby(sorted(having, key=key), key=key):
            of_row = [*group]
            for part in cells:
                if there := [result for result in of_row if part in result.scores]:
                    yield _Row(part, there)


# Published results


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

_PRINTED_OF_PARTS = {
    name: name.removeprefix("answers ")
    for name in ("ACC", "CONS", "C-ACC", "answers yes", "answers no", "answers other")
}
"""Measure of CARETS's tables 3 and 4 -> heading here."""

_COVERED = "of those right by "
"""Begins the parts of CARETS's tables 13 to 17."""

_Cell = tuple[tuple[str, ...], str, float]
"""The first cells of a row, a column's heading, and a number there."""


def _published(own: Sequence[SuiteResult]) -> dict[str, Any]:
    """What the papers printed for tests and parts of the same kinds as these, and the papers."""
    here: dict[tuple[str, str], list[str]] = {}
    for test in sorted(part.name for part in _parts(own, "test")):
        for place in same_kinds().get(test, ()):
            here.setdefault(place, []).append(test)
    whole: list[_Cell] = []
    of_parts: list[_Cell] = []
    covered: list[_Cell] = []
    papers: dict[str, None] = {}
    for row in reference_results():
        images, is_carets = f"photographs ({row.dataset})", row.paper == "carets"
        if (row.paper, row.test) in here:
            if row.table in _TABLES[row.paper] and (heading := _PRINTED.get((row.part, row.measure))):
                papers[row.paper] = None
                tests = ", ".join(here[row.paper, row.test])
                whole.append(((row.test, tests, row.model, images), heading, row.value))
            if is_carets and row.part.startswith(_COVERED):
                covered.append(((row.test, row.model, images), row.part.removeprefix(_COVERED), row.value))
        if is_carets and row.table in (3, 4):
            of_parts.append(
                ((row.test, row.part, row.model, images), _PRINTED_OF_PARTS[row.measure], row.value)
            )
    test, model = "the paper's test", ("model", "images")
    return {
        "published": _pivoted([test, "tests here", *model], whole, _PRINTED.values()),
        "published_parts": _pivoted(
            [test, "part", *model], of_parts if _parts(own, CONNECTIVE) else [], _PRINTED_OF_PARTS.values()
        ),
        "published_coverage": _pivoted([test, *model], covered if _parts(own, COVERAGE) else []),
        "papers": list(papers),
    }


def _pivoted(first: Sequence[str], cells: Sequence[_Cell], heads: Iterable[str] = ()) -> Table:
    """A table of numbers with the given columns, or with those in the order in which they come."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row, heading, value in cells:
        rows.setdefault(row, {})[heading] = f"{value:.1f}"
    names = list(heads) or list(dict.fromkeys(heading for _, heading, _ in cells))
    return Table(
        [*first, *names], [[*row, *(of_row.get(name, "") for name in names)] for row, of_row in rows.items()]
    )
