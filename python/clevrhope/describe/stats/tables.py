"""A measured group in, tables for a terminal out, and the order in which tables and plots show names."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from clevrhope.describe.markdown import decimal, number, percent
from clevrhope.describe.measure import Pair, SplitStats, mean, percentile
from clevrhope.describe.stats.compare import DISTRIBUTIONS, Column, Sheet, by_file, families, family_name

TYPE_ORDER = ("yes/no", "count", "size", "color", "material", "shape")
"""Answer types, and among them attribute types, in the order in which they are shown; others follow."""

VALUE_ORDER = (
    *("yes", "no"),
    *("small", "large"),
    *("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    *("rubber", "metal"),
    *("cube", "sphere", "cylinder"),
)
"""Answers in the order in which they are shown, within their type; others follow."""

RELATION_ORDER = ("left", "right", "front", "behind")
"""Spatial relations in the order in which they are shown; others follow."""


@dataclass(frozen=True)
class Table:
    """A table; its first column names the row, the others hold numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def tables(sheet: Sheet, *, full: bool) -> Iterator[Table]:
    """Everything that was measured; `full` adds families and pairs of values one by one."""
    yield _overview(sheet)
    if sheet.comparisons:
        yield _distances(sheet)
    yield _guessers(sheet)
    yield _answers(sheet)
    yield _files(sheet)
    if full:
        yield _families(sheet)
    yield _relations(sheet)
    yield _objects(sheet)
    yield _values(sheet)
    if sheet.held_out:
        yield _held_out(sheet)
    if full:
        yield _pairs(sheet)


def ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """Names in a given order, numbers by size behind yes and no; those that it lacks follow."""

    def rank(name: str) -> tuple[int, int, str]:
        if name.isdecimal():
            return (1, int(name), "")
        if name in order:
            return (0 if name in ("yes", "no") else 2, order.index(name), "")
        return (3, 0, name)

    return sorted(set(names), key=rank)


