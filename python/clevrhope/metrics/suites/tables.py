"""The scores of a suite as text tables for people, and as one JSON object for programs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clevrhope.metrics.measures import CROSSINGS, GROUPS, PAIRS, Measures
from clevrhope.metrics.results import Condition, Constant, Measure, Part, Results, Scored, Scores, SplitScores
from clevrhope.metrics.score_tables import common_notes, deviation_text, interval_text, value_text
from clevrhope.metrics.suites.scorer import YES_NO

_NAME_WIDTH, _CELL_WIDTH, _COUNT_WIDTH, _CONSTANT_WIDTH = 28, 5, 8, 12

_COUNTS = {"pairs": "n_pairs", "missing": "n_missing", "unread": "n_unread"}
"""Heading -> count."""

AGREEMENT = ("accuracy", "consistency", "strict_consistency", "both_right")
"""The measures of the first table, by test and cell."""

ROBUSTNESS = ("original_accuracy", "partner_accuracy", "rad", "rad_minus_accuracy", "rad_backward")
"""The measures of the second table; a single table would be wider than a terminal."""

ALL_CELLS = "all"
"""The cell of a row about all pairs: of a test in several cells, or where no pair of values is held out."""

_LEGEND = (
    "In per cent. D are the originals and D' their partners. ACC: right answers to all of them. CONS: equal",
    "answers where they should be equal, and different ones elsewhere; it needs no right answers, so read it",
    "beside ACC. strict: the relation holds, and the answers are of the right kind. C-ACC: both answers are",
    "right. RAD: right partners among the pairs with a right original; RAD back: the other way round.",
    "constant: Acc(D') of the answer, yes or no, that is right most often. cell: which question mentions",
    "the held-out pair: 00 neither, 01 the partner, 10 the original, 11 both.",
)


# JSON


def suite_scores_json(results: Results) -> dict[str, Any]:
    """The scores as JSON values; docs/predictions.md describes them."""
    return {
        "folder": str(results.folder),
        "suite": results.suite,
        "tier": results.tier,
        "n_predictions": results.n_predictions,
        "n_left_aside": results.n_left_aside,
        "n_of_suites": results.n_of_suites,
        "bootstrap": results.bootstrap,
        "seed": results.seed,
        "conditions": [
            {
                "hop": each.hop,
                "train_size": each.train_size,
                "runs": each.runs,
                "splits": {split: _split_json(of_split) for split, of_split in each.splits.items()},
            }
            for each in results.conditions
        ],
        "missing": results.missing,
        "hops_missing": results.hops_missing,
        "notes": results.notes,
        "n_missing": results.n_missing,
    }


def _split_json(split: SplitScores) -> dict[str, Any]:
    def named(parts: Mapping[str, Scored], more: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        first = {name: {"name": name} | ({"control": more[name]} if more else {}) for name in parts}
        return [first[name] | _scored_json(each) for name, each in parts.items()]

    breakdowns = dict.fromkeys(part.by for part in split.parts if part.by)
    cells = {test: named(of) for test in split.by("test") if (of := split.cells(test))}
    return {
        "n_pairs": split.n,
        "overall": {"name": ALL_PAIRS} | _scored_json(split.parts[Part()]),
        "parts": {by: named(split.by(by)) for by in breakdowns if by not in _APART},
        "cells": cells,
        "beyond": split.traits["beyond"],
        "same_programs": split.traits["same_programs"],
        "replies": [
            {name: each.value for name, each in run.measures.items()} | dict(run.counts)
            for run in split.parts[YES_NO].runs
        ],
        "crossings": named(split.by("crossings"), split.controls),
        "groups": named(split.by("groups")),
        "entailments": split.traits["entailments"],
        "constants": {test: asdict(each) for test, each in split.constants.items()},
    }


ALL_PAIRS = "all pairs"
"""The name of the group of all pairs."""

_APART = ("crossings", "groups", YES_NO.by)
"""Groups with other measures than pairs have."""


def _scored_json(scored: Scored) -> dict[str, Any]:
    def values(scores: Scores) -> dict[str, Any]:
        return {**{name: asdict(each) for name, each in scores.measures.items()}, **scores.counts}

    return {"runs": [values(run) for run in scored.runs], "mean": values(scored.mean)}


# Text


def suite_scores_lines(results: Results) -> Iterator[str]:
    """A table for each HOP, train size and split, with the runs, their mean and the breakdowns."""
    yield from _LEGEND
    for condition in results.conditions:
        for split, each in condition.splits.items():
            yield ""
            yield from _split(results, condition, split, each)
    yield ""
    yield from _notes(results)


def _split(results: Results, condition: Condition, split: str, scores: SplitScores) -> Iterator[str]:
    trained = "" if condition.train_size is None else f", trained on {condition.train_size:,} questions"
    pairs = f"{scores.n:,} pair{'s' * (scores.n != 1)}"
    yield f"{condition.hop} {split}{trained}: {pairs} of {results.suite}"
    rows = [*_rows(condition, scores)]
    counts = [
        name
        for name, count in _COUNTS.items()
        if name == "pairs" or any(row.scores.counts[count] for row in rows if row.scores)
    ]
    width = 13 if results.bootstrap else 12
    yield from _Table(counts, AGREEMENT, width).lines(rows)
    yield ""
    yield from _Table((), ROBUSTNESS, width).lines([row for row in rows if row.name])
    for by, title, measures, count in (
        ("crossings", "  crossings, Acc(D')", CROSSINGS, "n_originals"),
        ("groups", "  groups of all values", GROUPS, "n_groups"),
    ):
        if of := scores.by(by):
            yield from _means(title, of, measures, count, width)
    yield from _replies(condition, scores)


@dataclass(frozen=True)
class _Row:
    """A row of both tables."""

    name: str
    """The row's name; "" for a cell of the test above, which only the first table has."""
    scores: Scores | None = None
    """None for a heading."""
    cell: str = ""
    constant: str = ""
    is_deviation: bool = False
    """Whether the row has the deviations of the scores over runs."""


