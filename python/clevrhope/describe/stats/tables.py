"""The tables of `clevrhope stats`, and the order in which tables and plots show names."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, TypeVar

from clevrhope.describe.measure import Pair, SplitStats
from clevrhope.describe.measured import DISTRIBUTIONS, Measured
from clevrhope.describe.order import RELATION_ORDER, TYPE_ORDER, VALUE_ORDER, ordered
from clevrhope.describe.stats.comparison import Column, Sheet
from clevrhope.describe.stats.covr import covr_tables
from clevrhope.describe.stats.table import Table
from clevrhope.describe.suites import CELLS
from clevrhope.pages.markdown import decimal, mean, number, percent, percentile

_Key = TypeVar("_Key", bound=Hashable)


def tables(sheet: Sheet, *, full: bool) -> Iterator[Table]:
    """The tables of all measurements; `full` adds those of families and of pairs of values."""
    if sheet.columns:
        yield from _of_splits(sheet, full=full)
    yield from covr_tables(sheet.covr)


def _of_splits(sheet: Sheet, *, full: bool) -> Iterator[Table]:
    """The tables of questions about one image."""
    yield _overview(sheet)
    if sheet.comparisons:
        yield _distances(sheet)
    yield _guessing(sheet)
    yield _answers(sheet)
    yield _files(sheet)
    if full:
        yield _families(sheet)
    yield _relations(sheet)
    yield _objects(sheet)
    yield _values(sheet)
    if sheet.held_out:
        several = len(sheet.held_out) > 2
        what = "Pairs among the values held out together" if several else "The held-out pair"
        yield _pairs(sheet, what, combinations(sheet.held_out, 2))
    if full:
        yield _pairs(sheet, "Pairs of values", sorted({pair for s in _stats(sheet) for pair in s.pairs}))
    suites = [
        (suite, split, each) for suite, splits in sheet.suites.items() for split, each in splits.items()
    ]
    for k, (suite, split, each) in enumerate(suites, 1):
        yield _suite(f"{suite} on {split}", each, has_pair=bool(sheet.held_out), legend=k == len(suites))


def value_types(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Attribute -> its values in the images of the splits, in display order."""
    values: dict[str, set[str]] = {}
    for each in columns:
        for pair in each.measured.stats.pairs:
            for kind, value in pair:
                values.setdefault(kind, set()).add(value)
    return {kind: ordered(values[kind], VALUE_ORDER) for kind in ordered(values, TYPE_ORDER)}