def value_types(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Attribute type -> its values in the images of some splits, both in the order of showing."""
    values: dict[str, set[str]] = {}
    for each in columns:
        for pair in each.measured.stats.pairs:
            for kind, value in pair:
                values.setdefault(kind, set()).add(value)
    return {kind: ordered(values[kind], VALUE_ORDER) for kind in ordered(values, TYPE_ORDER)}


def family_order(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Families that occur in some split, by `question_family_index`."""
    index = {family_name(each.measured, k): k for each in columns for k in each.measured.stats.families}
    return sorted(index, key=lambda name: (index[name], name))


def _head(sheet: Sheet, first: str = "") -> list[str]:
    return [first, *(each.label for each in sheet.columns)]


def _row(sheet: Sheet, name: str, cell: Callable[[SplitStats], str]) -> list[str]:
    return [name, *(cell(each.measured.stats) for each in sheet.columns)]


def _overview(sheet: Sheet) -> Table:
    def row(name: str, cell: Callable[[SplitStats], str]) -> list[str]:
        return _row(sheet, name, cell)

    return Table(
        "What is in it",
        _head(sheet),
        [
            row("questions", lambda each: number(each.n_questions)),
            row("images", lambda each: number(each.n_images)),
            row("questions an image", lambda each: decimal(each.n_questions / max(each.n_images, 1))),
            row("objects an image, mean", lambda each: decimal(mean(each.objects))),
            row("words a question, mean", lambda each: decimal(mean(each.words))),
            row("words, 5th percentile", lambda each: str(percentile(each.words, 0.05))),
            row("words, 95th percentile", lambda each: str(percentile(each.words, 0.95))),
            row("words, most", lambda each: str(max(each.words, default=0))),
            row("functions a program, mean", lambda each: decimal(mean(each.functions))),
            row("functions, most", lambda each: str(max(each.functions, default=0))),
            row("relations a question, mean", lambda each: decimal(mean(each.relations_a_question))),
            row(
                "questions with a relation",
                lambda each: percent(each.n_relational / max(each.n_questions, 1)),
            ),
            row("- all of them needed", lambda each: percent(each.all_needed)),
            row("families", lambda each: str(len(each.families))),
        ],
        "Words leave punctuation out; a relation is left, right, front or behind.",
    )


def _distances(sheet: Sheet) -> Table:
    rows = []
    for each in sheet.comparisons:
        distances = each.distances.values()
        rows.append([f"{each.a} / {each.b}", *(decimal(d.total_variation) for d in distances)])
        rows.append(["- by chance, about", *(decimal(d.by_chance) for d in distances)])
    return Table(
        "How far apart: total variation distance (0: alike, 1: nothing in common)",
        ["", *DISTRIBUTIONS],
        rows,
        "By chance: what two samples of one distribution would show at these sizes.",
    )


def _guessers(sheet: Sheet) -> Table:
    rows = [
        _row(sheet, "most frequent answer", lambda each: each.majority[0]),
        _row(sheet, "- right", lambda each: percent(each.majority[1])),
        _row(sheet, "that of each family, right", lambda each: percent(each.majority_of_families)),
    ]
    train = sheet.train
    if train is not None:
        rows += [
            _row(
                sheet,
                "train's answer, right",
                lambda each: percent(each.guessed_from(train, by_family=False)),
            ),
            _row(sheet, "train's of each family, right", lambda each: percent(each.guessed_from(train))),
        ]
    return Table(
        "What a guesser reaches", _head(sheet), rows, "The first two are chosen on the split itself."
    )


def _answers(sheet: Sheet) -> Table:
    types = {kind for stats in _stats(sheet) for kind in stats.answer_types}
    rows = [
        [kind, *(_of_questions(stats, stats.answer_types.get(kind, 0)) for stats in _stats(sheet))]
        for kind in ordered(types, TYPE_ORDER)
    ]
    answers = {answer for stats in _stats(sheet) for answer in stats.answers}
    rows += [
        [f"- {answer}", *(_of_questions(stats, stats.answers.get(answer, 0)) for stats in _stats(sheet))]
        for answer in ordered(answers, VALUE_ORDER)
    ]
    return Table("Answer types and answers: share of the questions", _head(sheet), rows)


def _files(sheet: Sheet) -> Table:
    rows = [
        [
            file,
            *(
                _of_questions(each.measured.stats, by_file(each.measured).get(file, 0))
                for each in sheet.columns
            ),
        ]
        for file in dict.fromkeys(file for file, _ in family_order(sheet.columns))
    ]
    return Table("Template files: share of the questions", _head(sheet), rows)


def _families(sheet: Sheet) -> Table:
    found = [families(each.measured) for each in sheet.columns]
    rows = [
        [
            f"{name[0]} {name[1]}",
            *(_of_questions(s, n.get(name, 0), 2) for s, n in zip(_stats(sheet), found, strict=True)),
        ]
        for name in family_order(sheet.columns)
    ]
    return Table(
        "Families: share of the questions", _head(sheet), rows, "The number is the place in the file."
    )


def _relations(sheet: Sheet) -> Table:
    named = {name for stats in _stats(sheet) for name in stats.relations}
    most = max((n for stats in _stats(sheet) for n in stats.relations_a_question), default=0)
    rows = [
        [name, *(_of_questions(stats, stats.relations.get(name, 0)) for stats in _stats(sheet))]
        for name in ordered(named, RELATION_ORDER)
    ]
    rows += [
        [f"{n} spatial", *(_of_questions(s, s.relations_a_question.get(n, 0)) for s in _stats(sheet))]
        for n in range(most + 1)
    ]
    return Table("Relations named: share of the questions", _head(sheet), rows)


def _objects(sheet: Sheet) -> Table:
    rows = [
        [str(n), *(percent(stats.objects.get(n, 0) / max(stats.n_images, 1)) for stats in _stats(sheet))]
        for n in sorted({n for stats in _stats(sheet) for n in stats.objects})
    ]
    return Table("Objects an image: share of the images", _head(sheet), rows)


def _values(sheet: Sheet) -> Table:
    rows = [
        [
            f"{kind} {value}",
            *(percent(stats.values.get(value, 0) / max(stats.n_objects, 1)) for stats in _stats(sheet)),
        ]
        for kind, values in value_types(sheet.columns).items()
        for value in values
    ]
    return Table("Values: share of the objects in the split's images", _head(sheet), rows)


def _pair_row(sheet: Sheet, pair: Pair) -> list[str]:
    cells = [
        f"{percent(stats.pairs.get(pair, 0) / max(stats.n_objects, 1))} "
        f"{percent(stats.images_with.get(pair, 0) / max(stats.n_images, 1), 0):>4}"
        for stats in _stats(sheet)
    ]
    return [f"{pair[0][1]} {pair[1][1]}", *cells]


def _held_out(sheet: Sheet) -> Table:
    rows = [_pair_row(sheet, pair) for pair in combinations(sheet.held_out, 2)]
    what = "The held-out pair" if len(rows) == 1 else "Pairs among the values held out together"
    return Table(f"{what}: share of the objects, and of the images with one", _head(sheet), rows)


def _pairs(sheet: Sheet) -> Table:
    pairs = sorted({pair for stats in _stats(sheet) for pair in stats.pairs})
    rows = [_pair_row(sheet, pair) for pair in pairs]
    return Table("Pairs of values: share of the objects, and of the images with one", _head(sheet), rows)


def _stats(sheet: Sheet) -> list[SplitStats]:
    return [each.measured.stats for each in sheet.columns]


def _of_questions(stats: SplitStats, n: int, digits: int = 1) -> str:
    return percent(n / max(stats.n_questions, 1), digits)