def _rows(condition: Condition, split: SplitScores) -> Iterator[_Row]:
    if len(condition.runs) > 1:
        for run, each in zip(condition.runs, split.runs, strict=True):
            yield _Row("no run" if run is None else f"run {run}", each)
        yield _Row(f"mean of {len(condition.runs)} runs", split.mean)
        yield _Row("deviation between runs", split.mean, is_deviation=True)
    else:
        yield _Row(ALL_PAIRS, split.mean)
    yield _Row("  by test")
    for test, scored in split.by("test").items():
        cells = split.cells(test)
        cell = next(iter(cells)) if len(cells) == 1 else ALL_CELLS
        constant = constant_text([split.constants.get(test)]) or "-"
        yield _Row(f"  {test}", scored.mean, cell, constant)
        if len(cells) > 1:
            yield from (_Row("", each.mean, name) for name, each in cells.items())
    for by in dict.fromkeys(part.by for part in split.parts):
        parts = split.by(by)
        if by not in ("", "test", *_APART) and len(parts) > 1:
            yield _Row(f"  by {by}")
            yield from (_Row(f"  {name}", each.mean) for name, each in parts.items())


@dataclass(frozen=True)
class _Table:
    """A table with some of the counts and measures."""

    counts: Sequence[str]
    measures: Sequence[str]
    width: int
    """Width of a measure's column."""

    def lines(self, rows: Sequence[_Row]) -> Iterator[str]:
        """The header, then each row, followed by its intervals if it has any."""
        heads = [PAIRS[name].heading for name in self.measures]
        yield self._line("", "cell", self.counts, heads, "constant")
        for row in rows:
            if row.scores is None:
                yield row.name
                continue
            show = deviation_text if row.is_deviation else value_text
            n = row.scores.counts
            counts = ["" if row.is_deviation else f"{n[_COUNTS[name]]:,}" for name in self.counts]
            yield self._line(row.name, row.cell, counts, self._shown(row.scores, show), row.constant)
            intervals = [] if row.is_deviation else self._shown(row.scores, _interval)
            if any(intervals):
                yield self._line("", "", [""] * len(counts), intervals, "")

    def _shown(self, scores: Scores, show: Callable[[Measure, bool], str]) -> list[str]:
        return [show(scores[name], PAIRS[name].signed) for name in self.measures]

    def _line(
        self, name: str, cell: str, counts: Sequence[str], measures: Sequence[str], constant: str
    ) -> str:
        texts = [f"{name:<{_NAME_WIDTH}}"]
        if self.measures is AGREEMENT:
            texts.append(f"{cell:>{_CELL_WIDTH}}")
        texts += [f"{each:>{_COUNT_WIDTH}}" for each in counts]
        for measure, text in zip(self.measures, measures, strict=True):
            texts.append(f"{text:>{self.width}}")
            if measure == "partner_accuracy":
                texts.append(f"{constant:>{_CONSTANT_WIDTH}}")
        return "".join(texts).rstrip()