def family_order(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """The families that occur in some split, by `question_family_index`."""
    index = {each.measured.family_name(k): k for each in columns for k in each.measured.stats.families}
    return sorted(index, key=lambda name: (index[name], name))


def _head(sheet: Sheet) -> list[str]:
    return ["", *(each.label for each in sheet.columns)]


def _row(sheet: Sheet, name: str, cell: Callable[[SplitStats], str]) -> list[str]:
    return [name, *(cell(each.measured.stats) for each in sheet.columns)]


def _shares(
    sheet: Sheet,
    rows: Iterable[tuple[str, _Key]],
    histogram: Callable[[Measured], Mapping[_Key, int]],
    total: Callable[[SplitStats], int] = lambda stats: stats.n_questions,
    digits: int = 1,
) -> list[list[str]]:
    """One row for each name and key, with the key's share of a total in each column."""
    counts = [(histogram(each.measured), max(total(each.measured.stats), 1)) for each in sheet.columns]
    return [[name, *(percent(found.get(key, 0) / n, digits) for found, n in counts)] for name, key in rows]


def _overview(sheet: Sheet) -> Table:
    row = partial(_row, sheet)
    return Table(
        "What is in it",
        _head(sheet),
        [
            row("questions", lambda each: number(each.n_questions)),
            row("images", lambda each: number(each.n_images)),
            row("questions per image", lambda each: decimal(each.n_questions / max(each.n_images, 1))),
            row("objects per image, mean", lambda each: decimal(mean(each.objects))),
            row("words per question, mean", lambda each: decimal(mean(each.words))),
            row("words, 5th percentile", lambda each: str(percentile(each.words, 0.05))),
            row("words, 95th percentile", lambda each: str(percentile(each.words, 0.95))),
            row("words, maximum", lambda each: str(max(each.words, default=0))),
            row("functions per program, mean", lambda each: decimal(mean(each.functions))),
            row("functions, maximum", lambda each: str(max(each.functions, default=0))),
            row("relations per question, mean", lambda each: decimal(mean(each.relations_a_question))),
            row(
                "questions with a relation",
                lambda each: percent(each.n_relational / max(each.n_questions, 1)),
            ),
            row("- all of them needed", lambda each: percent(each.all_needed)),
            row("families", lambda each: str(len(each.families))),
        ],
        "Words do not include punctuation; a relation is left, right, front or behind.",
    )


def _distances(sheet: Sheet) -> Table:
    rows = []
    for each in sheet.comparisons:
        rows.append([f"{each['a']} / {each['b']}", *map(decimal, each["total_variation"].values())])
        rows.append(["- roughly, by chance", *map(decimal, each["by_chance"].values())])
    return Table(
        "Distances: total variation (0: alike, 1: nothing in common)",
        ["", *DISTRIBUTIONS],
        rows,
        "By chance: what two samples of one distribution would have at these sizes.",
    )


def _guessing(sheet: Sheet) -> Table:
    row, train = partial(_row, sheet), sheet.train
    rows = [
        row("most frequent answer", lambda each: each.majority[0]),
        row("- its accuracy", lambda each: percent(each.majority[1])),
        row("that of each family: accuracy", lambda each: percent(each.majority_of_families)),
    ]
    if train is not None:
        rows += [
            row("that of train: accuracy", lambda each: percent(each.guessed_from(train, by_family=False))),
            row("that of each family in train: accuracy", lambda each: percent(each.guessed_from(train))),
        ]
    return Table("Accuracy of guessing", _head(sheet), rows, "The first two are chosen on the split itself.")


def _answers(sheet: Sheet) -> Table:
    types = ordered({kind for stats in _stats(sheet) for kind in stats.answer_types}, TYPE_ORDER)
    answers = ordered({answer for stats in _stats(sheet) for answer in stats.answers}, VALUE_ORDER)
    rows = _shares(sheet, [(kind, kind) for kind in types], lambda each: each.stats.answer_types)
    rows += _shares(sheet, [(f"- {answer}", answer) for answer in answers], lambda each: each.stats.answers)
    return Table("Answer types and answers: share of the questions", _head(sheet), rows)


def _files(sheet: Sheet) -> Table:
    files = dict.fromkeys(file for file, _ in family_order(sheet.columns))
    rows = _shares(sheet, [(file, file) for file in files], lambda each: each.by_file)
    return Table("Template files: share of the questions", _head(sheet), rows)


def _families(sheet: Sheet) -> Table:
    names = [(f"{file} {place}", (file, place)) for file, place in family_order(sheet.columns)]
    return Table(
        "Families: share of the questions",
        _head(sheet),
        _shares(sheet, names, lambda each: each.by_family, digits=2),
        "The number is the place in the file.",
    )


def _relations(sheet: Sheet) -> Table:
    named = ordered({name for stats in _stats(sheet) for name in stats.relations}, RELATION_ORDER)
    most = max((n for stats in _stats(sheet) for n in stats.relations_a_question), default=0)
    numbers = [(f"{n} spatial", n) for n in range(most + 1)]
    rows = _shares(sheet, [(name, name) for name in named], lambda each: each.stats.relations)
    rows += _shares(sheet, numbers, lambda each: each.stats.relations_a_question)
    return Table("Relations named: share of the questions", _head(sheet), rows)


def _objects(sheet: Sheet) -> Table:
    numbers = sorted({n for stats in _stats(sheet) for n in stats.objects})
    rows = _shares(
        sheet, [(str(n), n) for n in numbers], lambda each: each.stats.objects, lambda each: each.n_images
    )
    return Table("Objects per image: share of the images", _head(sheet), rows)


def _values(sheet: Sheet) -> Table:
    names = [
        (f"{kind} {value}", value) for kind, values in value_types(sheet.columns).items() for value in values
    ]
    rows = _shares(sheet, names, lambda each: each.stats.values, lambda each: each.n_objects)
    return Table("Values: share of the objects in the split's images", _head(sheet), rows)


def _pair_row(sheet: Sheet, pair: Pair) -> list[str]:
    cells = [
        f"{percent(stats.pairs.get(pair, 0) / max(stats.n_objects, 1))} "
        f"{percent(stats.images_with.get(pair, 0) / max(stats.n_images, 1), 0):>4}"
        for stats in _stats(sheet)
    ]
    return [f"{pair[0][1]} {pair[1][1]}", *cells]


def _pairs(sheet: Sheet, what: str, pairs: Iterable[Pair]) -> Table:
    rows = [_pair_row(sheet, pair) for pair in pairs]
    return Table(f"{what}: share of the objects, and of the images with one", _head(sheet), rows)


def _suite(name: str, suite: Mapping[str, Any], *, has_pair: bool, legend: bool) -> Table:
    """The table of a suite's tests; cells without pairs are left out."""
    tests = suite["tests"]
    cells = [cell for cell in CELLS if has_pair and any(test["cells"].get(cell) for test in tests.values())]
    rows = [
        [
            test,
            each["tier"],
            ", ".join(each["relations"]),
            number(each["pairs"]),
            *(number(each["cells"].get(cell, 0)) for cell in cells),
            percent(each["yes_share"]),
        ]
        for test, each in tests.items()
    ]
    notes = [f"No pair: {', '.join(suite['empty_tests'])}."] if suite["empty_tests"] else []
    if legend:
        notes.append("Yes: its share among the partners that are answered yes or no.")
        if has_pair:
            notes.append(
                "Columns 00 to 11: pairs by who mentions the held-out pair, first the original, then the "
                "partner."
            )
    return Table(
        f"Paired tests: {name}, {number(suite['pairs'])} pairs of {number(suite['originals'])} questions",
        ["", "tier", "answers", "pairs", *cells, "yes"],
        rows,
        " ".join(notes),
    )


def _stats(sheet: Sheet) -> list[SplitStats]:
    return [each.measured.stats for each in sheet.columns]