def constant_text(constants: Iterable[Constant | None]) -> str:
    """The mean of constants, with their answer if all have the same one; "" if there are none."""
    there = [each for each in constants if each]
    if not there:
        return ""
    answers = {each.answer for each in there}
    answer = f" ({answers.pop()})" if len(answers) == 1 else ""
    return f"{sum(each.percent for each in there) / len(there):.1f}{answer}"


def _means(
    title: str, parts: Mapping[str, Scored], measures: Measures, count: str, width: int
) -> Iterator[str]:
    heads = "".join(f"{kind.heading:>{width}}" for kind in measures.values())
    yield f"{title:<{_NAME_WIDTH}}{'originals':>{_COUNT_WIDTH + 2}}{heads}"
    for name, scored in parts.items():
        n = f"{scored.mean.counts[count]:,}"
        for show, first in ((value_text, n), (_interval, "")):
            cells = [f"{show(scored.mean[each], kind.signed):>{width}}" for each, kind in measures.items()]
            head = f"{f'    {name}' if first else '':<{_NAME_WIDTH}}{first:>{_COUNT_WIDTH + 2}}"
            if first or "".join(cells).strip():
                yield f"{head}{''.join(cells)}".rstrip()


def _replies(condition: Condition, split: SplitScores) -> Iterator[str]:
    """A line for each run on its answers to yes/no questions."""
    for run, each in zip(condition.runs, split.parts[YES_NO].runs, strict=True):
        if n := each.counts["n"]:
            of = f" of run {run}" if len(condition.runs) > 1 and run is not None else ""
            yes, no, other, right_yes = (
                value_text(each[name]) for name in ("yes", "no", "other", "right_yes")
            )
            yield (
                f"  replies{of} to {n:,} questions for yes or no: yes {yes}, no {no}, other {other}; "
                f"yes is right for {right_yes}"
            )


def _notes(results: Results) -> Iterator[str]:
    if results.bootstrap:
        yield (
            f"95% intervals, below the values, from {results.bootstrap:,} draws of the images, each with its "
            f"pairs; seed {results.seed}."
        )
    splits = [split for each in results.conditions for split in each.splits.values()]
    yield from trait_notes(splits)
    if any(split.by("crossings") for split in splits):
        yield (
            "Of a crossing, the foil completes the held-out pair with what the original says; of its "
            "control, on the same original, it does not. The difference is below 0 where a model says yes to "
            "the held-out pair more often."
        )
    if any(split.by("groups") for split in splits):
        yield (
            "Of a group, one yes: the model says yes to one of all values; named: and that is the one that "
            "it gives as its answer to the original."
        )
    if results.n_missing:
        are = "pair lacks an answer and is" if results.n_missing == 1 else "pairs lack an answer and are"
        more = "; and more" if results.n_missing > len(results.missing) else ""
        yield f"{results.n_missing:,} {are} left out: {'; '.join(results.missing)}{more}."
    yield from common_notes(results, "other suites")


def trait_notes(splits: Sequence[SplitScores]) -> Iterator[str]:
    """Sentences about the tests whose scores have a different meaning from the others'."""
    same = dict.fromkeys(test for split in splits for test in split.traits["same_programs"])
    if same:
        yield (
            f"Both questions of every pair of {', '.join(same)} have the same program, so a model that is "
            "given programs has CONS 100 there by construction."
        )
    entailing = dict.fromkeys(test for split in splits for test in split.traits["entailments"])
    for split in splits:  # a test with few pairs may happen to have only yes on one split
        for test in split.by("test"):
            if test not in split.traits["entailments"]:
                entailing.pop(test, None)
    if entailing:
        yield (
            f"All right answers of {', '.join(entailing)} are yes, so RAD is how often a model that says yes "
            "to the original says it to the partner, too."
        )


def _interval(measure: Measure, signed: bool) -> str:
    return interval_text(measure, signed, " ")
